"""What the invariants look at: all that was observed of one job, in the order it was observed."""

from typing import Literal, NamedTuple

Kind = Literal["lease", "deployment", "ci"]


class Start(NamedTuple):
    """An attempt, and who runs it."""

    fence: int
    runner: str


class JobHistory:
    """Everything observed of one job."""

    def __init__(self, job: str, kind: Kind) -> None:
        self.job = job
        self.kind: Kind = kind
        self.fence = 0
        self.grants: list[Start] = []
        self.executions: list[Start] = []
        self.results: dict[int, str] = {}
        self.acknowledged: dict[int, str] = {}
        self.ends: list[tuple[int, str]] = []
        self.stale_writes: list[str] = []
        self.printed: dict[int, bytearray] = {}
        self.cut_short: set[int] = set()
        self.stored: dict[int, bytes] = {}
        self.calm = False
        self.given_up: set[int] = set()
        self.wrongs: list[str] = []
        self.cancelled_at: float | None = None
        self.stopped_at: dict[int, float] = {}
        self.gone_at: dict[int, float] = {}
        self.story: list[tuple[float, str]] = []
