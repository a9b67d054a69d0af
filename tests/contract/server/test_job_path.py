"""One job from its submission to its log, and what happens to polls on the way."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.contract.server.installation import Installation, Runner, frames_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]


def test_a_job_travels_from_submission_to_its_log(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        run = await person.submit()
        claim = await runner.work()
        assert claim["run_id"] == run["id"]
        frames = frames_of(b"hello\n", b"world\n")
        reply = await runner.log(claim, 0, frames)
        assert reply.json() == {"length": 12}
        assert (await runner.finish(claim, 12, 2)).json() == {"state": "succeeded"}
        shown = (await person.get(f"/api/v1/jobs/{claim['job_id']}/log")).json()
        assert [line[0] for line in shown["lines"]] == ["hello", "world"]
        assert (shown["total_lines"], shown["bytes"], shown["complete"]) == (2, 12, True)
        assert (await person.get(f"/api/v1/runs/{run['id']}")).json()["state"] == "succeeded"

    served(scene)


def test_a_held_poll_is_answered_when_work_comes(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        poll = await _held(runner)
        run = await person.submit()
        assert (await poll).json()["claims"][0]["run_id"] == run["id"]

    served(scene)


def test_a_job_is_not_given_to_a_runner_whose_connection_is_gone(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, gone, there = await installation.user(), await installation.runner("gone"), await installation.runner()
        poll = await _held(gone)
        assert installation.client.latest is not None
        installation.client.latest.gone.set()
        assert (await poll).json() == {}
        run = await person.submit()
        claims = (await there.poll(5_000)).json()["claims"]
        assert [claim["run_id"] for claim in claims] == [run["id"]]

    served(scene)


def test_a_result_carries_the_next_poll(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        runs = [(await person.submit())["id"] for _ in range(3)]
        claim = await runner.work()
        for run_id in runs[1:]:
            following = {"key": f"poll-{run_id}", "slots": ["primary"], "leases": []}
            reply = (await runner.finish(claim, next=following)).json()
            claim = reply["next"]["claims"][0]
            assert claim["run_id"] == run_id
            assert (await runner.start(claim)).status == 200
        assert (await runner.finish(claim, next={"key": "poll-last", "slots": ["primary"]})).json()["next"] == {}

    served(scene)


def test_a_refused_result_keeps_its_slot(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        await person.submit()
        await person.submit()
        claim = await runner.work()
        following = {"key": "poll-next", "slots": ["primary"]}
        refused = await runner.finish(claim, 100, 1, next=following)
        assert (refused.status, refused.code, refused.json()["expected"]) == (409, "log_incomplete", 0)
        assert (await runner.finish(claim, next=following)).json()["next"]["claims"]

    served(scene)


def test_a_second_poll_takes_the_place_of_the_first(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        first = await _held(runner)
        second = await _held(runner)
        assert (await first).json() == {}
        await person.submit()
        assert (await second).json()["claims"]

    served(scene)


def test_a_lost_reply_loses_no_job(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        await person.submit()
        lost = (await runner.poll()).json()["claims"]
        again = (await runner.poll()).json()["claims"]
        assert [claim["job_id"] for claim in lost] == [claim["job_id"] for claim in again]

    served(scene)


def test_a_cancelled_job_is_told_to_the_open_poll(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        run = await person.submit()
        claim = await runner.work()
        leases = [{"job_id": claim["job_id"], "fence": claim["fence"]}]
        poll = await _held(runner, slots=(), leases=leases)
        assert (await person.post(f"/api/v1/runs/{run['id']}/cancel", {"reason": "enough"})).status == 200
        directive = (await poll).json()["directives"][0]
        assert (directive["action"], directive["reason"]) == ("cancel", "enough")

    served(scene)


def test_a_runner_that_is_resumed_takes_work_with_the_poll_it_has_open(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        decide = f"/api/v1/runners/{runner.runner_id}/admission"
        assert (await person.post(decide, {"decision": "pause", "for_ms": 20_000})).status == 200
        await person.submit()
        poll = await _held(runner)
        await installation.sweep(10)
        assert not poll.done()
        await installation.sweep(20)
        assert (await poll).json()["claims"]

    served(scene)


def test_a_new_kind_of_demand_finds_the_polls_that_are_open(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        runner = await installation.runner(labels=["gpu"])
        poll = await _held(runner)
        await person.submit(spec={"name": "x", "steps": [{"name": "y", "argv": ["true"]}]}, labels=["gpu"])
        assert (await poll).json()["claims"]

    served(scene)


def test_many_open_polls_get_many_jobs(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        runners = [await installation.runner(f"runner-{number}") for number in range(20)]
        polls = [await _held(runner) for runner in runners]
        spec = {"name": "x", "steps": [{"name": "y", "argv": ["true"]}]}
        reply = await person.post("/api/v1/runs/batch", {"runs": [{"spec": spec}] * 20})
        run_ids = reply.json()["run_ids"]
        claimed = [(await poll).json()["claims"][0]["run_id"] for poll in polls]
        assert sorted(claimed) == sorted(run_ids)

    served(scene)


def test_draining_answers_every_poll(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        poll = await _held(runner)
        installation.control.drain()
        assert (await poll).json() == {"retry_after_ms": 500}
        assert (await runner.poll(30_000)).json() == {"retry_after_ms": 500}
        ready = await installation.client.request("GET", "/readyz")
        assert (ready.status, "draining" in ready.json()["checks"]) == (503, True)

    served_inline(scene)


async def _held(runner: Runner, slots: tuple[str, ...] = ("primary",), **more: object) -> "asyncio.Task[Any]":
    """Open a poll and return once it is held."""
    gauge = runner.installation.control.metrics.held_polls
    held: list[float] = []
    noted = asyncio.Event()
    original = gauge.set

    def note(value: float) -> None:
        held.append(value)
        noted.set()
        original(value)

    gauge.set = note
    try:
        task = asyncio.create_task(runner.poll(60_000, slots, **more))
        await noted.wait()
    finally:
        gauge.set = original
    return task
