"""Cache entries: which one a run finds, who may fill and read them, and which ones stay."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.domain.storage import DAY_MICROS, StorageRules
from tests.contract.server.installation import SECOND, Installation
from tests.contract.server.storing import Job, digest, job_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]
PULL = "refs/pull/7/merge"


async def filled(installation: Installation, *keys: str, **of: Any) -> Job:  # noqa: ANN401 - what job_of takes
    """A job that has ended after it filled these entries, one after the other."""
    runner = await installation.runner(installation.effects.ids.new("r"))
    wanted: dict[str, Any] = {"repository": "shop", **of}
    job = await job_of(installation, runner, **wanted)
    for key in keys:
        installation.clock.micros += SECOND
        await job.fill(key, key.encode())
    await job.end()
    return job


async def reader(installation: Installation, **of: Any) -> Job:  # noqa: ANN401 - what job_of takes
    runner = await installation.runner(installation.effects.ids.new("r"))
    wanted: dict[str, Any] = {"repository": "shop", **of}
    return await job_of(installation, runner, **wanted)


def test_an_entry_travels_from_one_run_to_the_next(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        await filled(installation, "npm-1")
        job = await reader(installation)
        hit = (await job.post("/job/v1/caches/find", {"key": "npm-1", "version": "v"})).json()["hit"]
        assert (hit["key"], hit["size"], hit["digest"]) == ("npm-1", 5, digest(b"npm-1"))
        reply = await job.read(hit["id"], "caches")
        assert (reply.status, reply.body) == (200, b"npm-1")
        part = await job.read(hit["id"], "caches", headers={"range": "bytes=4-"})
        assert (part.status, part.body) == (206, b"1")

    served(scene)


def test_the_first_key_that_has_an_entry_wins_and_of_its_prefix_the_newest(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        await filled(installation, "npm-linux-2", "npm-linux-1", "npm-mac-9", "pip_1", "pipx1", "Npm-linux-3")
        job = await reader(installation)
        assert await job.found("npm-linux-2") == "npm-linux-2"
        assert await job.found("npm-linux-") == "npm-linux-1"
        assert await job.found("npm-linux-2x", "npm-linux-", "npm-") == "npm-linux-1"
        assert await job.found("npm-linux-2x", "npm-") == "npm-mac-9"
        assert await job.found("npm-linux-2x", "go-", "npm-mac-9-") == ""
        assert await job.found("nothing", "pip_") == "pip_1"
        assert await job.found("100%", "pip%") == ""
        assert await job.found("npm-linux-2", version="other") == ""

    served(scene)


def test_a_run_reads_its_own_ref_then_its_base_then_the_default_branch(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        await filled(installation, "default", "base", "own", "prefix-of-default", ref="refs/heads/main")
        await filled(installation, "base", "own", ref="refs/heads/release")
        await filled(installation, "own", "pull-only", ref=PULL, base_ref="release")
        await filled(installation, "elsewhere", ref="refs/heads/other")
        sizes: dict[str, str] = {}
        pull = await reader(installation, ref=PULL, base_ref="release")
        for key in ("own", "base", "default", "pull-only", "elsewhere"):
            reply = await pull.post("/job/v1/caches/find", {"key": key, "version": "v"})
            sizes[key] = await _ref_of(installation, reply.json().get("hit", {}).get("id", ""))
        assert sizes == {
            "own": PULL,
            "base": "refs/heads/release",
            "default": "refs/heads/main",
            "pull-only": PULL,
            "elsewhere": "",
        }
        assert await pull.found("prefix", "own") == "own"
        main = await reader(installation)
        assert await main.found("pull-only") == await main.found("elsewhere") == ""

    served(scene)


async def _ref_of(installation: Installation, cache_id: str) -> str:
    person = await installation.user()
    listed = (await person.get("/api/v1/caches")).json().get("caches", ())
    return next((each["ref"] for each in listed if each["id"] == cache_id), "")


def test_what_an_untrusted_run_writes_no_trusted_run_reads(served: Served) -> None:
    """Threat 17: whatever ref a fork's run claims to be of, and whatever the trusted run asks for."""

    async def scene(installation: Installation) -> None:
        await filled(installation, "good-1", ref="refs/heads/main")
        for ref in (PULL, "refs/heads/main", "refs/heads/release"):
            await filled(installation, "good-1", "poison-1", ref=ref, trusted=False, base_ref="main")
        person = await installation.user()
        listed = (await person.get("/api/v1/caches?key=poison")).json()["caches"]
        assert [each["trusted"] for each in listed] == [False, False, False]
        for ref in ("refs/heads/main", "refs/heads/release", PULL):
            trusted = await reader(installation, ref=ref, base_ref="main")
            assert await trusted.found("poison-1", "poison", "p") == ""
            assert await trusted.found("good-1") == "good-1"
            for each in listed:
                assert (await trusted.read(each["id"], "caches")).code == "not_found"
        untrusted = await reader(installation, ref=PULL, trusted=False, base_ref="main")
        assert await untrusted.found("poison-1") == "poison-1"
        assert await untrusted.found("good") == "good-1"
        other_fork = await reader(installation, ref="refs/pull/8/merge", trusted=False, base_ref="main")
        assert await other_fork.found("poison") == ""

    served(scene)


def test_an_entry_never_changes(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        first, second = await reader(installation), await reader(installation)
        begun = (await first.reserve("npm")).json()["id"]
        assert (await first.reserve("npm")).json()["id"] == begun
        taken = await second.reserve("npm")
        assert (taken.status, taken.code) == (409, "cache_exists")
        await first.put(begun, b"content", kind="caches")
        assert await second.found("npm") == ""
        assert (await first.finish(begun, b"content", "caches")).status == 200
        assert (await first.put(begun, b"poison", kind="caches")).code == "upload_ended"
        assert (await first.finish(begun, b"poison", "caches")).code == "upload_ended"
        assert (await second.put(begun, b"poison", kind="caches")).code == "not_found"
        assert (await first.reserve("npm")).code == "cache_exists"
        assert (await second.read(begun, "caches")).body == b"content"

    served(scene)


def test_what_a_dead_job_reserved_can_be_filled_by_another(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        first, second = await reader(installation), await reader(installation)
        await first.put((await first.reserve("npm")).json()["id"], b"half", kind="caches")
        await first.end()
        await second.fill("npm", b"whole")
        await installation.upkeep.keep()
        assert len(await installation.blob_keys("caches")) == 1

    served(scene)


def test_a_job_without_a_repository_has_no_caches(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        job = await job_of(installation, await installation.runner())
        assert await job.found("npm") == ""
        refused = await job.reserve("npm")
        assert (refused.status, refused.code) == (403, "cache_refused")

    served_inline(scene)


@pytest.mark.parametrize("key", ["a,b", ",", "k" * 513, ""])
def test_a_key_that_clients_could_not_send_is_refused(served_inline: Served, key: str) -> None:
    async def scene(installation: Installation) -> None:
        job = await reader(installation)
        expected = {"value_refused", "body_malformed"}
        assert (await job.reserve(key)).code in expected
        assert (
            await job.post("/job/v1/caches/find", {"key": "x", "version": "v", "restore_keys": [key]})
        ).code in expected

    served_inline(scene)


def test_what_nobody_uses_goes_and_what_is_used_stays(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        await filled(installation, "used", "unused")
        for _ in range(4):
            job = await reader(installation)
            assert await job.found("used") == "used"
            await job.end()
            installation.clock.micros += 2 * DAY_MICROS
        await installation.upkeep.keep()
        job = await reader(installation)
        assert (await job.found("used"), await job.found("unused")) == ("used", "")
        assert len(await installation.blob_keys("caches")) == 1

    served(scene)


def test_the_least_recently_used_make_room(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        async with installation.ruled(StorageRules(caches_bytes=10)):
            await filled(installation, "aaaa", "bbbb")
            await filled(installation, "cccc", repository="other")
            installation.clock.micros += 90 * SECOND
            job = await reader(installation)
            assert await job.found("aaaa") == "aaaa"
            await filled(installation, "cccc")
            assert [await job.found(key) for key in ("aaaa", "bbbb", "cccc")] == ["aaaa", "", "cccc"]
            too_large = (await job.reserve("large")).json()
            assert too_large["limit_bytes"] == 10
            assert (await job.put(too_large["id"], bytes(11), kind="caches")).code == "quota_exceeded"
            other = await reader(installation, repository="other")
            assert await other.found("cccc") == "cccc"

    served(scene)


def test_people_list_delete_and_prune(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        await filled(installation, "npm-1", "npm-22", "pip-1")
        await filled(installation, "npm-1", repository="other")
        person, viewer = await installation.user(), await installation.user("viewer", "eve")
        page = (await person.get("/api/v1/caches?repository=shop&limit=2")).json()
        assert [each["key"] for each in page["caches"]] == ["pip-1", "npm-22"]
        assert page["total_bytes"] == 16
        rest = (await person.get(f"/api/v1/caches?repository=shop&limit=2&cursor={page['next_cursor']}")).json()
        assert [(each["key"], each["repository"]) for each in rest["caches"]] == [("npm-1", "shop")]
        assert (await person.get("/api/v1/caches?repository=none")).code == "not_found"
        assert len((await person.get("/api/v1/caches?key=npm-")).json()["caches"]) == 3
        assert (await viewer.post("/api/v1/caches/prune", {})).code == "forbidden"
        first = page["caches"][0]["id"]
        assert (await viewer.post(f"/api/v1/caches/{first}", b"", "DELETE")).code == "forbidden"
        assert (await person.post(f"/api/v1/caches/{first}", b"", "DELETE")).status == 204
        assert (await person.post(f"/api/v1/caches/{first}", b"", "DELETE")).code == "not_found"
        pruned = await person.post("/api/v1/caches/prune", {"repository": "shop", "keep_bytes": 6})
        assert pruned.json() == {"entries": 1, "bytes": 5}
        assert (await person.post("/api/v1/caches/prune", {})).json() == {"entries": 0, "bytes": 0}
        installation.clock.micros += 60 * SECOND
        pruned = await person.post("/api/v1/caches/prune", {"unused_ms": 1000})
        assert pruned.json() == {"entries": 2, "bytes": 11}
        await installation.upkeep.keep()
        assert await installation.blob_keys("caches") == []

    served(scene)
