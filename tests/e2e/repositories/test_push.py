"""A push to a plain git server, from its hook to the end of the run, and what outlives a dead server."""

import signal
from pathlib import Path

from tests.e2e.repositories.bare import BareRepository
from tests.e2e.repositories.conftest import Repository
from tests.parts.installation import Installation, gated

_ON_PUSH = """
on: push
jobs:
  build:
    runs-on: linux
    steps: [{run: "echo pushed by ${{ github.actor }} to ${{ github.ref_name }} at ${{ github.sha }}"}]
"""
_GATED = """
on: workflow_dispatch
jobs:
  first:
    runs-on: linux
    steps:
      - run: {script}
  second:
    runs-on: linux
    needs: first
    steps: [{{run: echo after the crash}}]
"""


def test_a_push_runs_the_workflows_of_its_commit(site: Installation, repository: Repository) -> None:
    shop = repository("pushed", {"ci.yml": _ON_PUSH})
    hook = site.ostler("repository", "hook", "pushed")
    assert hook.status == 0
    shop.install(hook.out)
    sha = shop.commit({"a.txt": "1"}, push="feature")

    def outcomes() -> list[str]:
        events = site.get("/api/v1/repositories/pushed/events")["triggers"]
        return [each["outcome"] for each in events if each["event"] == "push" and each["state"] == "done"]

    site.until("the push was taken", outcomes)
    run_id = outcomes()[0].removeprefix("started ")
    assert site.ostler("run", "watch", run_id).status == 0
    (job,) = site.get(f"/api/v1/runs/{run_id}")["jobs"]
    assert f"to feature at {sha}" in site.log(job["id"])
    assert site.get(f"/api/v1/runs/{run_id}/workflow")["sha"] == sha


def test_a_forged_hook_starts_nothing(site: Installation, repository: Repository) -> None:
    shop = repository("forged", {"ci.yml": _ON_PUSH})
    secret = site.ostler("repository", "hook", "forged", "--json").json["secret"]
    hook = site.ostler("repository", "hook", "forged").out
    shop.install(hook.replace(secret, "guessed-secret"))
    shop.commit({"a.txt": "1"})
    assert site.get("/api/v1/repositories/forged/events")["triggers"] == []


def test_a_run_goes_on_when_its_server_is_killed(tmp_path: Path) -> None:
    with Installation() as site:
        server = site.server(OSTLER_PRIVATE_NETWORKS="1", OSTLER_GIT_CACHE=str(site.directory / "git"))
        site.agent("host", labels="linux").connected()
        gate = site.outside / "gate"
        shop = BareRepository(tmp_path / "shop", "shop")
        shop.commit({".ostler/workflows/ci.yml": _GATED.format(script=gated(gate))})
        assert site.ostler("repository", "add", "shop", shop.url).status == 0
        run_id = site.ostler("workflow", "run", "ci.yml", "--repository", "shop").out.strip()
        site.until("the first job began", lambda: "begun" in site.log(_job(site, run_id, 0)))
        server.process.send(signal.SIGKILL)
        gate.touch()
        server.start()
        site.until("the run has ended", lambda: site.get(f"/api/v1/runs/{run_id}")["state"] == "succeeded")
        assert "after the crash" in site.log(_job(site, run_id, 1))


def _job(site: Installation, run_id: str, place: int) -> str:
    jobs = site.get(f"/api/v1/runs/{run_id}")["jobs"]
    return jobs[place]["id"] if place < len(jobs) else "none"
