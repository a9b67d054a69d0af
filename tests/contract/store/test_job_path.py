"""A job's way from submission to its end, and every repetition and lateness on it."""

from collections.abc import Callable, Coroutine

from ostler.domain.job import JobKind, JobState, Slot
from ostler.store import attempts, claims, submissions
from tests.contract.store.world import World, code_of, kept, spec, there

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def test_a_job_is_claimed_started_and_finished(in_world: Play) -> None:
    async def scene(world: World) -> None:
        run = await world.submit(job=spec(TOKEN="hunter2"))
        runner = await world.runner()
        claim = await world.claimed(runner)
        assert (claim.job_id, claim.run_id, claim.fence) == (run.job_id, run.run_id, 1)
        assert "hunter2" not in claim.spec
        opened = submissions.opened(claim.job_id, claim.spec, claim.sealed, world.sealer)
        assert opened == spec(TOKEN="hunter2")
        assert kept(await world.start(claim)) == attempts.Started(run_id=run.run_id)
        assert await world.finish(claim) == attempts.Finished(JobState.SUCCEEDED, run.run_id)
        assert await world.claim(runner) is None

    in_world(scene)


def test_repetitions_are_answered_like_the_first_time(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        runner = await world.runner()
        claim = await world.claimed(runner)
        again = await world.claimed(runner)
        assert again.repeated
        assert (again.job_id, again.fence, again.spec) == (claim.job_id, claim.fence, claim.spec)
        kept(await world.start(claim))
        kept(await world.start(claim))
        assert code_of(await world.start(claim, key="another-key")) == "job_started"
        first = await world.finish(claim)
        assert await world.finish(claim) == attempts.Finished(JobState.SUCCEEDED, claim.run_id, repeated=True)
        assert isinstance(first, attempts.Finished)
        assert code_of(await world.finish(claim, key="another-key")) == "job_ended"
        assert code_of(await world.start(claim)) == "job_ended"

    in_world(scene)


def test_a_result_needs_a_grant(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.claimed(await world.runner())
        assert code_of(await world.finish(claim)) == "job_not_granted"
        assert await world.finish(claim, conclusion="failed") == attempts.Finished(JobState.FAILED, claim.run_id)

    in_world(scene)


def test_a_result_waits_for_its_log(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        assert await world.finish(claim, log_bytes=10) == attempts.LogIncomplete(0)
        assert isinstance(await world.finish(claim), attempts.Finished)

    in_world(scene)


def test_a_released_job_goes_to_another_runner_under_a_new_fence(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        first, second = await world.runner("alpha"), await world.runner("beta")
        claim = await world.claimed(first)
        assert await world.run(attempts.release, first, claim.job_id, claim.fence, world.now) is None
        assert await world.run(attempts.release, first, claim.job_id, claim.fence, world.now) is None
        newer = await world.running(second)
        assert newer.fence == 2
        assert code_of(await world.start(claim)) == "stale_fence"
        assert code_of(await world.finish(claim)) == "stale_fence"
        refused = await world.run(attempts.release, second, newer.job_id, newer.fence, world.now)
        assert code_of(refused) == "job_started"

    in_world(scene)


def test_the_order_is_priority_then_age(in_world: Play) -> None:
    async def scene(world: World) -> None:
        names: list[tuple[str, int, list[str]]] = [
            ("old", 0, ["x"]),
            ("young", 0, []),
            ("urgent", 5, ["x"]),
            ("idle", -5, []),
        ]
        for name, priority, labels in names:
            await world.submit(name, priority=priority, labels=labels)
        runners = [await world.runner(f"runner-{number}") for number in range(5)]
        wants = [
            claims.Want(runner_id=runner, slot=Slot.PRIMARY, key="claim-key", demand_ids=await world.classes())
            for runner in runners
        ]
        served = await world.run(claims.claim_batch, wants, world.now)
        specs = [submissions.opened(each.job_id, each.spec, None, world.sealer).name for each in served if each]
        assert specs == ["urgent", "old", "young", "idle"]
        assert served[4] is None

    in_world(scene)


def test_each_slot_holds_one_attempt(in_world: Play) -> None:
    async def scene(world: World) -> None:
        for kind in (JobKind.CI, JobKind.CI, JobKind.INSIGHTS_SCAN):
            await world.submit(kind=kind)
        runner = await world.runner()
        await world.running(runner)
        assert await world.claim(runner, key="next-key") is None
        want = claims.Want(runner_id=runner, slot=Slot.AUXILIARY, key="k", demand_ids=(await world.classes())[-1:])
        scan = there((await world.run(claims.claim_batch, (want, want), world.now))[0])
        assert scan.kind is JobKind.INSIGHTS_SCAN

    in_world(scene)
