"""What the benches of the store share: a filled queue, a fleet, and the cycle of a job without any network."""

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import Connection

from ostler.domain.job import JobKind, Slot
from ostler.domain.machine import Refused
from ostler.effects import system_effects
from ostler.protocol.v1.fleet_messages import CreateTokenRequest
from ostler.protocol.v1.run_messages import SubmitRequest
from ostler.protocol.v1.runner_messages import EnrolRequest, FinishRequest
from ostler.protocol.v1.spec import JobSpec, StepSpec
from ostler.store import attempts, claims, demands, enrolment, submissions, tokens
from ostler.store.database import Database

T = TypeVar("T")

BATCH = 10_000
_EFFECTS = system_effects()
_SPEC = JobSpec(name="job", steps=[StepSpec(name="say", argv=["echo", "hello"])])


class Unsealed:
    """The benches' jobs have no secrets."""

    def seal(self, plaintext: bytes, associated: bytes) -> bytes:
        return plaintext

    def open(self, sealed: bytes, associated: bytes) -> bytes:
        return sealed


def now() -> int:
    return _EFFECTS.clock.now()


def prepared(count: int, *, classes: int = 1, label: str = "class") -> list[submissions.Submission]:
    """Jobs spread evenly over so many demand classes."""
    requests = [SubmitRequest(spec=_SPEC, labels=[f"{label}-{number}"]) for number in range(classes)]
    return [_kept(submissions.prepare(requests[number % classes], _EFFECTS.ids, Unsealed())) for number in range(count)]


async def fill(database: Database, count: int, *, classes: int = 1, label: str = "class") -> None:
    """Submit so many jobs in large batches."""
    for done in range(0, count, BATCH):
        await database.run(
            submissions.submit_many, prepared(min(BATCH, count - done), classes=classes, label=label), now()
        )


async def enrol(database: Database, count: int) -> list[str]:
    """Enrol so many runners of the hosted pool and return their ids."""
    secret = _EFFECTS.random.token()
    token = tokens.NewToken(id=_EFFECTS.ids.new("tok"), secret=secret, user_id="usr_bench")
    await database.run(tokens.create, token, CreateTokenRequest(uses=count), now())
    ids = [_EFFECTS.ids.new("rnr") for _ in range(count)]
    for runner_id in ids:
        request = EnrolRequest(secret, runner_id, f"{runner_id:_<43}", "bench-key")
        _kept(await database.run(enrolment.enrol, request, runner_id, now()))
    return ids


class Fleet:
    """Runners that claim, start and finish; each call is one transaction for all of them."""

    def __init__(self, database: Database, runner_ids: Sequence[str], demand_ids: Sequence[str]) -> None:
        self._database = database
        self._running: list[claims.Claimed] = []
        self._wants = [
            claims.Want(runner_id=runner_id, slot=Slot.PRIMARY, key="claim-key", demand_ids=(demand_id,))
            for runner_id, demand_id in zip(runner_ids, _repeated(demand_ids, len(runner_ids)), strict=True)
        ]

    async def turn(self) -> None:
        """End what runs and claim what is next in one transaction, then start it in another."""
        claimed = await self._database.run(self._finish_and_claim, now())
        await self._database.run(attempts.start_many, [_start(each) for each in claimed], now())
        self._running = claimed

    async def claim(self) -> None:
        """Claim in one transaction and put everything back in another, which is not what is measured."""
        self._running = [each for each in await self._database.run(claims.claim_batch, self._wants, now()) if each]
        assert len(self._running) == len(self._wants), "every runner is to get a job, or the figure is wrong"

    async def give_back(self) -> None:
        """Release what was claimed."""
        await self._database.run(self._release, now())
        self._running = []

    async def settle(self) -> None:
        """End what runs, so that every slot is free."""
        await self._database.run(attempts.finish_many, [_finish(each) for each in self._running], now())
        self._running = []

    def _finish_and_claim(self, connection: Connection, at: int) -> list[claims.Claimed]:
        attempts.finish_many(connection, [_finish(each) for each in self._running], at)
        return [each for each in claims.claim_batch(connection, self._wants, at) if each]

    def _release(self, connection: Connection, at: int) -> None:
        for each in self._running:
            attempts.release(connection, each.runner_id, each.job_id, each.fence, at)


def demand_id(label: str) -> str:
    """The class of jobs that need this label."""
    return demands.demand_class(pool_id="pool_hosted", kind=JobKind.CI, labels=[label]).id


def _repeated(values: Sequence[str], count: int) -> list[str]:
    return [values[number % len(values)] for number in range(count)]


def _start(claim: claims.Claimed) -> attempts.Start:
    return attempts.Start(claim.runner_id, claim.job_id, claim.fence, f"start-{claim.job_id}")


def _finish(claim: claims.Claimed) -> attempts.Finish:
    return attempts.Finish(
        claim.runner_id,
        FinishRequest(claim.job_id, claim.fence, f"finish-{claim.job_id}", "succeeded", 0, 0, exit_code=0),
    )


def _kept(outcome: T | Refused) -> T:
    assert not isinstance(outcome, Refused), outcome
    return outcome
