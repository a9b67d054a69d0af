"""Which workflows run: the file that was named, or those of the repository that the event starts.

A file that was named runs whatever its filters say, because somebody asks for it; an event that was named or described
by a payload must be one of its own. A folder is a repository: there the filters decide, as they would on a forge.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ostler.cli.local_run.errors import EventUnusable, NotStarted, WorkflowMissing
from ostler.cli.local_run.payload import Payload, make_payload
from ostler.cli.local_run.request import Request
from ostler.cli.local_run.working_tree import WorkingTree
from ostler.domain.machine import Refused
from ostler.workflow.check import Checked
from ostler.workflow.filters import DEFAULT_TYPES, Happening, event_filter, keeps_out
from ostler.workflow.language.events import ACTIVITY_TYPES, EVENTS
from ostler.workflow.model import Trigger, Workflow

FOLDERS: Final = (".ostler/workflows", ".github/workflows")
_SUFFIXES: Final = (".yml", ".yaml")
_PREFERRED: Final = ("push", "workflow_dispatch", "pull_request")
_WITH_INPUTS: Final = ("workflow_dispatch", "workflow_call")

Check = Callable[[str, bytes], Checked]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow with the event that starts it."""

    workflow: Workflow
    event: str
    payload: Payload
    notice: str = ""


def repository_of(path: Path) -> Path | None:
    """Return the root to which a file in one of the folders of workflows belongs."""
    folder = path.parent
    return folder.parent.parent if folder.name == "workflows" and folder.parent.name in (".github", ".ostler") else None


def workflow_files(root: Path) -> list[Path]:
    """Return the workflow files of a repository."""
    files = [path for folder in FOLDERS for path in sorted((root / folder).glob("*")) if path.suffix in _SUFFIXES]
    if not files:
        raise WorkflowMissing(
            f"there is no workflow in {' or '.join(FOLDERS)} of {root}",
            fix="name a file: `ostler run path/to/workflow.yml`",
        )
    return files


class Selection:
    """Picks among workflows. ``changed`` tells the changed files, and is asked only if a filter of paths is there."""

    def __init__(self, request: Request, tree: WorkingTree, changed: Callable[[], Sequence[str] | None]) -> None:
        self._request = request
        self._tree = tree
        self._changed = changed
        self._given = _read_payload(request.event_path)
        if request.inputs and request.event and request.event not in _WITH_INPUTS:
            raise EventUnusable(f"{request.event} takes no inputs", fix="leave out --input, or --event")
        if request.event and request.event not in EVENTS:
            raise EventUnusable(
                f"there is no event {request.event!r}", fix="the events are: " + ", ".join(sorted(EVENTS))
            )

    def named(self, workflow: Workflow) -> Chosen:
        """Choose a file that was named."""
        event = self._request.event or self._taking_inputs([workflow]) or _default_event(workflow)
        trigger = workflow.trigger(event)
        if trigger is None:
            events = ", ".join(each.event for each in workflow.on)
            raise NotStarted(f"{event} does not start {workflow.path}", fix=f"its events are: {events}")
        chosen, reason = self._chosen(workflow, trigger)
        if reason and self._given is not None:
            raise NotStarted(f"the event does not start {workflow.path}: {reason}")
        return msgspec.structs.replace(
            chosen, notice=f"on a forge this event would not start {workflow.path}: {reason}" if reason else ""
        )

    def started(self, workflows: Sequence[Workflow]) -> list[Chosen]:
        """Choose those that the event starts."""
        event = self._request.event or self._taking_inputs(workflows) or _common_event(workflows)
        found: list[Chosen] = []
        reasons: list[str] = []
        for workflow in workflows:
            trigger = workflow.trigger(event)
            if trigger is None:
                reasons.append(f"{workflow.path} waits for {', '.join(each.event for each in workflow.on)}")
                continue
            chosen, reason = self._chosen(workflow, trigger)
            if reason:
                reasons.append(f"{workflow.path}: {reason}")
            else:
                found.append(chosen)
        if not found:
            raise NotStarted(
                f"{event} of {self._tree.ref} starts no workflow: " + "; ".join(reasons),
                fix="name the file to run it all the same, or another event with --event",
            )
        return found

    def _taking_inputs(self, workflows: Sequence[Workflow]) -> str:
        """Return the event that takes the inputs that are given; they would be lost on any other."""
        if not self._request.inputs:
            return ""
        for event in _WITH_INPUTS:
            if any(workflow.trigger(event) for workflow in workflows):
                return event
        raise EventUnusable(
            "no workflow here takes inputs", fix="leave out --input, or add `workflow_dispatch` to `on`"
        )

    def _chosen(self, workflow: Workflow, trigger: Trigger) -> tuple[Chosen, str]:
        payload = self._payload(trigger)
        chosen = Chosen(workflow=workflow, event=trigger.event, payload=payload)
        made = event_filter({key: list(value) for key, value in trigger.lists.items()}, types=trigger.types)
        if isinstance(made, Refused):
            return chosen, made.reason
        happening = _happening(trigger.event, payload, self._tree)
        if made.paths is not None:
            happening = msgspec.structs.replace(happening, files=self._changed())
        return chosen, keeps_out(made, happening)

    def _payload(self, trigger: Trigger) -> Payload:
        made = make_payload(trigger.event, _action(trigger), self._tree, self._request.inputs)
        if trigger.event == "schedule" and trigger.schedules:
            made["schedule"] = trigger.schedules[0].cron
        if trigger.event == "workflow_run" and trigger.lists.get("workflows"):
            made["workflow_run"]["name"] = made["workflow"]["name"] = trigger.lists["workflows"][0]
        if trigger.event == "repository_dispatch":
            made.setdefault("action", "local")
        return {**made, **self._given} if self._given is not None else made


def _read_payload(path: Path | None) -> Payload | None:
    if path is None:
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise EventUnusable(
            f"{path} holds no payload: {reason}", fix="it must be a file with one JSON object"
        ) from error


def _default_event(workflow: Workflow) -> str:
    events = [trigger.event for trigger in workflow.on]
    return next((event for event in _PREFERRED if event in events), events[0] if events else "push")


def _common_event(workflows: Sequence[Workflow]) -> str:
    """Return ``push``, unless no workflow knows it and all that there is can be started by hand or is just one."""
    events = [[trigger.event for trigger in workflow.on] for workflow in workflows]
    if any("push" in each for each in events):
        return "push"
    if any("workflow_dispatch" in each for each in events):
        return "workflow_dispatch"
    return _default_event(workflows[0]) if len(workflows) == 1 else "push"


def _action(trigger: Trigger) -> str:
    """Return the activity type: the usual one, or the first that the workflow listens for."""
    if trigger.types:
        usual = DEFAULT_TYPES.get(trigger.event, ())
        return next((each for each in usual if each in trigger.types), trigger.types[0])
    known = DEFAULT_TYPES.get(trigger.event) or ACTIVITY_TYPES.get(trigger.event) or ()
    return known[0] if known else ""


def _happening(event: str, payload: Payload, tree: WorkingTree) -> Happening:
    pull: dict[str, Any] = payload.get("pull_request") or {}
    told: dict[str, Any] = payload.get("workflow_run") or {}
    ref = str(payload.get("ref") or tree.ref)
    group: dict[str, Any] = payload.get("merge_group") or {}
    base = pull.get("base", {}).get("ref", "") or str(group.get("base_ref", "")).removeprefix("refs/heads/")
    return Happening(
        event=event,
        ref=f"refs/heads/{told.get('head_branch', '')}" if told else ref,
        base=base,
        type=str(payload.get("action") or ""),
        workflow=str(told.get("name", "")),
    )
