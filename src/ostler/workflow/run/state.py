"""How far a run has come: its nodes, and the table of what can become of one.

A node is a job, a matrix (whose nodes below it are its jobs), or a call of a reusable workflow (whose nodes below it
are the jobs of that). Its id is its path: ``build``, ``build[3]``, ``deploy/check``, ``deploy[1]/check[0]``.

Nodes wait until all that they need has ended. Those that may run then are pending while they lack a place: one of
``max-parallel``, or a concurrency group. A job is queued when a runner is wanted for it. How a node ended is its
conclusion, not its state: what a failure means to others is a matter of the workflow.
"""

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from ostler.domain.machine import Machine
from ostler.protocol.v1.program import Raw
from ostler.workflow.run.effects import Conclusion

NodeKind: TypeAlias = Literal["job", "matrix", "call"]


class NodeState(StrEnum):
    """Where a node stands."""

    WAITING = "waiting"
    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    ENDED = "ended"


class NodeEvent(StrEnum):
    """What can happen to a node."""

    HOLD = "hold"
    QUEUE = "queue"
    BEGIN = "begin"
    CANCEL = "cancel"
    END = "end"


_S, _E = NodeState, NodeEvent

NODE_MACHINE = Machine(
    "node",
    _S.WAITING,
    frozenset({_S.ENDED}),
    {
        (_S.WAITING, _E.HOLD): _S.PENDING,
        (_S.WAITING, _E.QUEUE): _S.QUEUED,
        (_S.WAITING, _E.BEGIN): _S.RUNNING,
        (_S.WAITING, _E.END): _S.ENDED,
        (_S.PENDING, _E.QUEUE): _S.QUEUED,
        (_S.PENDING, _E.BEGIN): _S.RUNNING,
        (_S.PENDING, _E.END): _S.ENDED,
        (_S.QUEUED, _E.BEGIN): _S.RUNNING,
        (_S.QUEUED, _E.CANCEL): _S.CANCELLING,
        (_S.QUEUED, _E.END): _S.ENDED,
        (_S.RUNNING, _E.CANCEL): _S.CANCELLING,
        (_S.RUNNING, _E.END): _S.ENDED,
        (_S.CANCELLING, _E.CANCEL): _S.CANCELLING,
        (_S.CANCELLING, _E.END): _S.ENDED,
    },
)


class Node(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One node of a run."""

    id: str
    kind: NodeKind = "job"
    state: NodeState = NodeState.WAITING
    conclusion: Conclusion | Literal[""] = ""
    """How it ended, as the jobs that need it see it."""
    failed: bool = False
    """Whether it failed itself, although ``continue-on-error`` makes a success of that."""
    name: str
    parent: str = ""
    """The matrix or the call that it belongs to; nothing at the top."""
    parents: tuple[str, ...] = ()
    """The nodes that it needs."""
    matrix: dict[str, Raw] | None = None
    index: int = 0
    total: int = 1
    outputs: dict[str, str] = {}
    note: str = ""
    """Why it was skipped, cancelled or could not run, to people."""
    cause: str = ""
    """One of the causes of ``domain.cause``, where it failed."""
    group: str = ""
    """The concurrency group that it holds or waits for."""
    inner_group: str = ""
    """Of a call: the same, of the called workflow itself."""
    inputs: dict[str, Raw] = {}
    """Of a call: what the called workflow was given."""
    fail_fast: bool = True
    max_parallel: int = 0
    """Of a matrix; 0 means all at once."""
    continue_on_error: bool = False
    turn: int = 0
    """The how manieth to end; of two that set one output the later one counts."""
    attempt: int = 1
    """The attempt of the run in which it was decided last."""


class RunPhase(StrEnum):
    """Where a run stands, seen from outside."""

    HELD = "held"
    """Somebody must approve it."""
    PENDING = "pending"
    """It waits for its concurrency group."""
    RUNNING = "running"
    ENDED = "ended"


Cancelling: TypeAlias = Literal["", "asked", "forced"]


class RunState(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that is known of a run. Nodes are in the order in which they came into being."""

    attempt: int = 1
    phase: RunPhase
    conclusion: Conclusion | Literal[""] = ""
    note: str = ""
    cancelling: Cancelling = ""
    cancel_reason: str = ""
    group: str = ""
    """The concurrency group that the run holds or waits for."""
    turns: int = 0
    """How many nodes have ended."""
    nodes: dict[str, Node] = {}
