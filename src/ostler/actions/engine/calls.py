"""The actions that a job uses: one ``Call`` for each ``uses``, with what lives from its pre step to its post step."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ostler.actions.engine.scope import ActionAt, Place
from ostler.actions.library.library import Found
from ostler.actions.library.metadata import read_action
from ostler.actions.library.references import DockerImage, Local, Remote, parse_uses
from ostler.domain.machine import Refused
from ostler.protocol.v1.program import Step
from ostler.workflow.action_model import Action, CompositeRuns, NodeRuns

DEEPEST: Final = 10
"""How deep composite actions may use others, as on GitHub."""


class Finder(Protocol):
    """Where actions of other repositories come from: the ``Library``, or a test's own."""

    def find(self, remote: Remote) -> Found | Refused: ...


class Call:
    """One ``uses``."""

    def __init__(self, step: Step, name: str, found: Found | None, at: ActionAt, children: "list[Call | None]") -> None:
        self.step = step
        self.name = name
        self._found = found
        self.at = at
        self.children = children
        """The calls of a composite action's steps; none for those that are no call, or are loaded when they run."""
        self.state: dict[str, str] = {}
        self.registered = False
        """Whether its post step is certain."""

    @property
    def action(self) -> Action:
        if self._found is None:
            raise LookupError("an action is loaded before it is used")
        return self._found.action

    @property
    def builtin(self) -> str:
        """The name of the built-in program that it is, if it is one."""
        return self._found.builtin if self._found else ""

    @property
    def has_pre(self) -> bool:
        """Whether something of it runs before all main steps."""
        runs = self.action.runs
        if isinstance(runs, NodeRuns):
            return bool(runs.pre)
        return any(child is not None and child.has_pre for child in self.children)


class Post(NamedTuple):
    """A script that an action wants to be run after all main steps."""

    call: Call
    place: Place


class Calls:
    """Loads actions: those of other repositories before anything runs, those of the workspace when they are reached."""

    def __init__(
        self, finder: Finder, workspace: str, name: Callable[[Step], str], note: Callable[[str], None]
    ) -> None:
        self._finder = finder
        self._workspace = workspace
        self._name = name
        self._note = note

    def prepare(self, step: Step, depth: int = 0) -> Call | Refused | None:
        """Load what a step uses, if it can be loaded before anything ran."""
        if step.uses is None:
            return None
        reference = parse_uses(step.uses)
        if isinstance(reference, Refused):
            return reference
        if isinstance(reference, DockerImage):
            return docker_unavailable(step.uses)
        if isinstance(reference, Local):
            return None
        if depth >= DEEPEST:
            return _too_deep(step.uses)
        found = self._finder.find(reference)
        if isinstance(found, Refused):
            return found
        self._note(_described(reference, found))
        at = ActionAt(str(found.directory), reference.repository, reference.ref)
        return self._call(step, found, at, depth)

    def local(self, step: Step, depth: int) -> Call | Refused:
        """Load an action of the workspace now, and with it what it uses."""
        reference = parse_uses(step.uses or "")
        if isinstance(reference, Refused):
            return reference
        if not isinstance(reference, Local):
            prepared = self.prepare(step, depth)
            return prepared if prepared is not None else Refused("action_reference", f"`{step.uses}` names no action.")
        if depth >= DEEPEST:
            return _too_deep(step.uses or "")
        action = read_action(Path(self._workspace), reference.path, step.uses or "")
        if isinstance(action, Refused):
            return action
        directory = Path(self._workspace) / reference.path
        return self._call(step, Found(action, directory), ActionAt(str(directory)), depth)

    def _call(self, step: Step, found: Found, at: ActionAt, depth: int) -> Call | Refused:
        children: list[Call | None] = []
        if isinstance(found.action.runs, CompositeRuns):
            for inner in found.action.runs.steps:
                child = self.prepare(inner, depth + 1)
                if isinstance(child, Refused):
                    return child
                children.append(child)
        return Call(step, self._name(step), found, at, children)


def docker_unavailable(what: str) -> Refused:
    """Return the refusal of whatever needs a container."""
    return Refused(
        "docker_unavailable",
        f"`{what}` runs in a container, and this runner has no docker executor. Use a runner whose `isolation` is "
        "`docker`, or an action that is JavaScript or composite.",
    )


def _too_deep(uses: str) -> Refused:
    return Refused(
        "action_too_deep", f"`{uses}` is the {DEEPEST + 1}th action that uses another; {DEEPEST} are allowed."
    )


def _described(remote: Remote, found: Found) -> str:
    if found.builtin:
        return f"Built in: {remote.text}"
    commit = f" ({found.commit})" if found.commit else ""
    note = f". {found.note}" if found.note else ""
    return f"Action {remote.text}{commit} from {found.source}{note}"
