"""Which actions the workflows of a repository use, and which those use in turn."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ostler.actions.library.builtins import builtin
from ostler.actions.library.library import Fetched
from ostler.actions.library.metadata import read_action
from ostler.actions.library.references import Local, Remote, parse_uses
from ostler.domain.machine import Refused
from ostler.protocol.v1.program import Step
from ostler.workflow.action_model import Action, CompositeRuns
from ostler.workflow.check import check_workflow
from ostler.workflow.model import Workflow

FOLDERS = (".ostler/workflows", ".github/workflows")


class Used(NamedTuple):
    """One reference and where it stands."""

    remote: Remote
    places: tuple[str, ...]
    builtin: str
    """The built-in program that answers it, if one does."""
    fetched: Fetched | None


class Usage(NamedTuple):
    """All of it."""

    used: list[Used]
    problems: list[str]
    """What could not be followed, for people."""


class Repository(NamedTuple):
    """A folder whose files may name others: the one that is walked, or one that was fetched."""

    folder: Path
    remote: Remote | None = None

    def named(self, path: str) -> str:
        return path if self.remote is None else f"{self.remote.repository}@{self.remote.ref}/{path}"


Fetch = Callable[[Remote], tuple[Fetched, Path] | Refused]


def find_usage(root: Path, fetch: Fetch | None, real: Sequence[str] = ()) -> Usage:
    """Walk the workflows below a folder. Without ``fetch``, what the actions of others use is left out."""
    walk = _Walk(Repository(root), fetch, real)
    files = [path for folder in FOLDERS for path in sorted((root / folder).glob("*.y*ml")) if path.is_file()]
    for path in files:
        walk.workflow(walk.home, path.relative_to(root).as_posix())
    used = [
        Used(
            remote, tuple(dict.fromkeys(walk.places[remote])), builtin(remote, real) or "", walk.fetched.get(remote.at)
        )
        for remote in sorted(walk.places, key=lambda each: (each.text.lower(), each.text))
    ]
    return Usage(used, walk.problems)


class _Walk:
    def __init__(self, home: Repository, fetch: Fetch | None, real: Sequence[str]) -> None:
        self.home = home
        self.places: dict[Remote, list[str]] = {}
        self.fetched: dict[str, Fetched] = {}
        self.problems: list[str] = []
        self._fetch = fetch
        self._real = real
        self._folders: dict[str, Path | None] = {}
        self._seen: set[tuple[Path, str]] = set()

    def workflow(self, where: Repository, path: str) -> None:
        """Follow one workflow file."""
        if (where.folder, path) in self._seen:
            return
        self._seen.add((where.folder, path))
        name = where.named(path)
        try:
            checked = check_workflow(name, (where.folder / path).read_bytes())
        except OSError as reason:
            self.problems.append(f"{name}: {reason.strerror}")
            return
        if checked.workflow is None:
            first = checked.errors[0]
            self.problems.append(f"{name}:{first.span.line}:{first.span.column}: {first.message}")
            return
        self._jobs(where, checked.workflow, name)

    def _jobs(self, where: Repository, workflow: Workflow, name: str) -> None:
        for job in workflow.jobs:
            self._steps(job.steps, name)
            if job.uses:
                self._called(where, job.uses, f"{name}:{job.line}")

    def _called(self, where: Repository, uses: str, place: str) -> None:
        """Follow a reusable workflow."""
        reference = parse_uses(uses)
        if isinstance(reference, Local):
            self.workflow(where, reference.path)
        elif isinstance(reference, Remote):
            folder = self._repository(reference, place)
            if folder is not None:
                self.workflow(Repository(folder, reference), reference.path)

    def _steps(self, steps: Sequence[Step], name: str) -> None:
        for step in steps:
            self._steps(step.parallel or (), name)
            if step.uses and "${{" not in step.uses:
                self._action(step.uses, f"{name}:{step.line}")

    def _action(self, uses: str, place: str) -> None:
        reference = parse_uses(uses)
        if isinstance(reference, Refused):
            self.problems.append(f"{place}: {reference.reason}")
        elif isinstance(reference, Local):
            # Whoever says it, `./` is the workspace, which is a checkout of the repository that is walked.
            if (self.home.folder / reference.path).is_dir():
                self._metadata(self.home.folder, reference.path, f"./{reference.path}", place)
        elif isinstance(reference, Remote):
            folder = self._repository(reference, place)
            if folder is not None:
                self._metadata(folder, reference.path, reference.text, place)

    def _metadata(self, folder: Path, path: str, uses: str, place: str) -> None:
        if (folder, path) in self._seen:
            return
        self._seen.add((folder, path))
        action = read_action(folder, path, uses)
        if isinstance(action, Action):
            if isinstance(action.runs, CompositeRuns):
                self._steps(action.runs.steps, action.path)
        else:
            self.problems.append(f"{place}: {action.reason}")

    def _repository(self, remote: Remote, place: str) -> Path | None:
        """Note a reference and return its repository, unless it is built in or is not to be fetched."""
        self.places.setdefault(remote, []).append(place)
        if self._fetch is None or builtin(remote, self._real) is not None:
            return None
        if remote.at not in self._folders:
            answer = self._fetch(remote)
            if isinstance(answer, Refused):
                self.problems.append(f"{place}: {answer.reason}")
                self._folders[remote.at] = None
            else:
                self.fetched[remote.at], self._folders[remote.at] = answer
        return self._folders[remote.at]
