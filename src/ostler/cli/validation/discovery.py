"""Which files ``ostler validate`` looks at, and which of them are workflows, which actions."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ostler.cli.errors import USAGE, CommandFailed
from ostler.workflow.reader import LARGEST

FOLDERS: Final = (".github/workflows", ".ostler/workflows")
_METADATA: Final = ("action.yml", "action.yaml")
_SUFFIXES: Final = (".yml", ".yaml")
_SKIPPED: Final = ("node_modules", "vendor", "venv", "dist", "build", "site-packages", "__pycache__")
_DEEPEST: Final = 5
_TOP_KEY: Final = re.compile(r"^[\"']?(on|jobs|runs)[\"']?[ \t]*:|^\{", re.MULTILINE)

Kind = Literal["workflow", "action"]


class Repository(NamedTuple):
    """The files of the repository that a workflow lies in."""

    root: Path
    complete: bool

    def read(self, path: str) -> bytes | None:
        """Return the content of a file by its path from the top."""
        file = self.root / path
        return content_of(file) if file.is_file() else None


class Candidate(NamedTuple):
    """A file to check."""

    path: Path
    kind: Kind
    content: bytes
    repository: Repository | None


def find(paths: Sequence[Path]) -> list[Candidate]:
    """Return the files below some paths, or of the current repository."""
    found: dict[Path, Candidate] = {}
    for path in paths or (_repository_of(Path.cwd()),):
        for file, sure in _files(path):
            candidate = _candidate(file, sure=sure)
            if candidate is not None:
                found.setdefault(file, candidate)
    return list(found.values())


def content_of(path: Path) -> bytes:
    """Return what a file holds, and no more of it than is ever checked."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, "it is not a file")
            return file.read(LARGEST + 1)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


def _unreadable(path: Path, why: str) -> CommandFailed:
    return CommandFailed(f"{path} cannot be read: {why}", exit_code=USAGE, code="file_unreadable")


def _files(path: Path) -> Iterator[tuple[Path, bool]]:
    """Yield files, and whether each is surely meant."""
    if not path.is_dir():
        if not path.exists():
            raise _unreadable(path, "there is no such file")
        if not path.is_file():
            raise _unreadable(path, "it is not a file")
        yield path, True
        return
    shown = Path(os.path.relpath(path)) if not path.is_absolute() or path == _repository_of(Path.cwd()) else path
    if any((path / folder).is_dir() for folder in FOLDERS):
        for folder in FOLDERS:
            yield from ((file, True) for file in _below(shown / folder, 1))
        yield from ((file, True) for file in _below(shown, _DEEPEST) if file.name in _METADATA)
    else:
        sure = path.resolve().as_posix().endswith(FOLDERS)
        yield from ((file, sure) for file in _below(shown, _DEEPEST))


def _below(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.suffix in _SUFFIXES and entry.is_file():
            yield entry
        elif depth > 1 and entry.name not in _SKIPPED and not entry.is_symlink() and entry.is_dir():
            hidden = entry.name.startswith(".") and entry.name not in (".github", ".ostler")
            if not hidden:
                yield from _below(entry, depth - 1)


def _candidate(path: Path, *, sure: bool) -> Candidate | None:
    content = content_of(path)
    keys = {found[1] for found in _TOP_KEY.finditer(content.decode("utf-8", "replace"))}
    if not sure and not keys and path.name not in _METADATA:
        return None
    kind: Kind = "workflow"
    if ("runs" in keys and not keys & {"on", "jobs"}) or (path.name in _METADATA and not keys & {"on", "jobs"}):
        kind = "action"
    return Candidate(path, kind, content, _place(path))


def _place(path: Path) -> Repository | None:
    """Return the repository of a file if it is known where its top is."""
    whole = path.absolute()
    for parent in whole.parents:
        relative = whole.relative_to(parent).as_posix()
        if (parent / ".git").exists() or relative.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            return Repository(parent, (parent / ".git").exists())
    return None


def _repository_of(folder: Path) -> Path:
    """Return the nearest folder upwards that is a repository or has workflows; the folder itself if there is none."""
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists() or any((parent / each).is_dir() for each in FOLDERS):
            return parent
    return folder
