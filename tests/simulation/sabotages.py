"""Safeguards of the real programs, each taken away from the outside, to prove that the simulation misses none.

Nothing in the programs knows of this: a sabotage replaces a function or a statement while one seed runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import pytest
from sqlalchemy import Connection

from ostler.agent import heartbeat, job, journal, outbox
from ostler.client.errors import ProblemError
from ostler.domain import job as domain_job
from ostler.domain.attempt import ATTEMPT_MACHINE, AttemptEvent, AttemptState
from ostler.domain.job import JOB_MACHINE, JobEvent, JobKind, JobState
from ostler.domain.machine import Machine
from ostler.protocol.problem import problem
from ostler.protocol.v1 import table
from ostler.protocol.v1.runner_messages import HeldAttempt, HelloRequest
from ostler.store import attempts, claims, leadership, logs, runners, runs, submissions, transitions
from ostler.testing.faults import Fault
from ostler.testing.platform import scenario as platform_scenario
from ostler.testing.world import World

Patch = tuple[object, str, object]


class Sought(NamedTuple):
    """Where a rare consequence is to be found: the only faults, and how long the longest of them lasts."""

    rates: Mapping[Fault, float]
    longest_seconds: float


SOUGHT: Mapping[str, Sought] = {
    "fence_check": Sought({Fault.PAUSE: 0.5, Fault.PARTITION: 0.5, Fault.DELAY: 0.3}, 1500.0),
    "self_fencing": Sought({Fault.PARTITION: 0.9}, 300.0),
    "forgiveness": Sought({Fault.PAUSE: 0.9}, 2000.0),
    "hello_sequence": Sought(
        {Fault.DUPLICATE: 0.9, Fault.DELAY: 0.5, Fault.RESET_REPLY: 0.15, Fault.RESTART: 1.0}, 30.0
    ),
    "journal_fsync": Sought({Fault.POWER_LOSS: 0.8, Fault.TORN: 0.7, Fault.KILL_AT_SEND: 0.02}, 100.0),
}
"""Under these faults the programs as they are keep their promises, at the same seeds."""


async def scenario(world: World) -> None:
    """The platform without the safeguards that the world names."""
    with pytest.MonkeyPatch.context() as programs:
        for name in sorted(world.sabotage):
            for target, attribute, replacement in SABOTAGES[name]():
                programs.setattr(target, attribute, replacement)
        await _sought(world, next(iter(sorted(world.sabotage & SOUGHT.keys())), ""))


async def unharmed(world: World) -> None:
    """The platform with all its safeguards, under the faults that find the sabotage of the world's missing."""
    (name,) = world.sabotage
    await _sought(world, name)


async def _sought(world: World, name: str) -> None:
    sought = SOUGHT.get(name)
    if sought is None:
        await platform_scenario(world)
    else:
        world.faults.rates = dict(sought.rates)
        await platform_scenario(world, longest_seconds=sought.longest_seconds)


def fence_check() -> Sequence[Patch]:
    """The server believes whoever once held an attempt."""

    def held_by(loaded: transitions.Loaded, runner_id: str) -> bool:
        return loaded.attempt is not None and loaded.attempt.runner_id == runner_id

    return ((transitions.Loaded, "held_by", held_by),)


def start_grant() -> Sequence[Patch]:
    """The agent executes what it claimed without asking."""

    async def granted(life: job.JobLife) -> bool:
        return not life.entry.result

    return ((job.JobLife, "_granted", granted),)


def rule_of_the_kind() -> Sequence[Patch]:
    """A started deployment is delivered again, as a scan may be."""
    everything = property(lambda kind: isinstance(kind, JobKind))
    return ((JobKind, "redeliverable", everything),)


def journal_fsync() -> Sequence[Patch]:
    """The agent's journal is written and never synced."""
    record = journal.Journal.record

    def unsynced(self: journal.Journal, entry: journal.Entry, *, sync: bool) -> None:
        record(self, entry, sync=sync and False)

    return ((journal.Journal, "record", unsynced),)


def result_outbox() -> Sequence[Patch]:
    """A result is sent once; if that fails it is forgotten."""

    async def once(self: outbox.Outbox, entry: journal.Entry, logs: object) -> None:
        del logs
        try:
            await self._delivery._client.call(table.FINISH, request=entry.result, probe=True)
        except Exception as error:
            raise ProblemError(problem("job_ended", str(error))) from error

    return ((outbox.Outbox, "deliver", once),)


def log_offset() -> Sequence[Patch]:
    """Whatever log arrives is added, wherever it belongs."""
    append = logs.append

    def anywhere(
        connection: Connection, runner_id: str, job_id: str, fence: int, chunk: logs.Chunk, lines: int, now: int
    ) -> object:
        stored = logs.position(connection, job_id, fence)
        offset = stored.bytes if stored else 0
        moved = msgspec.structs.replace(chunk, first_offset=offset)
        return append(connection, runner_id, job_id, fence, moved, lines, now)

    return ((logs, "append", anywhere),)


def submit_key() -> Sequence[Patch]:
    """A repeated submission makes another run."""
    submit_many = submissions.submit_many

    def keyless(connection: Connection, wanted: Sequence[submissions.Submission], now: int) -> object:
        return submit_many(connection, [msgspec.structs.replace(each, key="") for each in wanted], now)

    return ((submissions, "submit_many", keyless),)


def start_key() -> Sequence[Patch]:
    """A repeated request for the grant is refused although it is the same."""
    start_many = attempts.start_many

    def renamed(connection: Connection, requests: Sequence[attempts.Start], now: int) -> object:
        changed = [msgspec.structs.replace(each, key=f"{each.key}-{now}") for each in requests]
        return start_many(connection, changed, now)

    return ((attempts, "start_many", renamed),)


def lease_renewal() -> Sequence[Patch]:
    """Heartbeats and polls renew nothing."""

    def nothing(connection: Connection, runner_id: str, named: Sequence[object], now: int) -> list[object]:
        del connection, runner_id, named, now
        return []

    return ((attempts, "renew", nothing),)


def self_fencing() -> Sequence[Patch]:
    """A runner that cannot renew goes on."""

    def nothing(beating: heartbeat.Heartbeat) -> None:
        del beating

    return ((heartbeat.Heartbeat, "fence", nothing),)


def reconciliation() -> Sequence[Patch]:
    """At a hello the server does not look at what the runner names."""
    reconcile = attempts.reconcile

    def blind(
        connection: Connection, runner_id: str, held: Sequence[HeldAttempt], now: int, *, current: bool = True
    ) -> object:
        del held
        return reconcile(connection, runner_id, [], now, current=current)

    return ((attempts, "reconcile", blind),)


def hello_sequence() -> Sequence[Patch]:
    """A hello that comes late counts like one that comes in time."""
    hello = runners.hello

    def ageless(connection: Connection, runner_id: str, request: HelloRequest, now: int) -> object:
        return hello(connection, runner_id, msgspec.structs.replace(request, sequence=0), now)

    return ((runners, "hello", ageless),)


def finish_key() -> Sequence[Patch]:
    """A repeated result is refused although it is the same."""
    finish_many = attempts.finish_many

    def renamed(connection: Connection, finishes: Sequence[attempts.Finish], now: int) -> object:
        changed = [
            msgspec.structs.replace(
                each, request=msgspec.structs.replace(each.request, key=f"{each.request.key[:50]}-{now}")
            )
            for each in finishes
        ]
        return finish_many(connection, changed, now)

    return ((attempts, "finish_many", renamed),)


def claim_again() -> Sequence[Patch]:
    """A runner that did not get the answer to its claim is not told of it again; its slot just stays taken."""
    look_at_runners = claims._look_at_runners

    def forgetful(connection: Connection, wants: Sequence[claims.Want]) -> object:
        names, held = look_at_runners(connection, wants)
        return names, dict.fromkeys(held)

    return ((claims, "_look_at_runners", forgetful),)


def guarded_state() -> Sequence[Patch]:
    """A job that has ended can still be cancelled."""
    ended = {(state, JobEvent.CANCEL): JobState.CANCELLED for state in (JobState.SUCCEEDED, JobState.FAILED)}
    careless = Machine("job", JOB_MACHINE.initial, frozenset({JobState.CANCELLED}), {**JOB_MACHINE.table, **ended})
    stopped = {(AttemptState.SUCCEEDED, AttemptEvent.STOP): AttemptState.CANCELLED}
    attempt = Machine("attempt", AttemptState.CLAIMED, frozenset[AttemptState](), {**ATTEMPT_MACHINE.table, **stopped})
    programs = ((transitions, "ATTEMPT_MACHINE", attempt), (runs, "ENDED_JOB", frozenset[JobState]()))
    return (*programs, (domain_job, "JOB_MACHINE", careless))


def forgiveness() -> Sequence[Patch]:
    """A server that was away takes its own silence for that of its runners."""

    def never(connection: Connection, name: str, now: int, gap_micros: int) -> bool:
        del connection, name, now, gap_micros
        return False

    return ((leadership, "was_away", never),)


def cancel_directive() -> Sequence[Patch]:
    """A runner is never told that its job is cancelled."""

    def nothing(life: job.JobLife, reason: str) -> None:
        del life, reason

    return ((job.JobLife, "cancel", nothing),)


SABOTAGES: dict[str, Callable[[], Sequence[Patch]]] = {
    each.__name__: each
    for each in (
        fence_check,
        start_grant,
        rule_of_the_kind,
        journal_fsync,
        result_outbox,
        log_offset,
        submit_key,
        start_key,
        lease_renewal,
        self_fencing,
        reconciliation,
        hello_sequence,
        guarded_state,
        forgiveness,
        cancel_directive,
        finish_key,
        claim_again,
    )
}
