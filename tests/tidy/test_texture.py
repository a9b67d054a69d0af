"""The texture of the code, as CONTRIBUTING.md describes it: what a linter could not be told is checked here."""

import ast
import re

from tests.tidy.sources import ROOT, Source, functions, shipped, sources

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers"}
# A promise to write the code later is not the code. Split, so that this file does not find itself.
BANNED_WORDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK|NotImplemented" + r"Error)\b")


def test_files_are_short_enough_to_read_at_once() -> None:
    lengths = {source.name: source.text.count("\n") for source in sources()}
    too_long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert not too_long, f"split by noun or by phase (at most {LONGEST_FILE} lines): {too_long}"


def test_scripts_and_pages_code_are_short_too() -> None:
    pages = ROOT / "src/ostler/server"
    written = [*pages.rglob("*.js"), *pages.rglob("*.css"), *pages.rglob("*.html"), *(ROOT / "tools").glob("*")]
    lengths = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8").count("\n")
        for path in written
        if "vendor" not in path.parts and path.is_file()
    }
    too_long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE}
    assert not too_long, f"split by noun (at most {LONGEST_FILE} lines): {too_long}"


def test_functions_are_short_enough_to_hold_in_the_head() -> None:
    too_long = [
        f"{source.name}:{function.lineno} {function.name}: {length}"
        for source in sources()
        for function in functions(source)
        if (length := (function.end_lineno or function.lineno) - function.lineno + 1) > LONGEST_FUNCTION
    ]
    assert not too_long, f"functions have at most {LONGEST_FUNCTION} lines: {too_long}"


def test_no_drawer_is_named_for_junk() -> None:
    paths = [source.path.relative_to(ROOT) for source in sources()]
    junk = [path.as_posix() for path in paths if BANNED_NAMES & set(path.with_suffix("").parts)]
    assert not junk, f"name a module after its noun: {junk}"


def test_our_own_modules_are_imported_at_the_top() -> None:
    late = [
        f"{source.name}:{function.lineno} {function.name}"
        for source in sources()
        for function in functions(source)
        if any(_imports_ours(node) for node in ast.walk(function))
    ]
    assert not late, f"an import inside a function hides a dependency or a cycle: {late}"


def _imports_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == "ostler"
    return isinstance(node, ast.Import) and any(name.name.partition(".")[0] == "ostler" for name in node.names)


def test_every_module_says_why_it_exists() -> None:
    silent = [source.name for source in sources() if not _excused(source) and not _says_why(source)]
    assert not silent, f"the docstring of a module says in a sentence what it is for: {silent}"


def _excused(source: Source) -> bool:
    """A test module is named by what it tests, and an empty package file only marks a folder."""
    return not source.ships and (source.path.name.startswith("test_") or not source.text.strip())


def _says_why(source: Source) -> bool:
    docstring = ast.get_docstring(source.tree) or ""
    first = docstring.partition("\n\n")[0]
    return len(first.split()) >= 4 and first.rstrip()[-1] in ".:!?"


def test_nothing_is_left_for_later() -> None:
    later = [
        f"{source.name}:{number}"
        for source in shipped()
        for number, line in enumerate(source.text.splitlines(), start=1)
        if BANNED_WORDS.search(line)
    ]
    assert not later, f"finish it or leave it out: {later}"
