"""What a repository is told, on each database: believed once, answered by the right workflows, forks kept apart."""

from collections.abc import Callable, Coroutine
from typing import Any

from ostler.server.webhooks import hook
from tests.contract.server.installation import SECOND, Installation
from tests.contract.server.repository import SECRET, Connected, connected, end_job

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]

_PUSHED = """
on:
  push: {branches: [main, "release/**"], paths-ignore: ["docs/**"]}
jobs:
  test: {runs-on: linux, steps: [{run: "echo ${{ github.event.head_commit.message }}"}]}
"""
_PULLED = """
on: [pull_request, pull_request_target]
jobs:
  test: {runs-on: linux, env: {KEY: "${{ secrets.API_KEY }}"}, steps: [{run: a}]}
"""
_SCHEDULED = """
on: {schedule: [{cron: "*/5 * * * *"}]}
jobs:
  night: {runs-on: linux, steps: [{run: a}]}
"""
_FOLLOWS = """
on: {workflow_run: {workflows: [Build], types: [completed]}}
jobs:
  x: {runs-on: linux, steps: [{run: a}]}
"""


def push_of(shop: Connected, sha: str, *, ref: str = "refs/heads/main", before: str = "0" * 40) -> dict[str, Any]:
    del shop
    return {"ref": ref, "before": before, "after": sha, "sender": {"login": "ada"}, "head_commit": {"message": "Hi"}}


def pull_request_of(sha: str, base_sha: str, home: str, away: str) -> dict[str, Any]:
    return {
        "action": "opened",
        "number": 7,
        "sender": {"login": "mallory"},
        "pull_request": {
            "head": {"sha": sha, "ref": "feature", "repo": {"full_name": away}},
            "base": {"sha": base_sha, "ref": "main", "repo": {"full_name": home}},
        },
    }


def test_a_push_starts_what_its_filters_let_in(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        first = shop.commit(_PUSHED)
        accepted = await shop.deliver("push", push_of(shop, first), delivery="d1")
        assert (accepted.status, accepted.json()["outcome"]) == (200, "accepted")
        await shop.settle()
        claim = await runner.work()
        assert claim["spec"]["program"]["github"]["event"]["head_commit"] == {"message": "Hi"}
        assert claim["spec"]["program"]["github"]["actor"] == "ada"
        installation.sources.commits["b" * 40] = {**installation.sources.commits[first], "docs/a.md": b"text"}
        await shop.deliver("push", push_of(shop, "b" * 40, before=first), delivery="d2")
        await shop.deliver("push", push_of(shop, first, ref="refs/heads/topic"), delivery="d3")
        await shop.deliver("ping", {"zen": "x"}, delivery="d4")
        await shop.settle()
        outcomes = [event["outcome"] for event in await shop.events()]
        assert outcomes[0] == "nothing follows from ping"
        assert "topic does not pass the filter of branches" in outcomes[1]
        assert "changed files passes the filter of paths" in outcomes[2]
        assert outcomes[3].startswith("started run_")

    served(scene)


def test_a_delivery_counts_once(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        payload = push_of(shop, shop.commit(_PUSHED))
        replies = [await shop.deliver("push", payload, delivery="same") for _ in range(3)]
        assert [reply.json()["outcome"] for reply in replies] == ["accepted", "repeated", "repeated"]
        await shop.settle()
        assert len(await shop.events()) == 1

    served(scene)


def test_what_is_not_signed_is_not_believed(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        payload = push_of(shop, shop.commit(_PUSHED))
        forged = await shop.deliver("push", payload, delivery="d1", secret="guessed")
        assert (forged.status, forged.code) == (403, "delivery_refused")
        path = f"/api/v1/repositories/{shop.id}/webhook"
        bare = await installation.client.request("POST", path, b"{}", headers={"x-github-event": "push"})
        assert (bare.status, bare.code) == (403, "delivery_refused")
        unknown = await installation.client.request("POST", "/api/v1/repositories/none/webhook", b"{}")
        assert unknown.status == 404
        await shop.settle()
        assert await shop.events() == []

    served_inline(scene)


def test_a_signed_hook_is_believed_for_minutes_and_once(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation, forge="git")
        sha = shop.commit(_PUSHED)
        body = f"actor ada\n{'0' * 40} {sha} refs/heads/main\n".encode()

        async def told(at: int, signed: bytes = body) -> str:
            timestamp = str(at // SECOND)
            headers = {
                "x-ostler-timestamp": timestamp,
                "x-ostler-signature": hook.signature(body, SECRET, timestamp),
            }
            path = f"/api/v1/repositories/{shop.id}/webhook"
            reply = await installation.client.request("POST", path, signed, headers=headers)
            return reply.json().get("outcome") or reply.code

        now = installation.clock.now()
        assert await told(now - 301 * SECOND) == "delivery_refused"
        assert await told(now + 301 * SECOND) == "delivery_refused"
        assert await told(now, body.replace(b"main", b"prod")) == "delivery_refused"
        assert await told(now) == "accepted"
        assert await told(now) == "repeated"
        await shop.settle()
        assert [event["event"] for event in await shop.events()] == ["create", "push"]
        assert (await shop.events())[1]["outcome"].startswith("started run_")

    served_inline(scene)


def test_a_fork_waits_for_approval_and_gets_no_secret(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        await shop.person.post("/api/v1/repositories/shop/secrets/API_KEY", {"value": "secret-value-1"}, method="PUT")
        base = shop.commit(_PULLED)
        proposed = shop.commit(_PULLED.replace("run: a", "run: evil"), ref="")
        payload = pull_request_of(proposed, base, "acme/shop", "mallory/shop")
        await shop.deliver("pull_request", payload, delivery="d1")
        await shop.settle()
        started = {each["event"]: each["outcome"].removeprefix("started ") for each in await shop.events()}
        run = await shop.run(started["pull_request"])
        assert (run["trusted"], run["phase"], run["sha"]) == (False, "held", proposed)
        # The one with rights is the default branch's, whatever the pull request proposes.
        claim = await runner.work()
        assert claim["run_id"] == started["pull_request_target"]
        assert claim["spec"]["program"]["steps"][0]["run"] == "a"
        assert claim["spec"]["secrets"] == {"API_KEY": "secret-value-1"}
        await runner.finish(claim)
        viewer = await installation.user("viewer", "eve")
        path = f"/api/v1/runs/{started['pull_request']}/approve"
        assert (await viewer.post(path, {})).status == 403
        assert (await shop.person.post(path, {})).json()["approved_by"] == "ada"
        assert (await shop.person.post(path, {})).code == "transition_refused"
        await shop.settle()
        claim = await runner.work()
        assert claim["spec"]["program"]["steps"][0]["run"] == "evil"
        assert claim["spec"].get("secrets", {}) == {}

    served(scene)


def test_a_pull_request_of_the_repository_itself_is_trusted(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        base = shop.commit(_PULLED.replace(", pull_request_target", ""))
        await shop.deliver("pull_request", pull_request_of(base, base, "acme/shop", "Acme/Shop"), delivery="d1")
        await shop.settle()
        assert await end_job(runner) == "test"

    served_inline(scene)


def test_a_message_can_ask_to_be_skipped(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        sha = shop.commit(_PUSHED, message="Fix a word [skip ci]")
        await shop.deliver("push", push_of(shop, sha), delivery="d1")
        await shop.settle()
        assert (await shop.events())[0]["outcome"] == "the message of the commit asks to be skipped"

    served_inline(scene)


def test_a_repository_that_is_away_is_asked_again(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        sha = shop.commit(_PUSHED)
        installation.sources.away = True
        await shop.deliver("push", push_of(shop, sha), delivery="d1")
        await shop.settle()
        assert "tried again later" in (await shop.events())[0]["outcome"]
        installation.sources.away = False
        installation.clock.micros += 10 * SECOND
        await shop.settle()
        assert (await shop.events())[0]["outcome"].startswith("started run_")

    served(scene)


def test_a_schedule_fires_once_though_two_replicas_look(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop = await connected(installation)
        shop.commit(_SCHEDULED)
        synced = await shop.person.post("/api/v1/repositories/shop/sync", {})
        (schedule,) = synced.json()["workflows"][0]["schedules"]
        assert schedule["next_at"] > installation.clock.now()
        replicas = (installation.control, installation.replica())
        for _ in range(3):
            installation.clock.micros += 300 * SECOND
            for replica in replicas:
                await replica.workflows.timetable.round()
            await shop.settle()
        events = await shop.events()
        assert [event["source"] for event in events] == ["schedule"] * 3
        assert all(event["outcome"].startswith("started run_") for event in events)
        installation.clock.micros += 12 * 3600 * SECOND
        await installation.control.workflows.timetable.round()
        assert len(await shop.events()) == 4, "of the times that were missed only the last is made good"

    served(scene)


def test_a_run_that_ends_starts_those_that_follow_it(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        build = "name: Build\non: workflow_dispatch\njobs: {b: {runs-on: linux, steps: [{run: a}]}}\n"
        files = {".ostler/workflows/build.yml": build, ".ostler/workflows/after.yml": _FOLLOWS}
        installation.sources.commit("refs/heads/main", files)
        await shop.person.post("/api/v1/repositories/shop/sync", {})
        await shop.dispatch("build.yml")
        await shop.settle()
        assert await end_job(runner) == "b"
        await shop.settle()
        await shop.settle()
        claim = await runner.work()
        event = claim["spec"]["program"]["github"]["event"]
        assert (claim["spec"]["name"], event["workflow_run"]["conclusion"]) == ("x", "success")

    served_inline(scene)


def test_an_event_of_ones_own_starts_workflows(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        shop, runner = await connected(installation), await installation.runner(labels=["linux"])
        shop.commit("on: {repository_dispatch: {types: [deployed]}}\njobs: {d: {runs-on: linux, steps: [{run: a}]}}\n")
        path = "/api/v1/repositories/shop/dispatches"
        other = await shop.person.post(path, {"event_type": "other"})
        assert (other.status, other.json()["run_ids"]) == (201, [])
        reply = await shop.person.post(path, {"event_type": "deployed", "client_payload": {"version": "1"}})
        assert len(reply.json()["run_ids"]) == 1
        await shop.settle()
        claim = await runner.work()
        assert claim["spec"]["program"]["github"]["event"]["client_payload"] == {"version": "1"}

    served_inline(scene)
