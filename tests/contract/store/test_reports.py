"""What steps leave behind, and what the end of a workflow's job leads to, on each database."""

from collections.abc import Callable, Coroutine

from ostler.domain.run import RunState
from ostler.domain.step import StepState
from ostler.protocol.v1.runner_messages import Annotation, EventsRequest, FinishRequest, StepReport
from ostler.store import attempts, events, reports, runs, submissions, workflow_wakes
from tests.contract.store.world import World, kept

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def test_annotations_and_summaries_are_kept_once(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        remark = Annotation(level="warning", message="unused", file="src/a.py", line=3)
        begun = StepReport(sequence=1, step=0, name="lint", state=StepState.RUNNING, annotations=[remark], summary="#")
        ended = StepReport(
            sequence=2,
            step=0,
            name="lint",
            state=StepState.FAILED,
            annotations=[Annotation(level="error", message="x")],
            summary="# Lint",
        )
        for batch in ([begun], [begun, ended]):
            await world.run(events.record, claim.runner_id, EventsRequest(claim.job_id, claim.fence, batch), world.now)
        found = await world.read(reports.annotations, [claim.job_id])
        assert [each.annotation.level for each in found] == ["warning", "error"]
        assert found[0] == reports.Remark(claim.job_id, 0, remark)
        summaries = await world.read(reports.summaries, [claim.job_id])
        assert summaries == [reports.Summary(claim.job_id, 0, "# Lint")]

    in_world(scene)


def test_outputs_come_with_the_result(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit()
        claim = await world.running(await world.runner())
        request = FinishRequest(claim.job_id, claim.fence, "finish-key", "succeeded", 0, 0, outputs={"tag": "v1"})
        kept(await world.run(attempts.finish, claim.runner_id, request, world.now))
        assert await world.read(reports.outputs, [claim.job_id, "job_other"]) == {claim.job_id: {"tag": "v1"}}

    in_world(scene)


def test_the_end_of_a_workflows_job_wakes_its_run_and_does_not_end_it(in_world: Play) -> None:
    async def scene(world: World) -> None:
        lone = await world.submit()
        await world.finish(await world.running(await world.runner()))
        assert await world.run(workflow_wakes.take, world.now) == []
        prepared = world.prepared("of a workflow")
        kept(await world.run(submissions.enlist, lone.run_id, [prepared], world.now))
        claim = await world.running(await world.runner("beta"))
        assert (claim.job_id, claim.run_id) == (prepared.job_id, lone.run_id)
        await world.finish(claim)
        woken = await world.run(workflow_wakes.take, world.now)
        assert woken == [workflow_wakes.Woken(lone.run_id, (claim.job_id,), 1, world.now + 60_000_000)]
        assert await world.run(workflow_wakes.take, world.now) == []
        world.wait(61)
        (again,) = await world.run(workflow_wakes.take, world.now)
        assert again.tries == 2
        await world.run(workflow_wakes.wake, [(lone.run_id, claim.job_id)], world.now)
        await world.run(workflow_wakes.done, again)
        (anew,) = await world.run(workflow_wakes.take, world.now)
        await world.run(workflow_wakes.done, anew)
        world.wait(61)
        assert await world.run(workflow_wakes.take, world.now) == []
        assert kept(await world.read(runs.get, lone.run_id)).state is RunState.SUCCEEDED

    in_world(scene)
