"""The reducer: what happens to a run becomes its next state, and the things that must be done now.

``begin`` and ``advance`` are functions of their arguments alone. ``Reducer`` is the same for whoever has many
happenings to tell: it keeps what it has counted, so that each costs the same however many jobs there are.
"""

import msgspec

from ostler.workflow.run.book import Book
from ostler.workflow.run.effects import Effect, JoinGroup
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.happenings import (
    Approved,
    CancelAsked,
    GroupDenied,
    GroupGranted,
    Happening,
    HolderCancelled,
    JobEnded,
    JobStarted,
)
from ostler.workflow.run.plan import Plan
from ostler.workflow.run.progress import Progress
from ostler.workflow.run.state import Node, NodeEvent, NodeState, RunPhase, RunState

_UNFINISHED = (NodeState.QUEUED, NodeState.RUNNING)


def begin(plan: Plan) -> tuple[RunState, tuple[Effect, ...]]:
    """Begin a run."""
    reducer = Reducer(plan, RunState(attempt=plan.attempt, phase=RunPhase.HELD))
    effects = reducer.open()
    return reducer.state(), effects


def advance(plan: Plan, state: RunState, happening: Happening) -> tuple[RunState, tuple[Effect, ...]]:
    """Return what one happening makes of a run."""
    reducer = Reducer(plan, state)
    effects = reducer.apply(happening)
    return reducer.state(), effects


class Reducer:
    """A run that is told one happening after the other."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self._plan = plan
        self._progress = Progress(plan, state)

    @property
    def book(self) -> Book:
        """The nodes as they are now."""
        return self._progress.book

    def state(self) -> RunState:
        """Return the state that has been reached."""
        book = self._progress.book
        return msgspec.structs.replace(self._progress.run, nodes=dict(book.nodes), turns=book.turns)

    def changed(self) -> tuple[Node, ...]:
        """Return the nodes that are new or have changed since this was asked last."""
        book = self._progress.book
        changed = tuple(book.nodes[node_id] for node_id in sorted(book.changed))
        book.changed.clear()
        return changed

    def open(self) -> tuple[Effect, ...]:
        """Bring the run's own jobs into being; they wait if somebody must approve the run, or for its group."""
        self._progress.open("")
        if self._plan.given.approved:
            self._approved()
        return self._settled()

    def apply(self, happening: Happening) -> tuple[Effect, ...]:
        """Let something happen; what is not possible any more, or has happened already, changes nothing."""
        match happening:
            case JobStarted():
                self._started(happening.node)
            case JobEnded():
                self._job_ended(happening)
            case CancelAsked():
                self._cancel_asked(happening)
            case GroupGranted():
                self._granted(happening.holder)
            case GroupDenied():
                self._denied(happening)
            case HolderCancelled():
                self._holder_cancelled(happening)
            case Approved():
                if self._progress.run.phase is RunPhase.HELD:
                    self._approved()
        return self._settled()

    def _settled(self) -> tuple[Effect, ...]:
        self._progress.settle()
        effects = tuple(self._progress.effects)
        self._progress.effects.clear()
        return effects

    def _set(self, **changes: object) -> None:
        self._progress.run = msgspec.structs.replace(self._progress.run, **changes)

    def _approved(self) -> None:
        wanted = self._plan.concurrency
        if wanted is None:
            self._run()
            return
        self._set(phase=RunPhase.PENDING, group=wanted.group)
        queue = "max" if wanted.queue == "max" else "single"
        self._progress.effects.append(JoinGroup("", wanted.group, wanted.cancel_in_progress is True, queue))

    def _run(self) -> None:
        self._set(phase=RunPhase.RUNNING)
        self._progress.resume("")

    def _started(self, node_id: str) -> None:
        node = self.book.nodes.get(node_id)
        if node is not None and node.state is NodeState.QUEUED:
            self.book.move(node_id, NodeEvent.BEGIN)

    def _job_ended(self, ended: JobEnded) -> None:
        node = self.book.nodes.get(ended.node)
        if node is None or node.kind != "job" or node.state not in (*_UNFINISHED, NodeState.CANCELLING):
            return
        failed = ended.result == "failure"
        self._progress.end(
            ended.node,
            "success" if failed and node.continue_on_error else ended.result,
            failed=failed,
            note=ended.note,
            cause=ended.cause if ended.result != "success" else "",
            outputs=ended.outputs,
        )

    def _cancel_asked(self, asked: CancelAsked) -> None:
        run = self._progress.run
        if run.phase is RunPhase.ENDED or run.cancelling == "forced" or (run.cancelling and not asked.force):
            return
        reason = asked.reason or run.cancel_reason or "the run was cancelled"
        self._set(cancelling="forced" if asked.force else "asked", cancel_reason=reason)
        if asked.force or run.phase is not RunPhase.RUNNING:
            self._cancel("", reason, force=asked.force)
            return
        for node in [node for node in self.book.nodes.values() if _can_be_cancelled(node)]:
            if not self._goes_on(node.id):
                self._progress.cancel(node.id, reason)

    def _goes_on(self, node_id: str) -> bool:
        """Return whether the condition of a job still holds now that the run is cancelled."""
        try:
            return self._progress.holds(node_id, cancelling=True)
        except Misconfigured:
            return False

    def _cancel(self, scope: str, reason: str, *, force: bool = False) -> None:
        for child in list(self.book.children[scope]):
            self._progress.cancel(child, reason, force=force)

    def _granted(self, holder: str) -> None:
        if not holder:
            if self._progress.run.phase is RunPhase.PENDING:
                self._run()
            return
        node = self.book.nodes.get(holder.removesuffix("/"))
        if node is None or node.state is not NodeState.PENDING:
            return
        if holder.endswith("/"):
            if node.inner_group:
                self._progress.enter(node.id)
        elif node.group and not node.inner_group:
            self._progress.launch(node.id)

    def _denied(self, denied: GroupDenied) -> None:
        reason = denied.reason or "a newer one wants the same concurrency group"
        if not denied.holder:
            if self._progress.run.phase is RunPhase.PENDING:
                self._set(cancelling="asked", cancel_reason=reason, group="")
                self._cancel("", reason)
            return
        node = self.book.nodes.get(denied.holder.removesuffix("/"))
        if node is not None and node.state is NodeState.PENDING and (node.group or node.inner_group):
            self._progress.cancel(node.id, reason)

    def _holder_cancelled(self, cancelled: HolderCancelled) -> None:
        reason = cancelled.reason or "a newer one wants the same concurrency group"
        if not cancelled.holder:
            self._cancel_asked(CancelAsked(reason))
            return
        node = self.book.nodes.get(cancelled.holder.removesuffix("/"))
        if node is not None and (node.group or node.inner_group) and node.state is not NodeState.CANCELLING:
            self._progress.cancel(node.id, reason)


def _can_be_cancelled(node: Node) -> bool:
    """Whether the end of the run concerns a node now; one that waits is decided when its needs have ended."""
    if node.state in _UNFINISHED:
        return node.kind == "job"
    return node.state is NodeState.PENDING
