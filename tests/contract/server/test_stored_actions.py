"""The store of actions: operators fill it, jobs read it, and what is stored under a ref does not change by itself."""

import gzip
import io
import tarfile
from collections.abc import Callable, Coroutine
from typing import Any

from tests.contract.server.asgi_client import Reply
from tests.contract.server.installation import Caller, Installation
from tests.contract.server.storing import digest, job_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]
COMMIT = "11bd71901bbe5b1630ceea73d27597364c9af683"


def tree(text: str) -> bytes:
    """A tar archive with one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("hello/action.yml")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


async def imported(person: Caller, content: bytes, name: str = "acme/hello", query: str = "ref=v1") -> Reply:
    return await person.post(f"/api/v1/actions/{name}?{query}", content, "PUT")


def test_an_action_travels_from_an_operator_to_a_job(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, content = await installation.user(), gzip.compress(tree("name: hello"))
        stored = await imported(person, content, query=f"ref=releases/v1&commit={COMMIT}")
        assert stored.status == 201, stored.body
        assert (stored.json()["digest"], stored.json()["created_by"]) == (digest(content), "ada")
        job = await job_of(installation, await installation.runner())
        for name, ref in (("acme/hello", "releases/v1"), ("ACME/Hello", COMMIT)):
            reply = await job.get(f"/job/v1/actions/{name}?ref={ref}")
            assert (reply.status, reply.body) == (200, content)
            assert reply.headers["x-ostler-digest"] == digest(content)
            assert reply.headers["x-ostler-commit"] == COMMIT
        for name, ref in (("acme/hello", "v1"), ("acme/hello", "Releases/v1"), ("acme/other", "releases/v1")):
            assert (await job.get(f"/job/v1/actions/{name}?ref={ref}")).code == "not_found"

    served(scene)


def test_what_is_stored_under_a_ref_changes_only_on_purpose(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        first = (await imported(person, tree("one"))).json()
        assert (await imported(person, tree("one"))).json() == first
        refused = await imported(person, tree("two"))
        assert (refused.status, refused.code) == (409, "action_exists")
        second = (await imported(person, tree("two"), query="ref=v1&replace=1")).json()
        assert second["digest"] == digest(tree("two"))
        listed = (await person.get("/api/v1/actions")).json()["actions"]
        assert listed == [second]
        await installation.upkeep.keep()
        assert len(await installation.blob_keys("actions")) == 1
        assert (await person.post(f"/api/v1/actions/{second['id']}", b"", "DELETE")).status == 204
        assert (await person.post(f"/api/v1/actions/{second['id']}", b"", "DELETE")).code == "not_found"
        await installation.upkeep.keep()
        assert await installation.blob_keys("actions") == []

    served(scene)


def test_only_archives_with_plain_names_are_stored_and_only_by_operators(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, viewer = await installation.user(), await installation.user("viewer", "eve")
        for content in (b"", b"hello", b"PK\x03\x04" + bytes(600)):
            assert (await imported(person, content)).code == "value_refused"
        for name in ("..%2f/hello", "acme/..", "acme/he llo", "acme/-x", "a%00b/c"):
            assert (await imported(person, tree("x"), name)).status in (404, 422)
        for query in ("", "ref=", "ref=v1&commit=abc", "ref=v1&replace=2"):
            assert (await imported(person, tree("x"), query=query)).code == "query_malformed"
        assert (await imported(viewer, tree("x"))).code == "forbidden"
        assert await installation.blob_keys("actions") == []

    served_inline(scene)
