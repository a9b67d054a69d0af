"""A workflow run by hand, from the command line to the logs of its jobs."""

from tests.e2e.repositories.conftest import Repository
from tests.parts.installation import Installation

_CHAIN = """
on:
  workflow_dispatch:
    inputs:
      who: {type: string, default: world}
      count: {type: number, default: 2}
jobs:
  first:
    runs-on: [self-hosted, Linux]
    outputs: {greeting: "${{ steps.say.outputs.greeting }}"}
    steps:
      - id: say
        run: |
          echo "greeting=hello ${{ inputs.who }}" >> "$GITHUB_OUTPUT"
          echo "the token is $TOKEN"
        env: {TOKEN: "${{ secrets.DEPLOY_TOKEN }}"}
  cells:
    needs: first
    runs-on: ubuntu-latest
    strategy: {matrix: {region: [north, south]}}
    steps:
      - run: echo "${{ needs.first.outputs.greeting }} from ${{ matrix.region }} in ${{ vars.REALM }}"
  never:
    needs: cells
    if: inputs.count > 2
    runs-on: linux
    steps: [{run: exit 1}]
"""
_FAILS = """
on: workflow_dispatch
jobs:
  breaks: {runs-on: linux, steps: [{run: exit 3}]}
  after: {runs-on: linux, needs: breaks, steps: [{run: "true"}]}
  always: {runs-on: linux, needs: breaks, if: always(), steps: [{run: echo cleaned up}]}
"""
_BROKEN = """
on: workflow_dispatch
jobs: {a: {steps: 7}}
"""


def test_a_dispatched_workflow_runs_all_its_jobs(site: Installation, repository: Repository) -> None:
    repository("chain", {"ci.yml": _CHAIN})
    site.ostler("secret", "set", "DEPLOY_TOKEN", "--repository", "chain", stdin="very-secret-value\n")
    site.ostler("variable", "set", "REALM", "eu", "--repository", "chain")
    done = site.ostler("workflow", "run", "ci.yml", "--repository", "chain", "--input", "who=ada", "--watch")
    assert done.status == 0, done.err
    assert "the token is ***" in done.out
    assert "very-secret-value" not in done.out
    for region in ("north", "south"):
        assert f"hello ada from {region} in eu" in done.out
    listed = site.ostler("workflow", "list", "--repository", "chain")
    assert "ci.yml" in listed.out
    events = site.get("/api/v1/repositories/chain/events")["triggers"]
    run_id = events[0]["outcome"].removeprefix("started ")
    nodes = {node["id"]: node for node in site.get(f"/api/v1/runs/{run_id}/workflow")["nodes"]}
    assert nodes["never"]["conclusion"] == "skipped"
    assert [nodes[f"cells[{index}]"]["matrix"]["region"] for index in (0, 1)] == ["north", "south"]


def test_a_failure_skips_what_needs_it(site: Installation, repository: Repository) -> None:
    repository("fails", {"ci.yml": _FAILS})
    done = site.ostler("workflow", "run", "ci.yml", "--repository", "fails", "--watch")
    assert done.status in (1, 3), done.err
    assert "cleaned up" in done.out
    (run,) = [run for run in site.get("/api/v1/runs?search=ci.yml")["runs"] if run["state"] == "failed"]
    nodes = {node["id"]: node["conclusion"] for node in site.get(f"/api/v1/runs/{run['id']}/workflow")["nodes"]}
    assert nodes == {"breaks": "failure", "after": "skipped", "always": "success"}
    shown = site.ostler("run", "view", run["id"]).out
    assert ".github/workflows/ci.yml of fails, run 1" in shown
    assert "skipped  after: " in shown


def test_what_cannot_be_run_is_said(site: Installation, repository: Repository) -> None:
    repository("mistakes", {"broken.yml": _BROKEN, "push.yml": _FAILS.replace("workflow_dispatch", "push")})
    broken = site.ostler("workflow", "run", "broken.yml", "--repository", "mistakes")
    assert broken.status == 1
    assert "line 3" in broken.err
    pushed = site.ostler("workflow", "run", "push.yml", "--repository", "mistakes")
    assert "does not know workflow_dispatch" in pushed.err
    absent = site.ostler("workflow", "run", "other.yml", "--repository", "mistakes")
    assert "there is no workflow 'other.yml'; there is broken.yml, push.yml" in absent.err
    branch = site.ostler("workflow", "run", "push.yml", "--repository", "mistakes", "--ref", "nowhere")
    assert "no branch and no tag 'nowhere'" in branch.err


_FLAKY = """
on: workflow_dispatch
jobs:
  steady:
    runs-on: linux
    outputs: {{at: "${{{{ steps.s.outputs.at }}}}"}}
    steps: [{{id: s, run: "echo at=$(date +%s%N) >> $GITHUB_OUTPUT"}}]
  flaky:
    runs-on: linux
    needs: steady
    steps: [{{run: "echo from ${{{{ needs.steady.outputs.at }}}}; test -e {gate}"}}]
  last:
    runs-on: linux
    needs: flaky
    steps: [{{run: "echo attempt ${{{{ github.run_attempt }}}}"}}]
"""


def test_what_failed_runs_again_with_what_was_kept(site: Installation, repository: Repository) -> None:
    gate = site.outside / "flaky"
    gate.unlink(missing_ok=True)
    repository("flaky", {"ci.yml": _FLAKY.format(gate=gate)})
    first = site.ostler("workflow", "run", "ci.yml", "--repository", "flaky", "--json").json["id"]
    assert site.ostler("run", "watch", first).status == 1
    gate.touch()
    again = site.ostler("run", "rerun", first, "--failed", "--watch", "--json")
    assert again.status == 0, again.err
    second = again.json
    assert [job["name"] for job in second["jobs"]] == ["flaky", "last"]
    assert "attempt 2" in site.log(second["jobs"][1]["id"])
    kept = [_stamp(site.log(job["id"])) for job in (*site.get(f"/api/v1/runs/{first}")["jobs"], second["jobs"][0])]
    assert kept[-1] == kept[-2]
    attempts = site.get(f"/api/v1/runs/{second['id']}/workflow")["attempts"]
    assert [each.get("conclusion") for each in attempts] == ["failure", "success"]
    assert "was run again already" in site.ostler("run", "rerun", first).err


def _stamp(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.startswith("from ")]


_CELLS = """
on:
  workflow_dispatch: {inputs: {who: {type: string}}}
jobs:
  cell:
    runs-on: linux
    strategy: {matrix: {n: [1, 2], os: [debian]}}
    steps:
      - run: echo "cell ${{ matrix.n }} on ${{ matrix.os }} for ${{ inputs.who }} at $GITHUB_SHA by ${{ vars.TEAM }}"
"""


def test_a_job_is_run_again_elsewhere_as_it_was(site: Installation, repository: Repository) -> None:
    shop = repository("cells", {"ci.yml": _CELLS})
    site.ostler("variable", "set", "TEAM", "blue's", "--repository", "cells")
    run = site.ostler("workflow", "run", "ci.yml", "--repository", "cells", "--input", "who=a b", "--json").json["id"]
    assert site.ostler("run", "watch", run).status == 0
    sha = shop.commit({"later.txt": "a later commit"}, push="main")
    job = next(job for job in site.get(f"/api/v1/runs/{run}")["jobs"] if "(2, debian)" in job["name"])
    printed = site.ostler("repro", job["id"])
    assert "--matrix n=2 --matrix os=debian --input 'who=a b'" in printed.out
    done = site.ostler("repro", job["id"], "--run", "--directory", str(site.outside / f"repro-{sha[:8]}"))
    assert done.status == 0, done.err
    said = done.out + done.err
    assert "cell 2 on debian for a b at " in said
    assert " by blue's" in said
    assert sha not in said
    assert "cell 1" not in said
