"""Submitting: all or none, the same key once, to the right pool, with secrets that nobody can read."""

from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from ostler.domain.job import JobKind
from ostler.domain.run import RunState
from ostler.protocol.v1.fleet_messages import CreatePoolRequest, UpdatePoolRequest
from ostler.protocol.v1.run_messages import QueueQuery, RunsQuery, SubmitRequest
from ostler.store import demands, jobs, logs, pools, queue, runs, submissions
from tests.contract.store.world import World, code_of, kept, spec, there

Play = Callable[[Callable[[World], Coroutine[None, None, None]]], None]


def test_a_repeated_key_gives_the_same_run_and_a_changed_request_is_refused(in_world: Play) -> None:
    async def scene(world: World) -> None:
        first = kept(await world.run(submissions.submit, world.prepared(key="k"), world.now))
        again = kept(await world.run(submissions.submit, world.prepared(key="k"), world.now))
        assert (again.run_id, again.job_id, again.repeated) == (first.run_id, first.job_id, True)
        other = await world.run(submissions.submit, world.prepared("other", key="k"), world.now)
        assert code_of(other) == "idempotency_mismatch"
        twice = (world.prepared(key="n"), world.prepared(key="n"))
        both = kept(await world.run(submissions.submit_many, twice, world.now))
        assert both[0].run_id == both[1].run_id
        assert len((await world.read(runs.list_page, RunsQuery())).runs) == 2
        assert await world.run(submissions.forget_keys, world.now + 1) == 2

    in_world(scene)


def test_many_runs_are_all_or_none(in_world: Play) -> None:
    async def scene(world: World) -> None:
        many = [world.prepared(f"job-{number}") for number in range(20)]
        refused = await world.run(submissions.submit_many, [*many, world.prepared(pool="nowhere")], world.now)
        assert code_of(refused) == "not_found"
        assert await world.read(queue.depth, pools.HOSTED_ID) == 0
        assert len(kept(await world.run(submissions.submit_many, many, world.now))) == 20
        assert await world.read(queue.depth, pools.HOSTED_ID) == 20
        assert len(await world.read(demands.all_classes)) == 1

    in_world(scene)


def test_the_pool_is_named_or_the_default_or_hosted(in_world: Play) -> None:
    async def scene(world: World) -> None:
        async def level(pool: str = "") -> tuple[str, str]:
            submitted = kept(await world.run(submissions.submit, world.prepared(pool=pool), world.now))
            job = kept(await world.read(jobs.get, submitted.job_id))
            return job.pool_name, job.pool_level

        kept(await world.run(pools.create, "pool_big", CreatePoolRequest("big"), world.now))
        assert await level() == await level("default") == ("hosted", "hosted")
        assert await level("big") == await level("pool_big") == ("big", "job")
        kept(await world.run(pools.update, "big", UpdatePoolRequest(default=True)))
        assert await level() == await level("default") == ("big", "organization")
        kept(await world.run(pools.update, "hosted", UpdatePoolRequest(default=True)))
        assert await level() == ("hosted", "hosted")
        kept(await world.run(pools.create, "pool_named_so", CreatePoolRequest("default"), world.now))
        assert await level("default") == ("default", "job")

    in_world(scene)


def _found_in_files(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.iterdir())


def test_a_secret_is_nowhere_in_the_clear_and_is_erased_at_the_end(in_world: Play, tmp_path: Path) -> None:
    async def scene(world: World) -> None:
        submitted = await world.submit(job=spec(TOKEN="hunter2-canary"))
        job = kept(await world.read(jobs.get, submitted.job_id))
        assert job.secret_names == ["TOKEN"]
        runner = await world.runner()
        claim = await world.running(runner)
        assert b"hunter2-canary" not in there(claim.sealed)
        assert not _found_in_files(tmp_path, b"hunter2-canary")
        await world.finish(claim)
        assert kept(await world.read(jobs.get, submitted.job_id)).secret_names == ["TOKEN"]
        stored = await world.read(lambda connection: connection.exec_driver_sql("SELECT sealed FROM job_specs").all())
        assert [row[0] for row in stored] == [None]

    in_world(scene)


def test_runs_are_listed_by_page_state_pool_and_name(in_world: Play) -> None:
    async def scene(world: World) -> None:
        for number in range(5):
            await world.submit(f"Build_{number}")
        first = await world.read(runs.list_page, RunsQuery(limit=3))
        second = await world.read(runs.list_page, RunsQuery(limit=3, cursor=first.next_cursor))
        assert [run.name for run in (*first.runs, *second.runs)] == [f"Build_{number}" for number in range(4, -1, -1)]
        assert second.next_cursor == ""
        claim = await world.running(await world.runner())
        running = await world.read(runs.list_page, RunsQuery(state="running"))
        assert [(run.id, run.runner_name, run.state) for run in running.runs] == [
            (claim.run_id, "alpha", RunState.RUNNING)
        ]
        assert len((await world.read(runs.list_page, RunsQuery(search="build_"))).runs) == 5
        assert (await world.read(runs.list_page, RunsQuery(search="build%"))).runs == []
        assert len((await world.read(runs.list_page, RunsQuery(pool="hosted"))).runs) == 5
        assert (await world.read(runs.list_page, RunsQuery(pool="nowhere"))).runs == []
        assert len((await world.read(runs.list_page, RunsQuery(state="queued"))).runs) == 4
        shown = kept(await world.read(runs.get, claim.run_id))
        assert (shown.state, shown.started_at) == (RunState.RUNNING, shown.jobs[0].started_at)
        kept(await world.run(runs.cancel, claim.run_id, "", world.now))
        assert (await world.read(runs.list_page, RunsQuery(state="running"))).runs == []
        stopping = (await world.read(runs.list_page, RunsQuery(state="cancelling"))).runs
        assert [(run.id, run.state) for run in stopping] == [(claim.run_id, RunState.CANCELLING)]
        kept(await world.finish(claim, conclusion="cancelled"))
        ended = (await world.read(runs.list_page, RunsQuery(state="cancelled"))).runs
        assert [(run.id, run.started_at is not None) for run in ended] == [(claim.run_id, True)]
        assert code_of(await world.read(runs.get, "run_unknown")) == "not_found"
        assert code_of(await world.read(jobs.get, "job_unknown")) == "not_found"

    in_world(scene)


def test_the_queue_is_shown_in_the_order_of_service_with_reasons(in_world: Play) -> None:
    async def scene(world: World) -> None:
        for name, priority in (("a", 0), ("b", 3), ("c", 0)):
            await world.submit(name, priority=priority)
        special = await world.submit("d", labels=["arm65"])
        page = kept(await world.read(queue.list_page, QueueQuery(limit=3)))
        assert [entry.name for entry in page.entries] == ["b", "a", "c"]
        assert [entry.reason.position for entry in page.entries] == [1, 2, 3]
        assert (page.depth, page.entries[0].reason.code) == (4, "no_runner")
        rest = kept(await world.read(queue.list_page, QueueQuery(limit=3, cursor=page.next_cursor)))
        assert [entry.name for entry in rest.entries] == ["d"]
        assert await world.run(queue.move_to_front, special.job_id) is None
        page = kept(await world.read(queue.list_page, QueueQuery()))
        assert [entry.name for entry in page.entries] == ["d", "b", "a", "c"]
        assert code_of(await world.run(queue.move_to_front, "job_unknown")) == "not_found"
        assert code_of(await world.read(queue.list_page, QueueQuery(cursor="nonsense"))) == "query_malformed"
        assert code_of(await world.read(queue.list_page, QueueQuery(pool="nowhere"))) == "not_found"
        reason = there(await world.read(queue.explain, special.job_id))
        assert "never had a runner" in reason.sentence

    in_world(scene)


def test_many_runs_are_shown_as_each_alone_would_be(in_world: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        many = [(await world.submit(name, priority=at)).run_id for at, name in enumerate("abcde")]
        many += [(await world.submit(name, labels=["arm65"])).run_id for name in "fg"]
        await world.claimed(await world.runner())
        shown = await world.read(runs.get_many, ["run_unknown", *many, many[0]])
        assert code_of(shown[0]) == "not_found"
        assert shown[1:] == [await world.read(runs.get, run_id) for run_id in [*many, many[0]]]
        reasons = [kept(each).jobs[0].waiting for each in shown[1:8]]
        assert [reason and reason.position for reason in reasons] == [None, None, 2, 1, None, 1, 2]
        assert reasons[4] is None
        assert "arm65" in there(reasons[5]).sentence

    monkeypatch.setattr(queue, "COUNTED_AHEAD", 1)
    in_world(scene)


def test_heads_are_the_fronts_of_classes(in_world: Play) -> None:
    async def scene(world: World) -> None:
        await world.submit(priority=2)
        await world.submit(kind=JobKind.INSIGHTS_SCAN)
        classes = await world.classes()
        heads = await world.read(demands.heads, [*classes, "dem_unknown"])
        assert sorted(head.urgency for head in heads.values()) == [-2, 0]
        assert await world.run(demands.forget_unused, world.now + 1) == 0

    in_world(scene)


def test_ended_runs_are_forgotten_with_all_their_rows_once_their_logs_are(in_world: Play) -> None:
    async def scene(world: World) -> None:
        runner = await world.runner()
        submitted = await world.submit()
        waiting = await world.submit()
        claim = await world.running(runner)
        kept(await world.finish(claim))
        segment = logs.Segment(first_offset=0, length=0, first_line=1, newlines=0, blob_key="k", stored_bytes=0)
        assert await world.run(logs.seal, claim.job_id, claim.fence, segment, world.now)
        assert await world.run(runs.forget_ended, world.now) == 0, "it has only just ended"
        world.wait(10)
        assert await world.run(runs.forget_ended, world.now) == 0, "its log is still there"
        await world.run(logs.forget, await world.read(logs.expired, world.now))
        assert await world.run(runs.forget_ended, world.now) == 1
        assert code_of(await world.read(runs.get, submitted.run_id)) == "not_found"
        assert code_of(await world.read(jobs.get, submitted.job_id)) == "not_found"
        assert kept(await world.read(runs.get, waiting.run_id)).state.value == "queued"

    in_world(scene)


def test_a_secret_that_cannot_be_masked_is_refused_and_an_empty_one_is_none(in_world: Play) -> None:
    async def scene(world: World) -> None:
        def submitted(value: str) -> object:
            request = SubmitRequest(spec=spec(TOKEN=value))
            return submissions.prepare(request, world.ids, world.sealer)

        assert code_of(submitted("abc")) == "value_refused"
        assert code_of(submitted("x" * 70_000)) == "value_refused"
        for accepted in ("abcd", ""):
            assert isinstance(submitted(accepted), submissions.Submission)

    in_world(scene)
