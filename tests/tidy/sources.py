"""Which files the tidy tests look at, and how: parsed once, named as a person would name them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_OURS = ("src", "tests", "docs")
_FOREIGN = {"vendor", "__pycache__", "node_modules", "scenarios"}


class Source(NamedTuple):
    """One Python file of the project."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The path as it is written in messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def ships(self) -> bool:
        """Whether users get this file."""
        return self.name.startswith("src/")


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file that we wrote."""
    return tuple(_read())


def _read() -> Iterator[Source]:
    yield _source(ROOT / "hatch_build.py")
    for folder in _OURS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not _FOREIGN & set(path.relative_to(ROOT).parts):
                yield _source(path)


def _source(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path, text, ast.parse(text, str(path)))


def shipped() -> tuple[Source, ...]:
    """The files of the package; there are always some, or the tests look in the wrong place."""
    found = tuple(source for source in sources() if source.ships)
    assert found, "no file under src: the tidy tests look in the wrong place"
    return found


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file, nested ones too."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
