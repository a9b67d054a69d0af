"""A job's token opens what is the job's and nothing else, and nothing once the attempt is over (threats 2 and 3)."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ostler.protocol.endpoint import Auth
from ostler.protocol.v1.job_table import JOB_IDENTITY
from ostler.protocol.v1.table import ENDPOINTS
from ostler.server.job_tokens import JobTokens
from ostler.server.keys import MasterKey
from ostler.server.maintenance import Maintenance
from ostler.server.wiring import Control
from ostler.testing.asgi import Lifespan
from tests.contract.server.asgi_client import AsgiClient, Reply
from tests.contract.server.installation import Caller, Installation, Runner

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]
ME = JOB_IDENTITY.path


async def job_of(installation: Installation, runner: Runner, **request: object) -> tuple[Caller, dict[str, Any]]:
    """A job that is under way, as whoever holds its token, and its claim."""
    await (await installation.user()).submit(**request)
    claim = (await runner.poll()).json()["claims"][0]
    return Caller(installation, (await runner.start(claim)).json()["job_token"]), claim


def test_a_jobs_token_is_for_its_job_and_fence(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job, claim = await job_of(installation, runner)
        expected = {name: claim[name] for name in ("job_id", "fence", "run_id")} | {"first_run_id": claim["run_id"]}
        assert (await job.get(ME)).json() == expected
        assert (await runner.start(claim)).json()["job_token"] == job.token

    served(scene)


def test_a_jobs_token_opens_no_other_call(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job, claim = await job_of(installation, runner)
        others = [row for row in ENDPOINTS if row.auth not in (Auth.NONE, Auth.JOB)]
        addresses = [(row.method, row.filled(**dict.fromkeys(row.parameters, "x"))) for row in others]
        for method, address in addresses:
            refused = await job.post(address, b"", method)
            assert (refused.status, refused.code) == (403, "forbidden"), address
        assert (await runner.finish(claim)).status == 200
        own = [
            (row.method, row.filled(**dict.fromkeys(row.parameters, "x"))) for row in ENDPOINTS if row.auth is Auth.JOB
        ]
        for method, address in [*addresses, *own]:
            refused = await job.post(address, b"", method)
            assert (refused.status, refused.code) == (401, "unauthenticated"), address

    served_inline(scene)


async def finished(installation: Installation, runner: Runner, claim: dict[str, Any]) -> None:
    assert (await runner.finish(claim)).status == 200


async def cancelled(installation: Installation, runner: Runner, claim: dict[str, Any]) -> None:
    person = await installation.user()
    assert (await person.post(f"/api/v1/runs/{claim['run_id']}/cancel", {})).status == 200
    assert (await runner.finish(claim, conclusion="cancelled")).status == 200


async def lost(installation: Installation, runner: Runner, claim: dict[str, Any]) -> None:
    maintenance: Maintenance = installation.maintenance
    for _ in range(80):
        installation.clock.micros += 10_000_000
        await maintenance.sweep_leases()


async def revoked(installation: Installation, runner: Runner, claim: dict[str, Any]) -> None:
    person = await installation.user()
    reply = await person.post(f"/api/v1/runners/{runner.runner_id}/admission", {"decision": "revoke"})
    assert reply.status == 200


async def taken_up_by_nobody(installation: Installation, runner: Runner, claim: dict[str, Any]) -> None:
    """The runner came back without its journal: what it had begun is lost."""
    assert (await runner.hello(sequence=1, held=[])).status == 200


@pytest.mark.parametrize("end", [finished, cancelled, lost, revoked, taken_up_by_nobody])
def test_a_token_dies_with_its_attempt_on_every_replica(
    served: Served, end: Callable[[Installation, Runner, dict[str, Any]], Coroutine[Any, Any, None]]
) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job, claim = await job_of(installation, runner)
        other = Control(
            installation.control.settings,
            MasterKey(bytes(range(32))),
            installation.database,
            installation.blobs,
            installation.effects,
        )
        lifespan = Lifespan(other.application)
        await lifespan.startup()

        async def everywhere() -> list[Reply]:
            there = await AsgiClient(other.application).request("GET", ME, headers=job.headers)
            return [await job.get(ME), there]

        assert [reply.status for reply in await everywhere()] == [200, 200]
        await end(installation, runner, claim)
        assert [(reply.status, reply.code) for reply in await everywhere()] == [(401, "unauthenticated")] * 2
        await lifespan.shutdown()

    served(scene)


def test_a_token_is_alive_while_a_cancelled_job_tidies_up(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job, claim = await job_of(installation, runner)
        person = await installation.user()
        assert (await person.post(f"/api/v1/runs/{claim['run_id']}/cancel", {})).status == 200
        assert (await job.get(ME)).status == 200

    served_inline(scene)


def test_no_token_can_be_made_without_the_key(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        job, claim = await job_of(installation, runner)
        run_id, job_id, fence = claim["run_id"], claim["job_id"], claim["fence"]
        head, body, signature = job.token.split(".")
        own = JobTokens(MasterKey(bytes(range(32))))
        forged = [
            JobTokens(MasterKey(bytes(32))).issue(run_id, job_id, fence),
            own.issue(run_id, job_id, fence + 1),
            own.issue("run_other", job_id, fence),
            own.issue(run_id, "job_other", fence),
            f"{head}.{body}.",
            f"{head}.{body}",
            f"{head}.{body}.{signature[:-2]}",
            f"{head}.{body}.{signature}=",
            f"{head}.{body}.{signature}.{signature}",
            f"eyJhbGciOiJub25lIn0.{body}.{signature}",
            f"{head}.{'A' * 3000}.{signature}",
            f"{head}.!!!.{signature}",
            f"{head}.e30.{signature}",
            f"{head}.\xff\xfe.{signature}",
            runner.token,
        ]
        for token in forged:
            refused = await Caller(installation, token).get(ME)
            assert (refused.status, refused.code) == (401, "unauthenticated"), token

    served_inline(scene)
