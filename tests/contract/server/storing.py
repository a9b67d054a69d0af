"""Jobs that keep things: whoever holds a job's token, with shorthands for uploads and downloads."""

import hashlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from ostler.store.sql import Sql
from tests.contract.server.asgi_client import Reply
from tests.contract.server.installation import Caller, Installation, Runner

_TARGET = Sql(
    "INSERT INTO targets (id, organization_id, kind, name, clone_url, default_branch, workflows_path, forge, forge_url,"
    " pool, username, disabled, synced_sha, fault, created_at) VALUES (:id, 'org_default', 'repository', :id, '',"
    " 'main', '', '', '', '', '', 0, '', '', 0) ON CONFLICT DO NOTHING"
)
_RUN = Sql(
    "INSERT INTO workflow_runs (run_id, target_id, workflow_id, trigger_id, number, attempt, first_run_id, event, ref,"
    " sha, actor, trusted, phase, conclusion, note, rerun, plan, state, version, created_at) VALUES (:run_id,"
    " :target_id, '', '', 1, :attempt, :first_run_id, 'push', :ref, '', 'ada', :trusted, '', '', '', '', '', '', 1, 0)"
)
_UNTARGET = Sql("DELETE FROM targets WHERE id = :id")


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Job(Caller):
    """A job that is under way."""

    def __init__(self, installation: Installation, runner: Runner, claim: dict[str, Any], token: str) -> None:
        super().__init__(installation, token)
        self.runner = runner
        self.claim = claim

    @property
    def run_id(self) -> str:
        return str(self.claim["run_id"])

    async def end(self) -> None:
        assert (await self.runner.finish(self.claim)).status == 200

    async def begin(self, name: str = "report", **more: object) -> str:
        reply = await self.post("/job/v1/artifacts", {"name": name, **more})
        assert reply.status == 201, reply.body
        return reply.json()["id"]

    async def put(self, upload_id: str, *content: bytes, offset: int = 0, kind: str = "artifacts") -> Reply:
        target = f"/job/v1/{kind}/{upload_id}/content?offset={offset}"
        return await self.installation.client.request("PUT", target, *content, headers=self.headers)

    async def finish(self, upload_id: str, content: bytes, kind: str = "artifacts", **changes: object) -> Reply:
        whole = {"size": len(content), "digest": digest(content), **changes}
        return await self.post(f"/job/v1/{kind}/{upload_id}/finish", whole)

    async def keep(self, name: str, content: bytes, **more: object) -> dict[str, Any]:
        """Upload an artifact."""
        artifact_id = await self.begin(name, **more)
        assert (await self.put(artifact_id, content)).status == 200
        reply = await self.finish(artifact_id, content)
        assert reply.status == 200, reply.body
        return reply.json()

    async def listed(self, name: str = "") -> dict[str, str]:
        """The ids of the run's artifacts by their names."""
        reply = await self.get(f"/job/v1/artifacts?name={name}")
        return {each["name"]: each["id"] for each in reply.json().get("artifacts", ())}

    async def read(self, upload_id: str, kind: str = "artifacts", headers: Mapping[str, str] | None = None) -> Reply:
        asked = {**self.headers, **(headers or {})}
        return await self.installation.client.request("GET", f"/job/v1/{kind}/{upload_id}/content", headers=asked)

    async def reserve(self, key: str, version: str = "v") -> Reply:
        return await self.post("/job/v1/caches", {"key": key, "version": version})

    async def fill(self, key: str, content: bytes = b"x", version: str = "v") -> str:
        """Store a cache entry."""
        reserved = await self.reserve(key, version)
        assert reserved.status == 201, reserved.body
        cache_id = reserved.json()["id"]
        assert (await self.put(cache_id, content, kind="caches")).status == 200
        finished = await self.finish(cache_id, content, kind="caches")
        assert finished.status == 200, finished.body
        return cache_id

    async def found(self, *keys: str, version: str = "v") -> str:
        """The key of the entry that would be restored; nothing if there is none."""
        body = {"key": keys[0], "restore_keys": list(keys[1:]), "version": version}
        reply = await self.post("/job/v1/caches/find", body)
        assert reply.status == 200, reply.body
        return reply.json().get("hit", {}).get("key", "")


async def job_of(
    installation: Installation,
    runner: Runner,
    *,
    repository: str = "",
    ref: str = "refs/heads/main",
    trusted: bool = True,
    base_ref: str = "",
    first: "Job | None" = None,
) -> Job:
    """A job that has just begun; with a repository, the job of a workflow run, or of a later attempt of another's."""
    person = await installation.user()
    if repository:
        program: dict[str, object] = {
            "job_id": "build",
            "steps": [],
            "github": {"base_ref": base_ref, "event": {"x": [1]}},
        }
        run = await person.submit(spec={"name": "build", "program": program})
        await installation.database.run(_workflow_run, run["id"], repository, ref, first, trusted=trusted)
    else:
        await person.submit()
    claim = (await runner.poll()).json()["claims"][0]
    return Job(installation, runner, claim, (await runner.start(claim)).json()["job_token"])


def _workflow_run(
    connection: Connection, run_id: str, target_id: str, ref: str, first: Job | None, *, trusted: bool
) -> None:
    _TARGET.run(connection, id=target_id)
    _RUN.run(
        connection,
        run_id=run_id,
        target_id=target_id,
        attempt=2 if first else 1,
        first_run_id=first.run_id if first else run_id,
        ref=ref,
        trusted=int(trusted),
    )


async def forget_repository(installation: Installation, target_id: str) -> None:
    await installation.database.run(lambda connection: _UNTARGET.run(connection, id=target_id))
