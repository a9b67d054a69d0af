"""Which names an expression may use: an unknown one spoils the whole expression, also where it is never reached."""

from collections.abc import Collection, Iterator, Mapping

from ostler.expr.errors import ExpressionError, UnknownFunction, UnknownName, WrongArgumentCount
from ostler.expr.functions import SIGNATURES, STANDARD, Signature
from ostler.expr.nodes import Call, Name, Node, mentions
from ostler.expr.spelling import nearest

_LITERALS = ("true", "false", "null", "NaN", "Infinity")


def check_names(
    node: Node,
    contexts: Collection[str],
    functions: Collection[str],
    signatures: Mapping[str, Signature] = SIGNATURES,
) -> None:
    """Raise the first error that the names in an expression make; contexts and functions are given in small letters."""
    for error in name_errors(node, contexts, functions, signatures):
        raise error


def name_errors(
    node: Node,
    contexts: Collection[str],
    functions: Collection[str],
    signatures: Mapping[str, Signature] = SIGNATURES,
) -> Iterator[ExpressionError]:
    """Yield an error for each unknown context or function, and for each call with too few or too many arguments.

    `functions` are those besides the standard ones; `signatures` says how many arguments a function takes.
    """
    names, calls = mentions(node)
    for name in names:
        if name.key not in contexts:
            yield _unknown_name(name, contexts)
    for call in calls:
        if call.key not in STANDARD and call.key != "case" and call.key not in functions:
            yield _unknown_function(call, functions)
        elif (signature := signatures.get(call.key)) is not None:
            count = len(call.arguments)
            if not signature.least <= count <= signature.most or (call.key == "case" and count % 2 == 0):
                yield _wrong_count(call, signature)


def _unknown_name(name: Name, contexts: Collection[str]) -> UnknownName:
    literal = next((known for known in _LITERALS if known.lower() == name.key), "")
    meant = literal or nearest(name.name, sorted(contexts))
    if name.key in SIGNATURES:
        fix = f"Call the function: {SIGNATURES[name.key].name}(…)."
    elif meant:
        fix = f"Did you mean {meant!r}?"
    else:
        fix = "Write text in single quotes."
    expected = f"one of {', '.join(sorted(contexts))}" if contexts else "no context: there is none here"
    message = f"there is no context {name.name!r} here"
    return UnknownName(message, name.start, name.end, expected=expected, fix=fix)


def _unknown_function(call: Call, functions: Collection[str]) -> UnknownFunction:
    known = sorted(_documented(key) for key in {*STANDARD, "case", *functions})
    meant = nearest(call.name, known)
    end = call.start + len(call.name)
    message = f"there is no function {call.name!r} here"
    fix = f"Did you mean {meant!r}?" if meant else ""
    return UnknownFunction(message, call.start, end, expected=f"one of {', '.join(known)}", fix=fix)


def _documented(key: str) -> str:
    return SIGNATURES[key].name if key in SIGNATURES else key


def _wrong_count(call: Call, signature: Signature) -> WrongArgumentCount:
    name, least, most = signature
    plural = "" if most == 1 else "s"
    expected = f"{least}{'' if least == most else f' to {most}'} argument{plural}"
    if call.key == "case":
        expected = (
            "an odd number of arguments, 3 or more: conditions and their values in turn, then the value otherwise"
        )
    count = len(call.arguments) or "none"
    return WrongArgumentCount(f"{name} takes {expected}, not {count}", call.start, call.end, expected=expected)
