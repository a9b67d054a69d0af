"""The page of error codes: the problem table of the wire, and every other code that the source can produce.

The codes outside the table are found in the source itself: the ``code`` of exception classes, the literals of a
``…Code`` type in an ``errors.py``, and the first argument of every ``Refused``. A code that is put together at run time
is shown with its variable part in braces.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ostler.protocol.problem import PROBLEMS

SOURCE: Final = Path(__file__).parents[2] / "src" / "ostler"


class Found(NamedTuple):
    """A code in the source, with the words that explain it there."""

    code: str
    package: str
    meaning: str


def found_codes() -> list[Found]:
    """Every code in the source, sorted; the same code may be produced in several places."""
    found: set[Found] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        package = parts[0] if len(parts) > 1 else "ostler"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found.update(Found(code, package, meaning) for code, meaning in _codes(tree, path.name == "errors.py"))
    return sorted(found)


def _codes(tree: ast.Module, declares_errors: bool) -> Iterator[tuple[str, str]]:  # noqa: FBT001 - one caller, above
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _class_codes(node)
        elif isinstance(node, ast.Call) and _name(node.func) == "Refused":
            code, reason = _argument(node, 0, "code"), _argument(node, 1, "reason")
            if (text := _text(code)) is not None:
                yield text, _text(reason) or ""
        elif declares_errors and isinstance(node, ast.Assign) and _name(node.targets[0]).endswith("Code"):
            meaning = _first_class_meaning(tree)
            strings = (part for part in ast.walk(node.value) if isinstance(part, ast.Constant))
            yield from ((part.value, meaning) for part in strings if isinstance(part.value, str))


def _class_codes(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The class attribute ``code``, explained by the first sentence of the docstring."""
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if _name(target) == "code" and (code := _text(value)):
            yield code, _summary(node)


def _summary(node: ast.ClassDef) -> str:
    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())


def _first_class_meaning(tree: ast.Module) -> str:
    """What a list of codes in an ``errors.py`` is about: the exception that carries them."""
    return next((_summary(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)), "")


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _text(node: ast.expr | None) -> str | None:
    """The text of a literal or of an f-string, the latter with the names of its variable parts in braces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (_text(part) if isinstance(part, ast.Constant) else f"{{{_variable(part)}}}" for part in node.values)
        return "".join(part or "" for part in parts)
    return None


def _variable(part: ast.expr) -> str:
    """The shortest word that tells what stands there: the noun in ``self.noun`` and in ``event.value``."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(value, ast.Call):
        return _variable(value.func)
    if isinstance(value, ast.Attribute):
        return _variable(value.value) if value.attr == "value" else value.attr
    return value.id if isinstance(value, ast.Name) else "…"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def _code(text: str) -> str:
    return f"`{text}`"


def page() -> str:
    """The whole page."""
    lines = [
        "# Error codes",
        "",
        "Every error has a code that does not change between releases: branch on it, not on the words.",
        "",
        "## Problems",
        "",
        "What the API answers, as `application/problem+json` (RFC 9457). The `detail` of a reply says what was wrong",
        "this time; the table says what is always true of the code.",
        "",
        "| Code | Status | What happened | What to do |",
        "| --- | --- | --- | --- |",
    ]
    for code, kind in PROBLEMS.items():
        anchor = f'<a id="{code}"></a>'
        lines.append(f"| {anchor}{_code(code)} | {kind.status} | {_cell(kind.title)} | {_cell(kind.fix)} |")
    packages: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for found in found_codes():
        if found.code not in PROBLEMS and not packages[found.package].get(found.code):
            packages[found.package][found.code] = found.meaning
    lines += [
        "",
        "## Codes inside the program",
        "",
        "These appear in logs, in the results of jobs and on the command line. Words in braces vary.",
    ]
    for package, codes in sorted(packages.items()):
        if codes:
            lines += ["", f"### {package}", "", "| Code | Meaning |", "| --- | --- |"]
            lines += [f"| {_code(code)} | {_cell(meaning)} |" for code, meaning in sorted(codes.items())]
    return "\n".join(lines) + "\n"
