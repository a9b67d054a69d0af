"""A small world to test the store in: a clock that tests move, ids that count, and shorthands for the usual steps."""

from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from ostler.domain.job import JobKind, Slot
from ostler.domain.machine import Refused
from ostler.protocol.v1.fleet_messages import CreateTokenRequest
from ostler.protocol.v1.run_messages import SubmitRequest
from ostler.protocol.v1.runner_messages import EnrolRequest, FinishRequest
from ostler.protocol.v1.spec import JobSpec, StepSpec
from ostler.store import attempts, claims, demands, enrolment, submissions, tokens
from ostler.store.database import Database

T = TypeVar("T")
P = ParamSpec("P")

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


class CountingIds:
    """Ids that sort by age, like the real ones."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:026d}"


class ReversingSealer:
    """Hides a value from a search, and ties it to its row; no more is needed here."""

    def seal(self, plaintext: bytes, associated: bytes) -> bytes:
        return associated + b"\0" + plaintext[::-1]

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        head, _, body = sealed.partition(b"\0")
        assert head == associated, "the sealed value belongs to another row"
        return body[::-1]


def spec(name: str = "build", **secrets: str) -> JobSpec:
    return JobSpec(name=name, steps=[StepSpec(name="say", argv=["echo", "hello"])], secrets=secrets)


class World:
    """See the module."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ids = CountingIds()
        self.sealer = ReversingSealer()
        self.now = START

    def wait(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)

    async def run(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.run(function, *args, **kwargs)

    async def read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.database.read(function, *args, **kwargs)

    def prepared(
        self,
        name: str = "build",
        *,
        kind: JobKind = JobKind.CI,
        key: str = "",
        labels: Sequence[str] = (),
        pool: str = "",
        priority: int = 0,
        runner_name: str = "",
        job: JobSpec | None = None,
    ) -> submissions.Submission:
        request = SubmitRequest(
            spec=job or spec(name),
            key=key,
            kind=kind,
            labels=list(labels),
            pool=pool,
            priority=priority,
            runner_name=runner_name,
        )
        return kept(submissions.prepare(request, self.ids, self.sealer, submitted_by="ada"))

    async def submit(
        self,
        name: str = "build",
        *,
        kind: JobKind = JobKind.CI,
        labels: Sequence[str] = (),
        priority: int = 0,
        job: JobSpec | None = None,
    ) -> submissions.Submitted:
        prepared = self.prepared(name, kind=kind, labels=labels, priority=priority, job=job)
        self.now += 1
        return kept(await self.run(submissions.submit, prepared, self.now))

    async def token(self, *, pool: str = "", uses: int = 1000) -> str:
        secret = self.ids.new("secret")
        request = CreateTokenRequest(pool=pool, uses=uses)
        token = tokens.NewToken(id=self.ids.new("tok"), secret=secret, user_id="usr_ada")
        kept(await self.run(tokens.create, token, request, self.now))
        return secret

    def enrolment(self, secret: str, name: str, *, key: str = "enrol-key") -> EnrolRequest:
        return EnrolRequest(registration_token=secret, name=name, public_key=f"{name:_<43}", key=key)

    async def runner(self, name: str = "alpha", *, pool: str = "") -> str:
        """Enrol a runner and return its id."""
        request = self.enrolment(await self.token(pool=pool), name)
        return kept(await self.run(enrolment.enrol, request, self.ids.new("rnr"), self.now)).runner_id

    async def classes(self) -> tuple[str, ...]:
        return tuple(each.id for each in await self.read(demands.all_classes))

    async def claim(
        self, runner_id: str, *, slot: Slot = Slot.PRIMARY, key: str = "claim-key"
    ) -> claims.Claimed | None:
        want = claims.Want(runner_id=runner_id, slot=slot, key=key, demand_ids=await self.classes())
        return (await self.run(claims.claim_batch, (want,), self.now))[0]

    async def claimed(self, runner_id: str, *, slot: Slot = Slot.PRIMARY) -> claims.Claimed:
        return there(await self.claim(runner_id, slot=slot))

    async def start(self, claim: claims.Claimed, *, key: str = "start-key") -> attempts.Started | Refused:
        return await self.run(attempts.start, claim.runner_id, claim.job_id, claim.fence, key, self.now)

    async def running(self, runner_id: str, *, slot: Slot = Slot.PRIMARY) -> claims.Claimed:
        """Claim and start."""
        claim = await self.claimed(runner_id, slot=slot)
        kept(await self.start(claim))
        return claim

    async def finish(
        self, claim: claims.Claimed, *, key: str = "finish-key", conclusion: str = "succeeded", log_bytes: int = 0
    ) -> attempts.Finished | attempts.LogIncomplete | Refused:
        request = FinishRequest(
            job_id=claim.job_id,
            fence=claim.fence,
            key=key,
            conclusion=conclusion,  # type: ignore[arg-type]
            log_bytes=log_bytes,
            log_lines=0,
        )
        return await self.run(attempts.finish, claim.runner_id, request, self.now)


def kept(outcome: T | Refused) -> T:
    """The outcome, which must not be a refusal."""
    assert not isinstance(outcome, Refused), outcome
    return outcome


def there(outcome: T | None) -> T:
    """The outcome, which must exist."""
    assert outcome is not None
    return outcome


def code_of(outcome: object) -> str:
    """The code of a refusal."""
    assert isinstance(outcome, Refused), outcome
    return outcome.code
