"""Runs of workflows on each database: what starts when, who waits for whom, and that nothing is done twice."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ostler.store import workflow_wakes
from tests.contract.server.installation import SECOND, Installation
from tests.contract.server.repository import connected, end_job

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]

_FAN = """
on: workflow_dispatch
jobs:
  first: {runs-on: linux, outputs: {tag: "${{ steps.a.outputs.tag }}"}, steps: [{id: a, run: a}]}
  cells:
    runs-on: linux
    needs: first
    strategy: {matrix: {n: [1, 2]}}
    steps: [{run: b}]
  last: {runs-on: linux, needs: [cells], steps: [{run: c}]}
"""
_CLEANS = """
on: workflow_dispatch
jobs:
  long: {runs-on: linux, steps: [{run: a}]}
  next: {runs-on: linux, needs: long, steps: [{run: b}]}
  clean: {runs-on: linux, needs: long, if: always(), steps: [{run: c}]}
"""
_ONE_AT_A_TIME = """
on: workflow_dispatch
concurrency: {group: deploy}
jobs:
  only: {runs-on: linux, steps: [{run: a}]}
"""
_NEWEST = _ONE_AT_A_TIME.replace("{group: deploy}", "{group: deploy, cancel-in-progress: true}")


def test_jobs_start_when_what_they_need_has_ended(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit(_FAN)
        run_id = await shop.dispatch()
        await shop.settle()
        assert await shop.state(run_id) == "queued"
        claim = await runner.work()
        assert await shop.state(run_id) == "running"
        await runner.finish(claim, outputs={"tag": "v7"})
        await shop.settle()
        cell = await runner.work()
        assert cell["spec"]["program"]["needs"]["first"]["outputs"] == {"tag": "v7"}
        await runner.finish(cell)
        await shop.settle()
        assert (await shop.conclusions(run_id))["last"] == "waiting"
        assert await end_job(runner) == "cells (2)"
        await shop.settle()
        assert await end_job(runner) == "last"
        await shop.settle()
        assert await shop.state(run_id) == "succeeded"
        assert set((await shop.conclusions(run_id)).values()) == {"success"}

    served(scene)


def test_a_cancelled_run_cleans_up(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit(_CLEANS)
        run_id = await shop.dispatch()
        await shop.settle()
        claim = await runner.work()
        await shop.person.post(f"/api/v1/runs/{run_id}/cancel", {"reason": "enough"})
        await shop.settle()
        assert await shop.state(run_id) == "cancelling"
        assert (await runner.poll(leases=[{"job_id": claim["job_id"], "fence": 1}])).json()["directives"]
        await runner.finish(claim, conclusion="cancelled")
        await shop.settle()
        assert await end_job(runner) == "clean"
        await shop.settle()
        assert await shop.conclusions(run_id) == {"long": "cancelled", "next": "skipped", "clean": "success"}
        assert await shop.state(run_id) == "cancelled"

    served(scene)


def test_a_run_that_nobody_began_is_cancelled_at_once(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        shop.commit(_FAN)
        run_id = await shop.dispatch()
        await shop.settle()
        await shop.person.post(f"/api/v1/runs/{run_id}/cancel", {})
        await shop.settle()
        assert await shop.state(run_id) == "cancelled"

    served(scene)


def test_of_one_concurrency_group_one_runs_and_one_waits(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit(_ONE_AT_A_TIME)
        runs: list[str] = []
        for _ in range(3):
            runs.append(await shop.dispatch())
            await shop.settle()
        assert [(await shop.run(run))["phase"] for run in runs] == ["running", "ended", "pending"]
        assert await shop.state(runs[1]) == "cancelled"
        await end_job(runner)
        await shop.settle()
        assert [(await shop.run(run))["phase"] for run in runs] == ["ended", "ended", "running"]
        await end_job(runner)
        await shop.settle()
        assert [await shop.state(run) for run in runs] == ["succeeded", "cancelled", "succeeded"]

    served(scene)


def test_a_newer_run_cancels_the_one_in_its_group(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit(_NEWEST)
        old = await shop.dispatch()
        await shop.settle()
        claim = await runner.work()
        new = await shop.dispatch()
        await shop.settle()
        assert [await shop.state(run) for run in (old, new)] == ["running", "queued"]
        await runner.finish(claim, conclusion="cancelled")
        await shop.settle()
        assert await end_job(runner) == "only"
        await shop.settle()
        assert [await shop.state(run) for run in (old, new)] == ["cancelled", "succeeded"]

    served(scene)


def test_two_replicas_that_look_at_once_start_nothing_twice(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit(_FAN)
        run_id = await shop.dispatch()
        replicas = [installation.control, installation.replica(), installation.replica()]
        for _ in range(4):
            now = installation.clock.now()
            await installation.database.run(workflow_wakes.wake, [(run_id, "group"), (run_id, "begin")], now)
            await asyncio.gather(*(replica.workflows.driver.round() for replica in replicas))
        await end_job(runner, outputs={"tag": "v1"})
        for reason in ("one", "two", "three"):
            await installation.database.run(workflow_wakes.wake, [(run_id, reason)], installation.clock.now())
            await asyncio.gather(*(replica.workflows.driver.round() for replica in replicas))
        jobs = (await shop.person.get(f"/api/v1/runs/{run_id}")).json()["jobs"]
        assert [job["name"] for job in jobs] == ["first", "cells (1)", "cells (2)"]

    served(scene)


def test_who_dies_after_taking_a_reason_is_followed_by_another(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        shop.commit(_FAN)
        installation.control.drain()
        await installation.control._loops.close()
        run_id = await shop.dispatch()
        assert await installation.database.run(workflow_wakes.take, installation.clock.now())
        await shop.settle()
        assert await shop.conclusions(run_id) == {}
        installation.clock.micros += 61 * SECOND
        await shop.settle()
        assert (await shop.conclusions(run_id))["first"] == "queued"

    served_inline(scene)


def test_a_job_that_no_pool_takes_fails_and_says_why(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        shop.commit("on: workflow_dispatch\njobs: {a: {runs-on: {group: nowhere}, steps: [{run: a}]}}\n")
        run_id = await shop.dispatch()
        await shop.settle()
        (node,) = (await shop.run(run_id))["nodes"]
        assert (node["conclusion"], "nowhere" in node["note"]) == ("failure", True)
        assert await shop.state(run_id) == "failed"

    served(scene)


def test_inputs_are_checked_before_anything_runs(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        shop.commit(_FAN.replace("on: workflow_dispatch", "on: {workflow_dispatch: {inputs: {n: {type: number}}}}"))
        path = "/api/v1/repositories/shop/workflows/ci.yml/dispatches"
        for inputs in ({"n": "many"}, {"other": "1"}):
            reply = await shop.person.post(path, {"inputs": inputs})
            assert (reply.status, reply.code) == (422, "value_refused")
        run_id = await shop.dispatch(inputs={"n": "3"})
        assert await shop.state(run_id) == "queued"
        installation.sources.away = True
        reply = await shop.person.post(path, {})
        assert (reply.status, reply.code) == (422, "repository_unreadable")

    served_inline(scene)
