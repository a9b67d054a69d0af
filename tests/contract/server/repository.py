"""A connected repository for tests: its workflows, its webhook, its runs."""

import hashlib
import hmac
from typing import Any

import msgspec

from tests.contract.server.asgi_client import Reply
from tests.contract.server.installation import Caller, Installation, Runner

SECRET = "webhook-secret-0123"


class Connected:
    """See the module."""

    def __init__(self, installation: Installation, person: Caller, view: dict[str, Any]) -> None:
        self.installation = installation
        self.person = person
        self.id: str = view["id"]
        self.name: str = view["name"]

    def commit(self, text: str, *, ref: str = "refs/heads/main", path: str = "ci.yml", message: str = "Change") -> str:
        """Commit one workflow file."""
        return self.installation.sources.commit(ref, {f".ostler/workflows/{path}": text}, message)

    async def dispatch(self, workflow: str = "ci.yml", **body: object) -> str:
        """Run a workflow by hand and return the run's id."""
        reply = await self.person.post(f"/api/v1/repositories/{self.name}/workflows/{workflow}/dispatches", body)
        assert reply.status == 201, reply.body
        return reply.json()["run_ids"][0]

    async def deliver(self, event: str, payload: dict[str, Any], *, delivery: str, secret: str = SECRET) -> Reply:
        """Deliver what GitHub would."""
        body = msgspec.json.encode(payload)
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "x-github-event": event,
            "x-github-delivery": delivery,
            "x-hub-signature-256": f"sha256={signature}",
            "content-type": "application/json",
        }
        path = f"/api/v1/repositories/{self.id}/webhook"
        return await self.installation.client.request("POST", path, body, headers=headers)

    async def events(self) -> list[dict[str, Any]]:
        """What happened, newest first."""
        return (await self.person.get(f"/api/v1/repositories/{self.name}/events")).json()["triggers"]

    async def settle(self) -> None:
        """Have everything followed up that waits for it."""
        parts = self.installation.control.workflows
        await parts.inbox.round()
        for _ in range(5):
            await parts.driver.round()

    async def run(self, run_id: str) -> dict[str, Any]:
        """The run as a run of a workflow."""
        return (await self.person.get(f"/api/v1/runs/{run_id}/workflow")).json()

    async def conclusions(self, run_id: str) -> dict[str, str]:
        """How each node ended; its state where it has not."""
        nodes = (await self.run(run_id))["nodes"]
        return {node["id"]: node.get("conclusion") or node["state"] for node in nodes}

    async def state(self, run_id: str) -> str:
        """The state of the run among all runs."""
        return (await self.person.get(f"/api/v1/runs/{run_id}")).json()["state"]


async def connected(installation: Installation, name: str = "shop", **more: object) -> Connected:
    """Connect a repository. From now on nothing goes on by itself, only by ``settle``."""
    await installation.control._loops.close()  # pyright: ignore[reportPrivateUsage]
    person = await installation.user()
    body = {
        "name": name,
        "clone_url": f"https://github.com/acme/{name}.git",
        "default_branch": "main",
        "forge": "github",
        "webhook_secret": SECRET,
        **more,
    }
    reply = await person.post("/api/v1/repositories", body)
    assert reply.status == 201, reply.body
    return Connected(installation, person, reply.json())


async def end_job(runner: Runner, conclusion: str = "succeeded", outputs: dict[str, str] | None = None) -> str:
    """Take the next job through to its end and return its name."""
    claim = await runner.work()
    reply = await runner.finish(claim, conclusion=conclusion, outputs=outputs or {})
    assert reply.status == 200, reply.body
    return claim["spec"]["name"]
