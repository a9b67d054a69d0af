"""What forges are told of runs, by a real HTTP server that speaks as each of them does."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.contract.server.fake_forge import FakeForge
from tests.contract.server.installation import SECOND, Installation
from tests.contract.server.repository import Connected, connected, end_job

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]

_BUILD = "name: Build\non: workflow_dispatch\njobs: {b: {runs-on: linux, steps: [{run: a}]}}\n"
_TOKENS = {
    "github": ("authorization", "Bearer forge-token-1"),
    "gitea": ("authorization", "token forge-token-1"),
    "gitlab": ("private-token", "forge-token-1"),
}


async def with_forge(installation: Installation, forge: FakeForge, kind: str = "github") -> Connected:
    clone_url = "https://git.example/group/acme/shop.git" if kind == "gitlab" else "https://git.example/acme/shop.git"
    more = {"forge": kind, "forge_url": f"{forge.url}/api", "forge_token": "forge-token-1", "clone_url": clone_url}
    return await connected(installation, **more)


@pytest.mark.parametrize("kind", ["github", "gitea", "gitlab"])
def test_a_forge_hears_how_a_run_began_and_ended(served_inline: Served, kind: str) -> None:
    async def scene(installation: Installation) -> None:
        with FakeForge() as forge:
            shop, runner = await with_forge(installation, forge, kind), await installation.runner(labels=["linux"])
            sha = shop.commit(_BUILD)
            run_id = await shop.dispatch()
            await shop.settle()
            outbox = installation.control.workflows.forges
            await outbox.round()
            await end_job(runner, "failed")
            await shop.settle()
            await outbox.round()
            await outbox.round()
        begun, ended = forge.told
        project = f"/api/repos/acme/shop/statuses/{sha}"
        assert begun.path == (f"/api/projects/group%2Facme%2Fshop/statuses/{sha}" if kind == "gitlab" else project)
        name, token = _TOKENS[kind]
        assert begun.headers[name] == token
        states = ("running", "failed") if kind == "gitlab" else ("pending", "failure")
        assert (begun.body["state"], ended.body["state"]) == states
        assert ended.body["name" if kind == "gitlab" else "context"] == "Build (workflow_dispatch)"
        assert ended.body["target_url"].endswith(f"/runs/{run_id}")

    served_inline(scene)


def test_a_forge_that_is_away_hears_the_last_word_later(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        with FakeForge((503, ""), (429, ""), (201, "{}")) as forge:
            shop, runner = await with_forge(installation, forge), await installation.runner(labels=["linux"])
            shop.commit(_BUILD)
            await shop.dispatch()
            await shop.settle()
            outbox = installation.control.workflows.forges
            await outbox.round()
            await end_job(runner)
            await shop.settle()
            for _ in range(4):
                await outbox.round()
                installation.clock.micros += 60 * SECOND
        assert [told.body["state"] for told in forge.told] == ["pending", "success", "success"]

    served(scene)


def test_a_forge_that_refuses_is_left_alone(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        with FakeForge((401, "")) as forge:
            shop = await with_forge(installation, forge)
            shop.commit(_BUILD)
            await shop.dispatch()
            await shop.settle()
            for _ in range(12):
                await installation.control.workflows.forges.round()
                installation.clock.micros += 3600 * SECOND
        assert len(forge.told) == 5

    served_inline(scene)


def test_gitlab_has_what_it_says_that_it_has(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        with FakeForge((400, '{"message": "Cannot transition status via :run from :running"}')) as forge:
            shop = await with_forge(installation, forge, "gitlab")
            shop.commit(_BUILD)
            await shop.dispatch()
            await shop.settle()
            for _ in range(3):
                await installation.control.workflows.forges.round()
                installation.clock.micros += 3600 * SECOND
        assert len(forge.told) == 1

    served_inline(scene)
