"""What follows from what: which nodes may start, what becomes of a matrix or a call, when the run has ended.

Nothing here recurses from job to job. What has become ready and what has ended stands in two queues, which `settle`
works off, so a thousand jobs in a row are no deeper than one.
"""

from collections import deque

import msgspec

from ostler.domain.cause import Cause
from ostler.workflow.model import Concurrency
from ostler.workflow.run import conditions, naming
from ostler.workflow.run.book import Book
from ostler.workflow.run.concurrency import group_key
from ostler.workflow.run.effects import CancelJob, Conclusion, Effect, JoinGroup, LeaveGroup, RunEnded, StartJob
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Evaluator
from ostler.workflow.run.inputs import call_inputs
from ostler.workflow.run.matrix import expand
from ostler.workflow.run.outputs import outputs_of_call, outputs_of_matrix
from ostler.workflow.run.places import Places
from ostler.workflow.run.plan import MOST_NODES, Plan, rendered
from ostler.workflow.run.scopes import Frame, Scopes, cell_id, new_node, slot_of, within
from ostler.workflow.run.starting import contexts_of_job, started
from ostler.workflow.run.state import Node, NodeEvent, NodeState, RunPhase, RunState

_E = NodeEvent


class Progress:
    """A run in motion."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        self.plan = plan
        self.run = state
        """All but the nodes, which are in the book."""
        self.book = Book(state)
        self.effects: list[Effect] = []
        self.evaluator = Evaluator()
        self._scopes = Scopes(plan, self.book.nodes)
        self._places = Places(self.book)
        self._ready: deque[str] = deque()
        self._ended: deque[str] = deque()

    def settle(self) -> None:
        """Draw all conclusions."""
        while self._ended or self._ready:
            if self._ended:
                self._conclude(self._ended.popleft())
            else:
                self._decide(self._ready.popleft())

    def open(self, scope_id: str) -> None:
        """Bring the jobs of a workflow into being where they are not yet; raise `Misconfigured` at too many."""
        scope = self._scopes.of(scope_id)
        if len(self.book.nodes) + len(scope.graph.jobs) > MOST_NODES:
            raise Misconfigured(f"the run would have more than {MOST_NODES} jobs")
        caller = self.book.nodes[scope_id].name if scope_id else ""
        for job in scope.graph.jobs:
            node_id = within(scope_id, job)
            if node_id not in self.book.nodes:
                self.book.add(new_node(scope, job, caller, self.run.attempt, self.evaluator))

    def resume(self, scope_id: str) -> None:
        """Let go on whatever can, of the jobs of a workflow."""
        for child in self.book.children[scope_id]:
            node = self.book.nodes[child]
            if node.state is NodeState.WAITING and not self.book.missing[child]:
                self._ready.append(child)
            elif node.state is NodeState.PENDING:
                self._start(child)
            elif node.state is NodeState.RUNNING and node.kind == "matrix":
                self._fill(child)

    def launch(self, node_id: str) -> None:
        """Start a job or a call that has its place and its group."""
        try:
            if self._scopes.frame(node_id).job.uses:
                self._call(node_id)
            else:
                self._queue(node_id)
        except Misconfigured as misconfigured:
            self.fail(node_id, str(misconfigured))

    def enter(self, node_id: str) -> None:
        """Begin the jobs of a called workflow."""
        try:
            self.open(node_id)
        except Misconfigured as misconfigured:
            self.fail(node_id, str(misconfigured))
            return
        self.book.move(node_id, _E.BEGIN)
        self.resume(node_id)

    def holds(self, node_id: str, *, cancelling: bool) -> bool:
        """Return whether the condition of a node's job is met, of a run that is cancelled or is not."""
        slot = slot_of(node_id)
        frame = self._scopes.frame(slot)
        status = conditions.status(self.book, self.book.nodes[slot], cancelling=cancelling)
        return self.evaluator.holds("if", frame.job.if_, frame.contexts, status)

    def fail(self, node_id: str, note: str) -> None:
        """End what cannot be carried out as it is written."""
        self.end(node_id, "failure", failed=True, note=note, cause=Cause.CONFIGURATION.value)

    def end(
        self,
        node_id: str,
        conclusion: Conclusion,
        *,
        failed: bool = False,
        note: str = "",
        cause: str = "",
        outputs: dict[str, str] | None = None,
    ) -> None:
        """End a node; what follows is settled later."""
        before = self.book.nodes[node_id]
        self.book.turns += 1
        ended = self.book.move(
            node_id,
            _E.END,
            conclusion=conclusion,
            failed=failed,
            note=note or (before.note if conclusion == "cancelled" else ""),
            cause=cause,
            outputs=outputs or {},
            turn=self.book.turns,
            group="",
            inner_group="",
        )
        if ended is None:
            return
        if before.inner_group:
            self.effects.append(LeaveGroup(within(node_id, ""), before.inner_group))
        if before.group:
            self.effects.append(LeaveGroup(node_id, before.group))
        self._ended.append(node_id)

    def cancel(self, node_id: str, reason: str, *, force: bool = False) -> None:
        """Cancel a node with all below it: what runs is asked to end, what has not begun ends here."""
        queue = deque([node_id])
        while queue:
            node = self.book.nodes[queue.popleft()]
            below = self.book.children.get(node.id)
            if node.state is NodeState.ENDED:
                continue
            if below:
                self.book.move(node.id, _E.CANCEL, note=reason)
                queue.extend(below)
            elif node.kind != "job" or self.book.move(node.id, _E.CANCEL, note=reason) is None:
                self.end(node.id, "cancelled", note=reason)
            elif force or node.state is not NodeState.CANCELLING:
                self.effects.append(CancelJob(node.id, reason, force))

    def _decide(self, node_id: str) -> None:
        """Decide on a job whose needs have all ended."""
        node = self.book.nodes[node_id]
        if node.state is not NodeState.WAITING:
            return
        try:
            frame = self._scopes.frame(node_id)
            if not self.holds(node_id, cancelling=bool(self.run.cancelling)):
                self._skip(node)
            elif frame.job.strategy.matrix is None:
                self._start(node_id)
            else:
                self._expand(node, frame)
        except Misconfigured as misconfigured:
            self.fail(node_id, str(misconfigured))

    def _skip(self, node: Node) -> None:
        """End a job whose condition is not met: cancelled if nothing but the end of the run speaks against it."""
        if self.run.cancelling and self.holds(node.id, cancelling=False):
            self.end(node.id, "cancelled", note=self.run.cancel_reason or "the run was cancelled")
        else:
            self.end(node.id, "skipped", note=conditions.why_skipped(self.book, node))

    def _expand(self, node: Node, frame: Frame) -> None:
        strategy, evaluator = frame.job.strategy, self.evaluator
        fail_fast = evaluator.flag("strategy.fail-fast", strategy.fail_fast, frame.contexts)
        most = strategy.max_parallel
        parallel = 0 if most is None else int(evaluator.number("strategy.max-parallel", most, frame.contexts))
        cells = expand(evaluator.whole("strategy.matrix", strategy.matrix, frame.contexts))
        if len(self.book.nodes) + len(cells) > MOST_NODES:
            raise Misconfigured(f"the run would have more than {MOST_NODES} jobs")
        if not cells:
            self.book.change(node.id, kind="call" if frame.job.uses else "job", fail_fast=fail_fast)
            self._start(node.id)
            return
        total, caller = len(cells), self.book.nodes[node.parent].name if node.parent else ""
        shape = msgspec.structs.replace(
            node, kind="call" if frame.job.uses else "job", state=NodeState.PENDING, parent=node.id, parents=()
        )
        made: list[Node] = []
        for index, cell in enumerate(cells):
            new = msgspec.structs.replace(
                shape,
                id=cell_id(node.id, index),
                matrix=dict(cell.values),
                index=index,
                total=total,
                fail_fast=fail_fast,
                max_parallel=max(parallel, 0),
            )
            name = naming.of_cell(caller, frame.job, cell.segments, contexts_of_job(frame, new), evaluator)
            made.append(msgspec.structs.replace(new, name=name))
        name = naming.of_matrix(caller, frame.job)
        self.book.move(node.id, _E.BEGIN, name=name, fail_fast=fail_fast, max_parallel=max(parallel, 0), total=total)
        for new in made:
            self.book.add(new)
        self._fill(node.id)

    def _fill(self, matrix_id: str) -> None:
        """Start jobs of a matrix while there are places."""
        for cell in self._places.take(matrix_id):
            self._start(cell)

    def _start(self, node_id: str) -> None:
        """Start one job or call, or let it ask for its concurrency group first."""
        node = self.book.nodes[node_id]
        if node.group or node.inner_group:
            return
        try:
            frame = self._scopes.frame(node_id)
            if node.id == slot_of(node_id):
                caller = self.book.nodes[node.parent].name if node.parent else ""
                name = naming.of_job(caller, frame.job, contexts_of_job(frame, node), self.evaluator)
                if name != node.name:
                    self.book.change(node_id, name=name)
            if frame.job.concurrency is None:
                self.launch(node_id)
                return
            wanted = rendered(frame.job.concurrency, self.evaluator, contexts_of_job(frame, node))
            if self._may_join(node, wanted):
                self._hold(node_id, group=wanted.group)
                self._join(node_id, wanted)
        except Misconfigured as misconfigured:
            self.fail(node_id, str(misconfigured))

    def _may_join(self, node: Node, wanted: Concurrency) -> bool:
        """Return whether a group is free of the run and its callers: they would wait for each other for ever."""
        held, above = [self.run.group], node
        while above.parent:
            above = self.book.nodes[above.parent]
            held += (above.group, above.inner_group)
        if group_key(wanted.group) not in map(group_key, filter(None, held)):
            return True
        note = f"it wants the concurrency group {wanted.group!r}, which the run or its caller has already"
        self.end(node.id, "cancelled", note=note)
        return False

    def _hold(self, node_id: str, **group: str) -> None:
        if self.book.move(node_id, _E.HOLD, **group) is None:
            self.book.change(node_id, **group)

    def _join(self, holder: str, wanted: Concurrency) -> None:
        queue = "max" if wanted.queue == "max" else "single"
        self.effects.append(JoinGroup(holder, wanted.group, wanted.cancel_in_progress is True, queue))

    def _call(self, node_id: str) -> None:
        """Give a called workflow its inputs, and let it ask for its own concurrency group."""
        node = self.book.nodes[node_id]
        frame = self._scopes.frame(node_id)
        _, workflow = self._scopes.callee(frame.scope, frame.job)
        if node_id not in self.book.children:
            trigger = workflow.trigger("workflow_call")
            declared = {} if trigger is None else trigger.inputs
            contexts = contexts_of_job(frame, node)
            inputs = call_inputs(declared, frame.job.with_, self.evaluator, contexts, frame.scope.contexts)
            self.book.change(node_id, inputs=inputs)
            self._scopes.forget(node_id)
        if workflow.concurrency is None:
            self.enter(node_id)
            return
        contexts = self._scopes.of(node_id).contexts
        wanted = rendered(workflow.concurrency, self.evaluator, contexts)
        if self._may_join(self.book.nodes[node_id], wanted):
            self._hold(node_id, inner_group=wanted.group)
            self._join(within(node_id, ""), wanted)

    def _queue(self, node_id: str) -> None:
        frame, node = self._scopes.frame(node_id), self.book.nodes[node_id]
        job = started(self.plan, frame, node, self.evaluator)
        self.book.move(node_id, _E.QUEUE, continue_on_error=job.continue_on_error, attempt=self.run.attempt)
        self.effects.append(StartJob(node_id, job))

    def _conclude(self, node_id: str) -> None:
        """Draw the conclusions of the end of one node."""
        node = self.book.nodes[node_id]
        tally = self.book.close(node)
        container = self.book.nodes.get(node.parent)
        if container is not None and container.kind == "matrix":
            self._cell_ended(container, node)
        else:
            self.book.hand_down(node)
            scope = self._scopes.of(node.parent)
            for dependant in scope.graph.dependants[node_id.rpartition("/")[2]]:
                waiting = within(node.parent, dependant)
                if self.book.need_met(waiting):
                    self._ready.append(waiting)
        if not tally.open:
            self._close(node.parent)

    def _cell_ended(self, matrix: Node, cell: Node) -> None:
        self._places.give_back(cell.id)
        if cell.conclusion == "failure" and matrix.fail_fast and matrix.state is NodeState.RUNNING:
            self.cancel(matrix.id, f"{cell.name} failed")
        elif matrix.state is NodeState.RUNNING:
            self._fill(matrix.id)

    def _close(self, container_id: str) -> None:
        """End a matrix, a call or the run, below which everything has ended."""
        conclusion = self.book.tallies[container_id].conclusion()
        if not container_id:
            self._finish(conclusion)
            return
        container = self.book.nodes[container_id]
        try:
            if container.kind == "matrix":
                outputs = outputs_of_matrix(self.book, container_id)
            else:
                outputs = outputs_of_call(self.book, self._scopes.of(container_id), self.evaluator)
        except Misconfigured as misconfigured:
            self.fail(container_id, str(misconfigured))
            return
        self.end(container_id, conclusion, failed=conclusion == "failure", outputs=outputs)

    def _finish(self, conclusion: Conclusion) -> None:
        if self.run.group:
            self.effects.append(LeaveGroup("", self.run.group))
        note = self.run.note or (self.run.cancel_reason if conclusion == "cancelled" else "")
        self.run = msgspec.structs.replace(self.run, phase=RunPhase.ENDED, conclusion=conclusion, note=note, group="")
        self.effects.append(RunEnded(conclusion, note))
