"""Random expressions and contexts from a seed: sound ones, damaged ones, deep ones, and soups of tokens.

The vocabulary is small, so that names meet, types mix and texts look like numbers more often than by chance. Left
out are keys like integers anywhere but first, since JavaScript sorts them, and letters whose capitals are several
letters, which only the package takes for equal.
"""

import json
from random import Random

from ostler.expr.values import Value
from tests.oracles.expressions.github import Batch

_NAMES = ("github", "env", "matrix", "steps", "needs", "GitHub", "Env")
_KEYS: tuple[str, ...] = ("a", "b", "id", "name", "A", "Name", "x-y", "with space", "true", "null", "É", "")
_NUMBERS = [
    "0",
    "1",
    "2",
    "-1",
    "10",
    "0.5",
    "-0",
    "1.50",
    ".5",
    "+3",
    "1e3",
    "-2.99e-2",
    "0xff",
    "0xFFFFFFFF",
    "0o17",
    "0b11",
    "12345678901234567890",
    "1e15",
    "1e-5",
    "1e21",
    "1e400",
    "0.1",
    "123456789.123456789",
    "999999999999999.9",
    "0.00012345678901234567",
    "2147483648",
    "Infinity",
    "-Infinity",
    "NaN",
]
_BAD_NUMBERS = ["-0xaf", "1_000", "1.2.3", "1abc", "-", "+", "0x", "1e", "--1", "-NaN", "0xg"]
_STRINGS = (
    *(
        "",
        "a",
        "A",
        "abc",
        "ABC",
        "b",
        "true",
        "false",
        "null",
        "0",
        "1",
        " 1 ",
        "0x10",
        "1e3",
        "-1",
        "1.0",
        "NaN",
        "Infinity",
    ),
    *(
        "é",
        "É",
        "\u0131",
        "İ",
        "I",
        "i",
        "Object",
        "Array",
        "it's",
        "''",
        "{0}",
        "{{",
        "}}",
        "{1}{0}",
        "{",
        "}",
        "{0:}",
        "x{0}y{2}",
    ),
    *(
        "[]",
        "{}",
        "[1, 2]",
        '{"a": 1, "A": 2}',
        '{"a": {"b": [1, "x", null]}}',
        '"text"',
        "12",
        " true ",
        "[1,]",
        "\u00a0",
        "\n",
    ),
    *(
        "1 2",
        "{'a': 1}",
        "nul",
        "1e999",
        '"\\ud83d\\ude00"',
        "😀",
        "z",
        "_",
        "-",
        ",",
        ", ",
        "0o7",
        "0b1",
        "+1",
    ),
)
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "&&", "||")
_FUNCTIONS = {
    "contains": (2, 2),
    "startsWith": (2, 2),
    "endsWith": (2, 2),
    "format": (1, 4),
    "join": (1, 2),
    "toJSON": (1, 1),
    "fromJSON": (1, 1),
    "case": (3, 3),
    "success": (0, 0),
    "always": (0, 0),
}
_SOUP = (
    *[
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "*",
        "!",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "&&",
        "||",
        "=",
        "&",
        "|",
        '"',
        "'",
        "$",
        "@",
        "{",
        "}",
        "#",
        "?",
        ":",
        ";",
        "/",
        "+",
        "-",
        "\\",
        "é",
        "_",
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "TRUE",
    ],
    *["github", "env", "a", "contains", "format", "join", "fromJSON", "x-y", "'a'", "'it''s'", "1", ".5", "0xff", "-1"],
    *(" ", "\n", "\t"),
)


def batches(seed: int, count: int, each: int = 25) -> list[Batch]:
    """Return so many expressions, some of which share their contexts."""
    random = Random(seed)
    made: list[Batch] = []
    for begin in range(0, count, each):
        contexts = {name: _value(random, 4) for name in ("github", "env", "matrix", "steps")}
        texts = [_text(random) for _ in range(min(each, count - begin))]
        made.append(Batch(contexts, texts))
    return made


def _value(random: Random, depth: int) -> Value:
    dice = random.random()
    if depth > 1 and dice < 0.35 + 0.15 * depth:
        if dice < 0.25:
            return [_value(random, depth - 1) for _ in range(random.randrange(4))]
        keys = random.sample(_KEYS, random.randrange(1, 5))
        if random.random() < 0.2:
            keys.insert(0, "1")
        return _without_twins({key: _value(random, depth - 1) for key in keys})
    if dice < 0.5:
        return random.choice(_STRINGS)
    return random.choice((None, True, False, 0.0, 1.0, -1.0, 2.5, 1e15, 1e300, 7.0, 0.1))


def _without_twins(value: dict[str, Value]) -> dict[str, Value]:
    """Of keys that differ only in case an object keeps the first."""
    kept: dict[str, Value] = {}
    for key, item in value.items():
        if key.lower() not in {known.lower() for known in kept}:
            kept[key] = item
    return kept


def _text(random: Random) -> str:
    dice = random.random()
    if dice < 0.06:
        return "".join(random.choice(_SOUP) for _ in range(random.randrange(1, 12)))
    if dice < 0.09:
        return _deep(random)
    text = _expression(random, random.randrange(1, 6))
    return _damaged(random, text) if dice < 0.2 else text


def _expression(random: Random, depth: int) -> str:
    if depth <= 0:
        return _leaf(random)
    dice = random.random()
    if dice < 0.16:
        return _leaf(random)
    if dice < 0.42:
        left, right = _expression(random, depth - 1), _expression(random, depth - 1)
        return f"{left}{_blank(random)}{random.choice(_OPERATORS)}{_blank(random)}{right}"
    if dice < 0.5:
        return "!" + _expression(random, depth - 1)
    if dice < 0.6:
        return f"({_expression(random, depth - 1)})"
    if dice < 0.8:
        return _access(random, depth)
    return _call(random, depth)


def _leaf(random: Random) -> str:
    dice = random.random()
    if dice < 0.3:
        return _access(random, 0)
    if dice < 0.5:
        return random.choice(("true", "false", "null"))
    if dice < 0.72:
        return random.choice(_NUMBERS)
    if dice < 0.98:
        return _string(random.choice(_STRINGS))
    return random.choice((*_BAD_NUMBERS, "TRUE", "Null", "nan", "unknown", "contains"))


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _access(random: Random, depth: int) -> str:
    dice = random.random()
    if depth > 0 and dice < 0.3:
        target = f"({_expression(random, depth - 1)})"
    elif depth > 0 and dice < 0.45:
        target = f"fromJSON({_string(json.dumps(_value(random, 3)))})"
    else:
        target = random.choice(_NAMES[:4] if random.random() < 0.9 else _NAMES)
    for _ in range(random.randrange(5)):
        target += _step(random, depth)
    return target


def _step(random: Random, depth: int) -> str:
    dice = random.random()
    if dice < 0.2:
        return random.choice((".*", "[*]", "[ * ]"))
    if dice < 0.6:
        key = random.choice(("a", "b", "id", "name", "A", "NAME", "x-y", "true", "null", "NaN", "missing"))
        return f"{random.choice(('.', '.', ' . '))}{key}"
    if dice < 0.75:
        return f"[{random.choice((*_NUMBERS, '0', '1', '0', '1', '1.9'))}]"
    if dice < 0.92 or depth <= 0:
        return f"[{_string(random.choice((*_KEYS, '1', '0')))}]"
    return f"[{_expression(random, depth - 2)}]"


def _call(random: Random, depth: int) -> str:
    name, (least, most) = random.choice(tuple(_FUNCTIONS.items()))
    count = random.randint(least, most)
    if random.random() < 0.04:
        count = max(0, count + random.choice((-1, 1, 2)))
    if name == "case" and random.random() < 0.3:
        count += 2
    arguments = [_expression(random, depth - 1) for _ in range(count)]
    if arguments and name == "fromJSON" and random.random() < 0.6:
        arguments[0] = random.choice((_string(json.dumps(_value(random, 3))), f"toJSON({arguments[0]})"))
    if arguments and name == "format" and random.random() < 0.8:
        pieces = ("{0}", "{1}", "{2}", "{{", "}}", "a", " ", "{0:}", "{", "}", "{x}", "{-1}", "{00}", "{300}")
        arguments[0] = _string("".join(random.choice(pieces) for _ in range(random.randrange(5))))
    if name == "case":
        arguments[0:1] = [f"{argument} == 1" for argument in arguments[0:1]]
    name = random.choice((name, name, name.upper(), name.lower()))
    return f"{name}{random.choice(('(', '(', ' ( '))}{', '.join(arguments)})"


def _deep(random: Random) -> str:
    """Nest one form about as deeply as is allowed."""
    times = random.randrange(44, 54)
    core = random.choice(("1", "github", "github.a", "!true", "1 && 2", "1 || 2 && 3"))
    return random.choice(
        (
            "(" * times + core + ")" * times,
            "!" * times + core,
            "github" + ".a" * times,
            "github" + "[0]" * times,
            "join(" * times + core + ")" * times,
            "github[" * times + core + "]" * times,
            "!(" * (times // 2) + core + ")" * (times // 2),
            "1 && " * times + core,
            "(1 || " * (times // 2) + core + ")" * (times // 2),
            "github.a" + "[github.b" * (times // 2) + "]" * (times // 2),
        )
    )


def _blank(random: Random) -> str:
    return random.choice((" ", " ", "", "\n", "  "))


def _damaged(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    dice = random.random()
    if dice < 0.4:
        return text[:at] + text[at + 1 :]
    if dice < 0.7:
        return text[:at] + random.choice(_SOUP) + text[at:]
    if dice < 0.85:
        return text[:at]
    return text[:at] + random.choice(_SOUP) + text[at + random.randrange(4) :]
