"""The commands around what jobs keep: what they print, what they write, what they exit with."""

import hashlib
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product.hand_runner import HandRunner
from tests.parts.installation import Installation


class Maker:
    """A job that is under way on a runner of the test's own, and leaves artifacts."""

    def __init__(self, site: Installation, runner: HandRunner) -> None:
        self._site = site
        self.claim, self._token = runner.begin()

    @property
    def run_id(self) -> str:
        return self.claim["run_id"]

    def keep(self, name: str, content: bytes, **more: object) -> str:
        artifact_id = self._call("POST", "artifacts", {"name": name, **more})["id"]
        self._call("PUT", f"artifacts/{artifact_id}/content", content)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self._call("POST", f"artifacts/{artifact_id}/finish", {"size": len(content), "digest": digest})
        return artifact_id

    def _call(self, method: str, path: str, body: object) -> Any:  # noqa: ANN401 - the edge
        raw = body if isinstance(body, bytes) else b""
        answer = self._site.call(method, f"/job/v1/{path}", None if raw else body, token=self._token, raw=raw)
        assert answer.status < 300, answer
        return answer.body


def archive(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in files.items():
            packed.writestr(name.replace("__", "/"), text)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def maker(site: Installation) -> Maker:
    return Maker(site, HandRunner(site, "by-hand"))


def test_artifacts_are_listed_downloaded_and_deleted(site: Installation, maker: Maker, tmp_path: Path) -> None:
    report = archive(**{"index.html": "<p>", "css__a.css": "a{}"})
    kept = maker.keep("report", report)
    maker.keep("notes.txt", b"hello", mime_type="text/plain")
    listed = site.ostler("artifact", "list", maker.run_id)
    assert [line.split()[0] for line in listed.out.splitlines()] == ["NAME", "notes.txt", "report"]
    assert kept in listed.out
    assert [item["size"] for item in site.ostler("artifact", "list", maker.run_id, "--json").json["artifacts"]] == [
        5,
        len(report),
    ]
    all_of_them = site.ostler("artifact", "download", maker.run_id, "--to", str(tmp_path / "all"))
    assert (all_of_them.status, all_of_them.err) == (0, "")
    assert all_of_them.out.splitlines() == [str(tmp_path / "all" / "notes.txt"), str(tmp_path / "all" / "report")]
    assert (tmp_path / "all" / "report" / "css" / "a.css").read_text() == "a{}"
    assert (tmp_path / "all" / "notes.txt").read_bytes() == b"hello"
    packed = site.ostler("artifact", "download", maker.run_id, "report", "--zip", "--to", str(tmp_path), "--json").json
    assert Path(packed["artifacts"][0]["path"]) == tmp_path / "report.zip"
    assert (tmp_path / "report.zip").read_bytes() == report
    again = site.ostler("artifact", "download", maker.run_id, "report", "--to", str(tmp_path / "all"))
    assert (again.status, "code: file_exists" in again.err) == (1, True)
    (tmp_path / "all" / "report" / "stale").touch()
    replaced = ("artifact", "download", maker.run_id, "report", "--to", str(tmp_path / "all"), "--overwrite")
    assert site.ostler(*replaced).status == 0
    assert sorted(path.name for path in (tmp_path / "all" / "report").iterdir()) == ["css", "index.html"]
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["notes.txt", "report"]
    assert site.ostler("artifact", "delete", kept).status == 0
    gone = site.ostler("artifact", "download", maker.run_id, "report", "--to", str(tmp_path))
    assert (gone.status, "code: artifact_missing" in gone.err) == (1, True)
    assert (site.ostler("artifact", "delete", kept).status, site.ostler("artifact", "list", "run_none").status) == (
        1,
        1,
    )


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil"])
def test_an_archive_that_leads_out_of_its_folder_is_refused(
    site: Installation, maker: Maker, tmp_path: Path, name: str
) -> None:
    kept = f"evil-{name.encode().hex()}"
    maker.keep(kept, archive(**{name: "evil"}))
    refused = site.ostler("artifact", "download", maker.run_id, kept, "--to", str(tmp_path / "here"))
    assert (refused.status, "code: artifact_unsafe" in refused.err) == (1, True)
    assert list(tmp_path.rglob("*")) == [tmp_path / "here"]


def test_a_job_without_a_workflow_keeps_artifacts(site: Installation, tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'from ostler.cli.main import main; main()'"
    script = f"""mkdir -p out/deep; echo made > out/deep/file; echo note > note
        {command} artifact upload report out note && {command} artifact upload report out
        echo "code $? token $OSTLER_JOB_TOKEN" """
    done = site.ostler("job", "submit", "--artifacts", "--", "sh", "-c", script)
    assert done.status == 0, done.err
    assert "code 1 token ***" in done.out
    assert "artifact_not_kept" in done.out
    run_id = site.get("/api/v1/runs")["runs"][0]["id"]
    assert site.ostler("artifact", "download", run_id, "--to", str(tmp_path)).status == 0
    assert (tmp_path / "report" / "deep" / "file").read_text() == "made\n"
    assert (tmp_path / "report" / "note").read_text() == "note\n"
    plain = site.ostler("job", "submit", "--", "sh", "-c", f"env; {command} artifact upload report /etc/hostname")
    assert ("OSTLER_JOB_TOKEN" in plain.out, "code: no_job_token" in plain.out, plain.status) == (False, True, 1)


def test_an_upload_that_is_refused_learns_why_although_it_sends_on(site: Installation) -> None:
    refused = site.call("PUT", "/job/v1/artifacts/art_x/content", token="none", raw=bytes(32 * 1024 * 1024))
    assert (refused.status, refused.body["code"]) == (401, "unauthenticated")


def test_an_installation_without_caches_says_so(site: Installation) -> None:
    listed = site.ostler("cache", "list")
    assert (listed.status, listed.out, listed.err) == (0, "", "no cache entries\n")
    assert site.ostler("cache", "list", "--json").json == {}
    assert site.ostler("cache", "prune", "--unused", "24h", "--keep", "1GiB", "--json").json == {
        "entries": 0,
        "bytes": 0,
    }
    refused = site.ostler("cache", "delete", "cache_none")
    assert (refused.status, "code: not_found" in refused.err) == (1, True)
    unknown = site.ostler("cache", "list", "--repository", "none")
    assert (unknown.status, "there is no repository 'none'" in unknown.err) == (1, True)
