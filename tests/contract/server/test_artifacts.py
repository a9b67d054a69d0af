"""Artifacts from the job that makes one to the job and the person that read it."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.domain.storage import DAY_MICROS, StorageRules
from tests.contract.server.installation import Installation
from tests.contract.server.storing import digest, forget_repository, job_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]
CONTENT = bytes(range(256)) * 4


def test_an_artifact_travels_from_one_job_to_another_and_to_people(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        maker = await job_of(installation, runner, repository="shop")
        view = await maker.keep("report", CONTENT)
        assert (view["name"], view["size"], view["digest"]) == ("report", 1024, digest(CONTENT))
        assert view["expires_at"] - view["created_at"] == 90 * DAY_MICROS
        await maker.end()
        reader = await job_of(installation, runner, repository="shop", first=maker)
        assert await reader.listed() == {"report": view["id"]}
        reply = await reader.read(view["id"])
        assert (reply.status, reply.body) == (200, CONTENT)
        assert reply.headers["content-length"] == "1024"
        assert reply.headers["etag"] == f'"{digest(CONTENT)}"'
        person = await installation.user()
        listed = (await person.get(f"/api/v1/runs/{maker.run_id}/artifacts")).json()["artifacts"]
        assert listed == [view] == [(await person.get(f"/api/v1/artifacts/{view['id']}")).json()]
        got = await person.get(f"/api/v1/artifacts/{view['id']}/content")
        assert got.body == CONTENT
        assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''report.zip"

    served(scene)


def test_a_job_of_no_workflow_has_artifacts_too(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        view = await job.keep("report", CONTENT)
        person = await installation.user()
        listed = (await person.get(f"/api/v1/runs/{job.run_id}/artifacts?name=report")).json()["artifacts"]
        assert [each["id"] for each in listed] == [view["id"]]

    served(scene)


def test_parts_come_in_any_order_and_again(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        for start, stop in ((512, 1024), (0, 100), (100, 512), (100, 512)):
            reply = await job.put(artifact_id, CONTENT[start : start + 9], CONTENT[start + 9 : stop], offset=start)
            assert reply.json() == {"offset": start, "size": stop - start, "digest": digest(CONTENT[start:stop])}
        assert (await job.finish(artifact_id, CONTENT)).status == 200
        assert (await job.read(artifact_id)).body == CONTENT
        assert len(await installation.blob_keys("artifacts")) == 1

    served(scene)


def test_what_is_not_whole_or_not_what_was_announced_is_not_finished(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        await job.put(artifact_id, CONTENT[:100])
        await job.put(artifact_id, CONTENT[200:], offset=200)
        gap = await job.finish(artifact_id, CONTENT)
        assert (gap.status, gap.code, gap.json()["expected"]) == (409, "upload_incomplete", 100)
        await job.put(artifact_id, CONTENT[100:200][::-1], offset=100)
        other = await job.finish(artifact_id, CONTENT)
        assert (other.status, other.code) == (422, "digest_mismatch")
        short = await job.finish(artifact_id, CONTENT[:-1])
        assert (short.status, short.code) == (422, "digest_mismatch")
        long = await job.finish(artifact_id, CONTENT + b"x")
        assert (long.status, long.code, long.json()["expected"]) == (409, "upload_incomplete", 1024)
        assert await job.listed() == {}
        assert (await job.read(artifact_id)).code == "not_found"
        await job.put(artifact_id, CONTENT[100:200], offset=100)
        assert (await job.finish(artifact_id, CONTENT)).status == 200
        assert (await job.finish(artifact_id, CONTENT)).status == 200
        assert (await job.finish(artifact_id, b"else")).code == "upload_ended"
        assert (await job.put(artifact_id, b"more", offset=1024)).code == "upload_ended"
        assert (await job.read(artifact_id)).body == CONTENT

    served(scene)


def test_an_empty_artifact_is_one_too(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        view = await job.keep("nothing", b"")
        assert (await job.read(view["id"])).body == b""

    served_inline(scene)


def test_a_name_belongs_to_one_artifact_of_a_run(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job = await job_of(installation, runner, repository="shop")
        begun = await job.begin("report")
        assert await job.begin("report") == begun
        await job.put(begun, CONTENT)
        await job.finish(begun, CONTENT)
        taken = await job.post("/job/v1/artifacts", {"name": "report"})
        assert (taken.status, taken.code) == (409, "artifact_exists")
        newer = await job.keep("report", b"newer", overwrite=True)
        assert newer["number"] > 1
        assert await job.listed() == {"report": newer["id"]}
        assert (await job.read(begun)).code == "not_found"
        await job.end()
        again = await job_of(installation, runner, repository="shop", first=job)
        newest = await again.keep("report", b"newest")
        assert await again.listed() == {"report": newest["id"]}

    served(scene)


@pytest.mark.parametrize("name", ["a/b", "a\\b", 'a"b', "a:b", "a<b", "a>b", "a|b", "a*b", "a?b", "a\nb", "a\rb", "\t"])
def test_a_name_that_is_no_files_name_is_refused(served_inline: Served, name: str) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        refused = await job.post("/job/v1/artifacts", {"name": name})
        assert (refused.status, refused.code) == (422, "value_refused")

    served_inline(scene)


def test_a_name_is_free_again_when_the_job_that_began_with_it_has_ended(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        first, second = await installation.runner("one"), await installation.runner("two")
        job = await job_of(installation, first, repository="shop")
        other = await job_of(installation, second, repository="shop", first=job)
        await job.begin("report")
        await job.end()
        assert (await other.keep("report", CONTENT))["run_id"] == other.run_id

    served(scene)


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [("bytes=0-9", 0, 10), ("bytes=1000-", 1000, 1024), ("bytes=-24", 1000, 1024), ("bytes=10-99999", 10, 1024)],
)
def test_a_range_of_an_artifact_can_be_read(served_inline: Served, asked: str, start: int, stop: int) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        view = await job.keep("report", CONTENT)
        reply = await job.read(view["id"], headers={"range": asked})
        assert (reply.status, reply.body) == (206, CONTENT[start:stop])
        assert reply.headers["content-range"] == f"bytes {start}-{stop - 1}/1024"
        for nonsense in ("bytes=9-1", "bytes=2000-", "bytes=-0", "lines=1-2", "bytes=1-2,4-5", "bytes=-"):
            whole = await job.read(view["id"], headers={"range": nonsense})
            assert (whole.status, whole.body) == (200, CONTENT), nonsense

    served_inline(scene)


def test_artifacts_expire_and_their_bytes_with_them(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job = await job_of(installation, runner)
        short, long = await job.keep("short", b"s", retention_days=1), await job.keep("long", b"l")
        longest = await job.keep("longest", b"w", retention_days=3000)
        assert longest["expires_at"] - longest["created_at"] == 400 * DAY_MICROS
        unfinished = await job.begin("unfinished")
        await job.put(unfinished, b"half")
        await installation.upkeep.keep()
        assert len(await installation.blob_keys("artifacts")) == 4
        await job.end()
        installation.clock.micros += DAY_MICROS
        await installation.upkeep.keep()
        person = await installation.user()
        listed = (await person.get(f"/api/v1/runs/{job.run_id}/artifacts")).json()["artifacts"]
        assert [each["id"] for each in listed] == [long["id"], longest["id"]]
        assert (await person.get(f"/api/v1/artifacts/{short['id']}")).code == "not_found"
        assert {key.split("/")[1] for key in await installation.blob_keys("artifacts")} == {long["id"], longest["id"]}

    served(scene)


def test_a_deleted_artifact_is_gone_at_once_and_its_bytes_soon(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        first, second = await job.keep("first", b"1"), await job.keep("second", b"2")
        viewer = await installation.user("viewer", "eve")
        assert (await viewer.post(f"/api/v1/artifacts/{first['id']}", b"", "DELETE")).code == "forbidden"
        person = await installation.user()
        assert (await person.post(f"/api/v1/artifacts/{first['id']}", b"", "DELETE")).status == 204
        assert (await person.post(f"/api/v1/artifacts/{first['id']}", b"", "DELETE")).code == "not_found"
        assert (await job.post(f"/job/v1/artifacts/{second['id']}", b"", "DELETE")).status == 204
        assert await job.listed() == {}
        await installation.upkeep.keep()
        assert await installation.blob_keys("artifacts") == []

    served(scene)


def test_what_belonged_to_a_repository_goes_with_it(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner(), repository="shop")
        await job.keep("report", CONTENT)
        await job.fill("npm", CONTENT)
        await forget_repository(installation, "shop")
        await installation.upkeep.keep()
        assert await installation.blob_keys("artifacts") == await installation.blob_keys("caches") == []

    served(scene)


RULES = StorageRules(artifact_bytes=100, artifacts_bytes=150, artifacts_of_a_run=3)


def test_nobody_keeps_more_than_the_rules_allow(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        first, second = await installation.runner("one"), await installation.runner("two")
        job = await job_of(installation, first, repository="shop")
        other = await job_of(installation, second, repository="other")
        async with installation.ruled(RULES):
            large = await job.begin("large")
            for content, offset in ((bytes(101), 0), (bytes(1), 100), (bytes(60), 50)):
                refused = await job.put(large, content, offset=offset)
                assert (refused.status, refused.code) == (422, "quota_exceeded")
            assert (await job.put(large, bytes(60))).status == 200
            assert (await job.put(large, bytes(41), offset=60)).code == "quota_exceeded"
            assert (await job.put(large, bytes(40), offset=60)).status == 200
            rest = await job.begin("rest")
            assert (await job.put(rest, bytes(51))).code == "quota_exceeded"
            assert (await job.put(rest, bytes(50))).status == 200
            assert (await job.post("/job/v1/artifacts", {"name": "no room"})).code == "quota_exceeded"
            for number in range(3):
                await other.keep(f"small-{number}", b"x")
            assert (await other.post("/job/v1/artifacts", {"name": "one more"})).code == "quota_exceeded"
            assert len(await installation.blob_keys("artifacts")) == 6
            assert (await other.post("/job/v1/artifacts", {"name": "small-1", "overwrite": True})).status == 201
            assert (await job.post("/job/v1/artifacts", {"name": "rest", "overwrite": True})).status == 201

    served(scene)


def test_an_attempt_that_has_ended_writes_nothing_more(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        await job.put(artifact_id, CONTENT)
        await job.end()
        for reply in (
            await job.put(artifact_id, CONTENT),
            await job.finish(artifact_id, CONTENT),
            await job.read(artifact_id),
            await job.post("/job/v1/artifacts", {"name": "late"}),
        ):
            assert (reply.status, reply.code) == (401, "unauthenticated")

    served(scene)


def test_an_attempt_that_ends_during_its_upload_writes_nothing(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        original = installation.blobs.put_stream

        async def put_stream(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the store takes
            stored = await original(*given, **named)
            await job.end()
            return stored

        installation.blobs.put_stream = put_stream
        refused = await job.put(artifact_id, CONTENT)
        assert (refused.status, refused.code) == (401, "unauthenticated")
        assert await installation.blob_keys("artifacts") == []

    served(scene)


def test_a_caller_that_goes_away_leaves_nothing(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        artifact_id = await job.begin()
        target = f"/job/v1/artifacts/{artifact_id}/content"
        await installation.client.broken("PUT", target, b"half", headers=job.headers)
        assert await installation.blob_keys("artifacts") == []
        assert (await job.finish(artifact_id, b"half")).code == "upload_incomplete"

    served_inline(scene)


def test_random_uploads_come_out_as_they_went_in(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        drawn = random.Random("uploads")
        job = await job_of(installation, await installation.runner())
        for number in range(20):
            content = drawn.randbytes(drawn.randrange(5000))
            cuts = sorted({0, *(drawn.randrange(len(content) + 1) for _ in range(drawn.randrange(6)))} - {len(content)})
            stretches = list(zip(cuts, [*cuts[1:], len(content)], strict=True))
            drawn.shuffle(stretches)
            artifact_id = await job.begin(f"random-{number}")
            for start, stop in stretches:
                assert (await job.put(artifact_id, content[start:stop], offset=start)).status == 200
            assert (await job.finish(artifact_id, content)).status == 200
            assert (await job.read(artifact_id)).body == content

    served_inline(scene)
