"""The messages about pools, runners and tokens, for people's clients."""

from typing import Annotated, Literal

import msgspec

from ostler.domain.job import JobKind
from ostler.domain.pool import PoolStatus
from ostler.domain.runner import Admission, RunnerStatus
from ostler.protocol.v1.runner_messages import Metrics, SystemInfo
from ostler.protocol.v1.spec import Labels

Text = Annotated[str, msgspec.Meta(max_length=1000)]
ListSize = Annotated[int, msgspec.Meta(ge=1, le=500)]


class PoolView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pool and how it is doing."""

    id: str
    name: str
    status: PoolStatus
    description: str = ""
    labels: list[str] = []
    replicas: int = 1
    job_kinds: list[JobKind] = []
    allow_multiple_instances: bool = False
    disabled: bool = False
    hosted: bool = False
    default: bool = False
    live_runners: int = 0
    busy_runners: int = 0
    waiting_jobs: int = 0
    created_at: int = 0


class PoolsReply(msgspec.Struct, frozen=True):
    """All pools; the hosted pool first."""

    pools: list[PoolView]


class CreatePoolRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new pool."""

    name: Annotated[str, msgspec.Meta(max_length=500)]
    description: Text = ""
    labels: Labels = []
    replicas: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 1
    job_kinds: list[JobKind] = []
    allow_multiple_instances: bool = False


class UpdatePoolRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes to a pool; what is absent stays."""

    description: Text | None = None
    labels: Labels | None = None
    replicas: Annotated[int, msgspec.Meta(ge=0, le=100_000)] | None = None
    job_kinds: list[JobKind] | None = None
    allow_multiple_instances: bool | None = None
    disabled: bool | None = None
    default: bool | None = None


class RunnerView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A runner: what it is, what it can do, what it does."""

    id: str
    name: str
    pool_id: str
    pool_name: str
    status: RunnerStatus
    admission: Admission
    description: str = ""
    labels: list[str] = []
    job_kinds: list[JobKind] = []
    capabilities: list[str] = []
    tools: dict[str, str] = {}
    isolation: str = "process"
    system: SystemInfo = SystemInfo()
    metrics: Metrics = Metrics()
    environment: list[str] = []
    version: str = ""
    error: str = ""
    note: str = ""
    paused_until: int | None = None
    job_ids: list[str] = []
    last_seen_at: int | None = None
    created_at: int = 0


class RunnersQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which runners."""

    pool: str = ""
    status: Literal["", "offline", "idle", "busy", "error"] = ""
    cursor: str = ""
    limit: ListSize = 100


class RunnersReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of runners."""

    runners: list[RunnerView]
    next_cursor: str = ""


class AdmissionRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision about a runner, with a note for colleagues and, for a pause, how long it holds."""

    decision: Literal["pause", "resume", "drain", "disable", "enable", "quarantine", "revoke"]
    note: Annotated[str, msgspec.Meta(max_length=500)] = ""
    for_ms: Annotated[int, msgspec.Meta(ge=1, le=366 * 86_400_000)] | None = None


class CreateTokenRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registration token of a pool, or an API token of the caller."""

    kind: Literal["registration", "api"] = "registration"
    name: Annotated[str, msgspec.Meta(max_length=200)] = ""
    pool: str = ""
    uses: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1
    ttl_ms: Annotated[int, msgspec.Meta(ge=1000, le=366 * 86_400_000)] = 3_600_000


class TokenView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A token without its secret."""

    id: str
    kind: Literal["registration", "api"]
    name: str
    created_at: int
    expires_at: int
    pool_name: str = ""
    uses_left: int | None = None
    revoked: bool = False


class CreateTokenReply(msgspec.Struct, frozen=True):
    """The token. Its secret is shown this once and stored only as a hash."""

    token: TokenView
    secret: str


class TokensReply(msgspec.Struct, frozen=True):
    """All tokens that still count, newest first."""

    tokens: list[TokenView]


class LoginRequest(msgspec.Struct, frozen=True):
    """A one-time sign-in code, exchanged for an API token."""

    code: Annotated[str, msgspec.Meta(max_length=200)]


class Identity(msgspec.Struct, frozen=True):
    """Who the caller is."""

    user_id: str
    name: str
    role: str


class StatusRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A runner's own report of its state, for simple clients."""

    status: Literal["idle", "error", "offline"]
    error: Text = ""


class AssignJobRequest(msgspec.Struct, frozen=True):
    """Claim a given waiting job on behalf of the named runner."""

    job_id: str
