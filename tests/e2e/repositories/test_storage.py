"""Artifacts and caches of real workflow runs, kept by the built-in actions and read by jobs and by people."""

from pathlib import Path

from tests.e2e.repositories.conftest import Repository
from tests.parts.installation import Installation

_KEEPS = """
on: workflow_dispatch
jobs:
  make:
    runs-on: linux
    steps:
      - uses: actions/cache@v4
        id: deps
        with: {path: deps, key: npm-1}
      - run: |
          echo "cache hit: '${{ steps.deps.outputs.cache-hit }}'"
          mkdir -p deps report/css
          test -e deps/left || echo "fetched once" > deps/left
          echo "made by ${{ github.run_id }}" > report/index.html
          echo "a{}" > report/css/a.css
      - uses: actions/upload-artifact@v4
        with: {name: report, path: report, retention-days: 3}
  use:
    needs: make
    runs-on: linux
    steps:
      - uses: actions/download-artifact@v4
        with: {name: report, path: got}
      - uses: actions/cache/restore@v4
        id: deps
        with: {path: deps, key: npm-2, restore-keys: npm-}
      - run: |
          cat got/index.html got/css/a.css deps/left
          echo "matched: ${{ steps.deps.outputs.cache-matched-key }}"
"""


def test_one_job_keeps_what_the_next_job_the_next_run_and_people_read(
    site: Installation, repository: Repository, tmp_path: Path
) -> None:
    repository("keeps", {"ci.yml": _KEEPS})
    runs: list[str] = []
    for hit in ("cache hit: ''", "cache hit: 'true'"):
        done = site.ostler("workflow", "run", "ci.yml", "--repository", "keeps", "--watch")
        assert done.status == 0, done.out + done.err
        run_id = site.get("/api/v1/runs?search=ci.yml")["runs"][0]["id"]
        for said in (hit, f"made by {run_id}", "a{}", "fetched once", "matched: npm-1"):
            assert said in done.out, done.out
        runs.append(run_id)
    for run_id in runs:
        (kept,) = site.ostler("artifact", "list", run_id, "--json").json["artifacts"]
        assert kept["name"] == "report"
        assert kept["expires_at"] - kept["created_at"] == 3 * 86_400_000_000
        assert site.ostler("artifact", "download", run_id, "report", "--to", str(tmp_path / run_id)).status == 0
        assert (tmp_path / run_id / "report" / "index.html").read_text() == f"made by {run_id}\n"
    (entry,) = site.ostler("cache", "list", "--repository", "keeps", "--json").json["caches"]
    assert (entry["key"], entry["ref"], entry.get("trusted", True)) == ("npm-1", "refs/heads/main", True)
    assert entry["used_at"] >= entry["created_at"]
    assert site.ostler("cache", "prune", "--repository", "keeps", "--keep", "1", "--json").json["entries"] == 1
    assert site.ostler("cache", "list", "--repository", "keeps").err == "no cache entries\n"
