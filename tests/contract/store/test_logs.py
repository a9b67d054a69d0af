"""Logs grow byte-exact, whatever arrives twice, late or not at all."""

from collections.abc import Callable, Coroutine

from ostler.domain.job import Effect
from ostler.domain.step import StepState
from ostler.protocol.v1.runner_messages import EventsRequest, StepReport
from ostler.store import attempts, events, logs, outbox, runs
from ostler.store.claims import Claimed
from ostler.store.logs import Appended, Chunk, OffsetExpected, Segment
from ostler.store.transitions import SMALL_LOG_BYTES
from tests.contract.store.world import SECOND, World, code_of, kept, there

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def chunk(offset: int, length: int, *, first_line: int = 1, newlines: int = 1) -> Chunk:
    return Chunk(first_offset=offset, length=length, first_line=first_line, newlines=newlines, frames=b"f" * 7)


async def append(world: World, claim: Claimed, given: Chunk, *, runner: str = "") -> object:
    lines = given.first_line + given.newlines - 1
    return await world.run(logs.append, runner or claim.runner_id, claim.job_id, claim.fence, given, lines, world.now)


def test_only_what_continues_the_log_is_added(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        assert await append(world, claim, chunk(0, 10)) == Appended(10)
        assert await append(world, claim, chunk(0, 10)) == Appended(10, repeated=True)
        assert await append(world, claim, chunk(20, 5)) == OffsetExpected(10)
        assert await append(world, claim, chunk(5, 10)) == OffsetExpected(10)
        assert await append(world, claim, chunk(10, 5, first_line=2)) == Appended(15)
        assert await world.read(logs.position, claim.job_id) == logs.Position(1, 15, 2, 0, False)
        tail = await world.read(logs.chunks_from, claim.job_id, claim.fence, 12)
        assert tail == [chunk(10, 5, first_line=2)]
        assert await world.read(logs.chunks_of_lines, claim.job_id, claim.fence, 1, 1) == [chunk(0, 10)]
        stranger = await world.runner("beta")
        assert code_of(await append(world, claim, chunk(15, 5), runner=stranger)) == "stale_fence"
        assert isinstance(await world.finish(claim, log_bytes=15), attempts.Finished)
        assert await append(world, claim, chunk(10, 5)) == Appended(15, repeated=True)
        assert code_of(await append(world, claim, chunk(15, 5))) == "job_ended"

    in_world(scene)


def test_cancelling_is_echoed(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        kept(await world.run(runs.cancel, claim.run_id, "enough", world.now))
        appended = await append(world, claim, chunk(0, 10))
        assert isinstance(appended, Appended)
        assert there(appended.directive).action == "cancel"

    in_world(scene)


def test_a_log_that_ended_is_sealed_once(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        await append(world, claim, chunk(0, 5000))
        await append(world, claim, chunk(5000, 10, first_line=2))
        await world.finish(claim, log_bytes=5010)
        entry = (await world.run(outbox.take, world.now))[0]
        assert (entry.effect, entry.job_id, entry.fence) == (Effect.SEAL_LOG, claim.job_id, claim.fence)
        assert await world.run(outbox.take, world.now) == []
        world.wait(61)
        assert (await world.run(outbox.take, world.now))[0].tries == 2
        sealed = Segment(first_offset=0, length=5010, first_line=1, newlines=2, blob_key="b", stored_bytes=9)
        assert await world.run(logs.seal, claim.job_id, claim.fence, sealed, world.now)
        assert not await world.run(logs.seal, claim.job_id, claim.fence, sealed, world.now)
        await world.run(outbox.done, [entry.id])
        assert await world.read(outbox.pending) == 0
        assert await world.read(logs.chunks_from, claim.job_id, claim.fence, 0) == []
        assert await world.read(logs.segments_from, claim.job_id, claim.fence) == [sealed]
        assert await world.read(logs.segments_of_lines, claim.job_id, claim.fence, 2, 2) == [sealed]
        assert await world.read(logs.position, claim.job_id) == logs.Position(1, 5010, 2, 5010, True)
        assert await world.read(logs.expired, world.now) == []
        expired = await world.read(logs.expired, world.now + SECOND)
        assert [each.blob_key for each in expired] == ["b"]
        await world.run(logs.forget, expired)
        assert await world.read(logs.segments_from, claim.job_id, claim.fence) == []

    in_world(scene)


def test_a_short_log_stays_in_its_rows(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        await append(world, claim, chunk(0, SMALL_LOG_BYTES))
        await world.finish(claim, log_bytes=SMALL_LOG_BYTES)
        assert await world.read(outbox.pending) == 0
        assert await world.read(logs.position, claim.job_id) == logs.Position(1, SMALL_LOG_BYTES, 1, 0, True)
        assert len(await world.read(logs.chunks_from, claim.job_id, claim.fence, 0)) == 1

    in_world(scene)


def test_a_long_tail_is_sealed_while_its_attempt_goes_on(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        half = logs.SEGMENT_BYTES // 2
        await append(world, claim, chunk(0, half))
        assert await world.run(outbox.take, world.now) == []
        await append(world, claim, chunk(half, half))
        assert len(await world.run(outbox.take, world.now)) == 1

    in_world(scene)


def test_step_reports_are_stored_once_and_in_order(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())

        async def report(*reports: StepReport, runner: str = claim.runner_id) -> object:
            request = EventsRequest(claim.job_id, claim.fence, list(reports))
            return await world.run(events.record, runner, request, world.now)

        begun = StepReport(sequence=1, step=0, name="say", state=StepState.RUNNING, age_ms=50, first_line=1)
        ended = StepReport(
            sequence=2, step=0, name="say", state=StepState.SUCCEEDED, duration_ms=40, exit_code=0, last_line=3
        )
        late = StepReport(sequence=4, step=1, name="more", state=StepState.RUNNING)
        assert await report(begun) == events.Recorded(1)
        assert await report(begun, ended, late) == events.Recorded(2)
        assert await report(begun) == events.Recorded(2)
        steps = await world.read(events.steps, claim.job_id, claim.fence)
        assert [(each.state, each.exit_code, each.first_line, each.last_line) for each in steps] == [
            (StepState.SUCCEEDED, 0, 1, 3)
        ]
        assert steps[0].started_at == world.now - 50_000
        assert code_of(await report(late, runner="rnr_other")) == "stale_fence"
        await world.finish(claim)
        assert await report(ended) == events.Recorded(2)
        assert code_of(await report(late)) == "job_ended"

    in_world(scene)
