"""What is true of every call: problems, request ids, limits, methods, and the clock's part in the fleet."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.protocol.v1.table import ENDPOINTS
from tests.contract.server.installation import Installation

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]


def test_a_problem_says_cause_fix_and_request(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        reply = await installation.client.request("GET", "/api/v1/me", headers={"x-request-id": "mine-1"})
        assert reply.headers["x-request-id"] == "mine-1"
        told = reply.json()
        assert (told["request_id"], told["status"], told["code"]) == ("mine-1", 401, "unauthenticated")
        assert told["title"]
        assert told["fix"]
        assert told["type"] == "/api#unauthenticated"

    served_inline(scene)


@pytest.mark.parametrize("given", ["", "a b", "x" * 81, "é", "<script>", "a\r\nb"])
def test_a_request_id_that_could_do_harm_is_replaced(served_inline: Served, given: str) -> None:
    async def scene(installation: Installation) -> None:
        reply = await installation.client.request("GET", "/api/v1/me", headers={"x-request-id": given})
        assert reply.headers["x-request-id"].startswith("req_")

    served_inline(scene)


def test_a_body_over_its_limit_is_refused_however_it_comes(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        large = b"x" * (1024 * 1024)
        declared = await installation.client.request(
            "POST", "/api/v1/pools", b"{", headers={**person.headers, "content-length": str(10**9)}
        )
        assert (declared.status, declared.code) == (413, "body_too_large")
        streamed = await installation.client.request("POST", "/api/v1/pools", *[large] * 3, headers=person.headers)
        assert (streamed.status, streamed.code) == (413, "body_too_large")

    served_inline(scene)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"name": 7}', b"\xff", b'{"name": "\\ud800"}', b"[" * 100_000])
def test_a_malformed_body_is_a_problem(served_inline: Served, body: bytes) -> None:
    async def scene(installation: Installation) -> None:
        reply = await (await installation.user()).post("/api/v1/pools", body)
        assert (reply.status, reply.code) == (400, "body_malformed")

    served_inline(scene)


@pytest.mark.parametrize(
    "query", ["limit=x", "limit=0", "limit=999999", "state=odd", "search=%00", "%ff=1", "limit=%ff"]
)
def test_a_malformed_query_is_a_problem(served_inline: Served, query: str) -> None:
    async def scene(installation: Installation) -> None:
        reply = await (await installation.user()).get(f"/api/v1/runs?{query}")
        assert (reply.status, reply.code) == (400, "query_malformed")

    served_inline(scene)


_NO_STEP: dict[str, object] = {"name": "x"}


_NEVER: list[tuple[dict[str, object], str]] = [
    ({"steps": [_NO_STEP]}, "steps[0].argv"),
    ({"steps": [{**_NO_STEP, "argv": ["true"]}, {**_NO_STEP, "argv": ["true"], "script": ""}]}, "steps[1].argv"),
    ({"steps": [{**_NO_STEP, "argv": []}]}, "steps[0].argv"),
    ({"steps": [{**_NO_STEP, "argv": ["", "x"]}]}, "steps[0].argv"),
    ({"steps": [{**_NO_STEP, "script": "true", "shell": " "}]}, "steps[0].shell"),
    ({"limits": {"cpus": -1}}, "limits.cpus"),
    ({"limits": {"cpus": 0}}, "limits.cpus"),
    ({"limits": {"cpus": 1e308}}, "limits.cpus"),
]


@pytest.mark.parametrize(("changes", "field"), _NEVER)
def test_a_job_that_no_runner_could_execute_is_refused(
    served_inline: Served, changes: dict[str, object], field: str
) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        spec = {"name": "build", "steps": [{"name": "say", "argv": ["true"]}], **changes}
        one = await person.post("/api/v1/runs", {"spec": spec})
        assert (one.status, one.code) == (422, "value_refused")
        assert one.json()["detail"].startswith(f"{field}: ")
        many = await person.post("/api/v1/runs/batch", {"runs": [{"spec": spec}]})
        assert (many.status, many.code) == (422, "value_refused")
        assert (await person.get("/api/v1/runs")).json()["runs"] == []

    served_inline(scene)


def test_what_was_sent_is_not_sent_back_whole(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        spec = {"name": "build", "steps": [{"name": "say", "argv": ["true"]}]}
        pool = await person.post("/api/v1/runs", {"spec": spec, "pool": "x" * 500_000})
        assert (pool.status, pool.code) == (404, "not_found")
        assert len(pool.body) < 2000
        runner = await person.post("/api/v1/runs", {"spec": spec, "runner_name": "x" * 500_000})
        assert (runner.status, runner.code) == (422, "value_refused")

    served_inline(scene)


def test_head_is_get_without_a_body_and_other_methods_are_named(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        assert (await person.post("/api/v1/runs", b"", "HEAD")).status == 200
        refused = await person.post("/api/v1/runs", b"", "PUT")
        assert (refused.status, refused.headers["allow"]) == (405, "GET, POST")
        assert (await person.get("/api/v1/nothing")).code == "not_found"
        assert (await person.get("/api/v1/jobs/a%2Fb/log/x")).code == "not_found"

    served_inline(scene)


def test_every_row_of_the_table_is_served(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        assert installation.control.router.names() == {endpoint.name for endpoint in ENDPOINTS}

    served_inline(scene)


def test_a_database_that_is_away_is_said_to_be(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        await person.submit()
        claim = await runner.work()
        assert (await person.get("/api/v1/me")).status == 200
        await installation.database.close()
        for reply in [await person.get("/api/v1/runs"), await runner.finish(claim), await runner.poll(leases=[])]:
            assert reply.status == 503 or reply.json() == {}
        reply = await runner.finish(claim)
        assert (reply.code, reply.headers["retry-after"]) == ("unavailable", "1")

    served_inline(scene)


def test_a_silent_runner_goes_offline_and_leaves_the_list_after_ninety_minutes(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        target = f"/api/v1/runners/{runner.runner_id}"
        await installation.sweep(10)
        assert (await person.get(target)).json()["status"] == "idle"
        await installation.sweep(120)
        assert (await person.get(target)).json()["status"] == "offline"
        await installation.sweep(87 * 60)
        assert (await person.get(target)).status == 200
        await installation.sweep(4 * 60)
        assert (await person.get(target)).status == 404
        await runner.authenticate()
        assert (await runner.poll()).code == "not_found"
        assert (await runner.hello()).status == 200
        assert (await runner.poll()).status == 200
        assert (await person.get(target)).json()["status"] == "idle"

    served(scene)


def test_what_is_counted_is_shown(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        await person.submit()
        installation.clock.micros += 2_000_000
        claim = await runner.work()
        await runner.finish(claim)
        await person.submit()
        await installation.maintenance.count()
        text = (await installation.client.request("GET", "/metrics")).body.decode()
        for line in (
            "ostler_claims_total 1.0",
            "ostler_queue_wait_seconds_sum 2.0",
            'ostler_jobs_finished_total{conclusion="succeeded"} 1.0',
            "ostler_queue_depth 1.0",
            'ostler_runners{status="idle"} 1.0',
        ):
            assert line in text, line

    served_inline(scene)
