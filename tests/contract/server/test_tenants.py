"""What belongs to one run or repository is, to the jobs of another, as if it did not exist (threat 39)."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ostler.protocol.endpoint import Auth
from ostler.protocol.v1.table import ENDPOINTS
from tests.contract.server.asgi_client import Reply
from tests.contract.server.installation import Installation
from tests.contract.server.storing import Job, digest, job_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]


async def attempts(job: Job, ids: dict[str, str]) -> dict[str, Reply]:
    """Everything a job can call that takes an id, with these ids."""
    replies: dict[str, Reply] = {}
    for row in ENDPOINTS:
        if row.auth is not Auth.JOB or not set(row.parameters) & ids.keys():
            continue
        body = msgspec.json.encode({"size": 6, "digest": digest(b"secret")})
        replies[row.name] = await job.post(row.filled(**{name: ids[name] for name in row.parameters}), body, row.method)
    return replies


def shape(reply: Reply) -> tuple[int, dict[str, Any]]:
    """A reply without what names the request and the thing."""
    fields: dict[str, Any] = reply.json()
    return reply.status, {name: value for name, value in fields.items() if name not in ("request_id", "detail")}


def test_nothing_of_another_run_or_repository_can_be_reached(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        owner = await job_of(installation, await installation.runner("owner"), repository="shop")
        strangers = [
            await job_of(installation, await installation.runner("same"), repository="shop", ref="refs/heads/other"),
            await job_of(installation, await installation.runner("other"), repository="bank"),
            await job_of(installation, await installation.runner("plain")),
        ]
        done = await owner.keep("report", b"secret")
        entry = await owner.fill("npm", b"secret")
        begun = await owner.begin("begun")
        await owner.put(begun, b"sec")
        reserved = (await owner.reserve("pip")).json()["id"]
        for stranger in strangers[1:]:
            missing = await attempts(stranger, {"artifact_id": "art_none", "cache_id": "cache_none"})
            assert len(missing) == 7
            for ids in ({"artifact_id": done["id"], "cache_id": entry}, {"artifact_id": begun, "cache_id": reserved}):
                found = await attempts(stranger, ids)
                assert {name: shape(reply) for name, reply in found.items()} == {
                    name: shape(reply) for name, reply in missing.items()
                }
                assert {reply.status for reply in found.values()} == {404}
            assert await stranger.listed() == {}
            assert await stranger.found("npm", "n") == ""
        same = await attempts(strangers[0], {"artifact_id": done["id"], "cache_id": entry})
        assert {name for name, reply in same.items() if reply.status != 404} == {"read_cache"}, "of the default branch"
        assert await strangers[0].listed() == {}
        assert (await owner.read(done["id"])).body == b"secret"
        assert (await owner.finish(begun, b"sec")).status == 200
        assert (await owner.read(entry, "caches")).body == b"secret"

    served(scene)


def test_jobs_of_one_run_read_but_do_not_write_each_others_uploads(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        first = await job_of(installation, await installation.runner("one"), repository="shop")
        second = await job_of(installation, await installation.runner("two"), repository="shop", first=first)
        begun = await first.begin("report")
        await first.put(begun, b"half")
        assert (await second.put(begun, b"poison")).code == "not_found"
        assert (await second.finish(begun, b"half")).code == "not_found"
        assert (await second.read(begun)).code == "not_found"
        assert (await first.finish(begun, b"half")).status == 200
        assert (await second.read(begun)).body == b"half"

    served(scene)


def test_ids_that_are_no_ids_find_nothing(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner(), repository="shop")
        for nonsense in ("%2e%2e%2f%2e%2e", "art_%27--", "x" * 5000, "%F0%9F%90%B4", "art_1%20OR%201=1"):
            for name, reply in (await attempts(job, {"artifact_id": nonsense, "cache_id": nonsense})).items():
                assert reply.status == 404, (name, nonsense)
        assert await installation.blob_keys("artifacts") == await installation.blob_keys("caches") == []

    served_inline(scene)
