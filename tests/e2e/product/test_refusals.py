"""What people get wrong: each mistake is named, with the fix, a stable code and the right exit code.

1 the command failed, 2 it was used wrongly, 4 the caller is not allowed to.
"""

import os
import re
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.parts.clock import find_faketime
from tests.parts.errors import PartMissing
from tests.parts.installation import Finished, Installation
from tests.parts.ports import LOOPBACK, free_port

_SPEC = {"name": "twice", "steps": [{"name": "once", "script": "true"}]}


def refused(finished: Finished, status: int, code: str, *texts: str) -> None:
    """Check that a refusal helps: cause, fix and code, no traceback, nothing on standard output."""
    assert finished.status == status, finished
    assert f"code: {code}" in finished.err, finished
    assert "fix: " in finished.err, finished
    assert "Traceback" not in finished.err
    assert finished.out == ""
    for text in texts:
        assert text in finished.err, finished


class Misconfigured(NamedTuple):
    """A configuration file of an agent and what is said of it."""

    text: str
    said: tuple[str, ...]


MISCONFIGURED = {
    "not YAML": Misconfigured("name: [a, b\nlabels: x", (".yml:2", "not YAML")),
    "not a duration": Misconfigured("polling_interval: 5 minutes", (".yml:1: polling_interval", "`1m`")),
    "not a number": Misconfigured("request_retry_count: some", (".yml:1: request_retry_count",)),
    "not a choice": Misconfigured("name: x\nisolation: jail", (".yml:2: isolation", "sandbox")),
    "twice": Misconfigured("name: a\nname: b", (".yml:2", "second time")),
}


@pytest.mark.parametrize("case", MISCONFIGURED)
def test_a_wrong_configuration_is_refused_with_file_and_line(site: Installation, case: str) -> None:
    path = site.directory / "agent.yml"
    path.write_text(MISCONFIGURED[case].text, encoding="utf-8")
    finished = site.ostler("agent", "run", "--config", str(path))
    refused(finished, 2, "configuration_malformed", *MISCONFIGURED[case].said)


def test_an_unknown_key_is_named_and_the_agent_runs(site: Installation) -> None:
    path = site.directory / "odd.yml"
    path.write_text("labls: [typo]\n", encoding="utf-8")
    agent = site.agent("odd", None, "--config", str(path)).connected()
    assert "odd.yml:1: unknown key `labls` is ignored; did you mean `labels`?" in agent.process.text
    agent.process.close()


def test_a_wrong_token_is_refused(site: Installation) -> None:
    agent = site.agent("stranger", token="ort_wrong")
    assert agent.process.wait() == 4
    assert "code: enrolment_refused" in agent.process.text
    assert "ostler token create --pool" in agent.process.text


def test_an_expired_token_is_refused(site: Installation) -> None:
    made = site.post("/api/v1/tokens", {"kind": "registration", "pool": "hosted", "uses": 1, "ttl_ms": 1000})
    site.until("the token has expired", lambda: time.time() * 1_000_000 > made["token"]["expires_at"])
    agent = site.agent("late", token=made["secret"])
    assert agent.process.wait() == 4
    assert "expired" in agent.process.text


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/v1/runs"), ("POST", "/agent/v1/claims")])
def test_a_call_without_a_valid_token_is_refused(site: Installation, method: str, path: str) -> None:
    answer = site.call(method, path, {} if method == "POST" else None, token="nobody")
    assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    assert answer.body["fix"]


def test_a_command_with_a_wrong_token_exits_with_four(site: Installation) -> None:
    finished = site.ostler("run", "list", env={"OSTLER_URL": site.url, "OSTLER_TOKEN": "wrong"})
    refused(finished, 4, "unauthenticated", "ostler login")


def test_a_token_from_a_file_may_end_with_a_line_and_may_not_hold_two(site: Installation) -> None:
    token = site.post("/api/v1/tokens", {"kind": "api", "name": "file"})["secret"]
    assert site.ostler("run", "list", env={"OSTLER_TOKEN": f"{token}\r\n", "OSTLER_URL": f" {site.url}\n"}).status == 0
    finished = site.ostler("run", "list", env={"OSTLER_TOKEN": f"{token}\n{token}"})
    refused(finished, 4, "token_malformed", "OSTLER_TOKEN")


def test_the_doctor_names_where_a_refused_token_came_from(site: Installation) -> None:
    finished = site.ostler("doctor", env={"OSTLER_TOKEN": "wrong"})
    assert finished.status == 1
    assert "the token of OSTLER_TOKEN is refused" in finished.out


def test_a_machine_is_signed_in_by_the_printed_link_alone(site: Installation) -> None:
    elsewhere = {"OSTLER_CONFIG_DIR": str(site.directory / "elsewhere")}
    printed = next((site.directory / "logs").glob("up*.log")).read_text(encoding="utf-8")
    link = re.search(r"http\S+/sign-in/\S+", printed)
    assert link is not None
    assert site.ostler("login", link[0], env=elsewhere).status == 0
    assert site.ostler("run", "list", env=elsewhere).status == 0
    assert site.ostler("login", site.url, env=elsewhere).status == 2


def test_a_machine_that_knows_no_server_is_told_how_to_know_one(site: Installation) -> None:
    finished = site.ostler("run", "list", env={"OSTLER_CONFIG_DIR": str(site.directory / "nowhere")})
    refused(finished, 1, "context_missing", "ostler up", "ostler login")


def test_an_unreachable_server_is_named(site: Installation) -> None:
    url = f"http://{LOOPBACK}:{free_port()}"
    finished = site.ostler("run", "list", url=url)
    refused(finished, 1, "transport_failed", url)


def test_an_agent_waits_for_a_server_that_is_not_there(site: Installation) -> None:
    agent = site.agent("early", f"http://{LOOPBACK}:{free_port()}")
    agent.process.until_said('"event":"enrolment_delayed"')
    assert agent.process.running
    agent.process.close()


def test_a_clock_that_is_wrong_is_noticed_and_made_up_for(site: Installation) -> None:
    try:
        preload = find_faketime()
    except PartMissing as missing:
        pytest.skip(str(missing))
    agent = site.agent("tomorrow", LD_PRELOAD=str(preload), FAKETIME="+1d")
    agent.connected()
    assert '"event":"clock_skew"' in agent.process.text
    job_id = site.submit("echo now", runner_name="tomorrow")
    assert site.until_ended(job_id)["state"] == "succeeded"
    agent.process.close()


def test_a_data_directory_that_cannot_be_made_is_refused(site: Installation) -> None:
    (site.directory / "a-file").touch()
    finished = site.ostler("up", "--data", str(site.directory / "a-file" / "data"))
    refused(finished, 1, "data_directory_unusable", "a-file", "--data")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file that root may not write")
def test_a_database_that_cannot_be_written_is_refused(site: Installation) -> None:
    folder = site.directory / "locked"
    folder.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)), check=True)
    try:
        finished = site.ostler("up", "--data", str(folder / "data"))
    finally:
        subprocess.run(("umount", str(folder)), check=True)
    refused(finished, 1, "data_directory_unusable", "Read-only")


def test_a_data_directory_in_use_is_refused(site: Installation) -> None:
    finished = site.ostler("up", "--data", str(site.directory / "data"), "--port", str(free_port()))
    refused(finished, 1, "already_running", "--data")


def test_a_port_in_use_is_refused(site: Installation) -> None:
    port = site.url.rsplit(":", 1)[-1]
    finished = site.ostler("up", "--data", str(site.directory / "second"), "--port", port)
    refused(finished, 1, "port_in_use", f":{port}", "--port")


def test_the_schema_of_a_newer_release_is_refused(site: Installation) -> None:
    newer = site.directory / "newer"
    assert _made(site, newer)
    with sqlite3.connect(newer / "ostler.db") as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'post', '9999_future.sql', 'unknown')")
    connection.close()
    finished = site.ostler("up", "--data", str(newer), "--port", str(free_port()))
    refused(finished, 1, "schema_too_new", "9999_future.sql")


def _made(site: Installation, data: Path) -> bool:
    """Let a server of its own make the database."""
    command = ("up", "--data", str(data), "--runners", "0", "--port", "0")
    process = site.start(*command, OSTLER_CONFIG_DIR=str(data))
    process.until_said("sign in once at")
    process.close()
    return (data / "ostler.db").exists()


def test_an_oversized_body_is_refused(site: Installation) -> None:
    answer = site.call("POST", "/api/v1/runs", raw=b'{"spec":"' + b"x" * (32 << 20) + b'"}')
    assert (answer.status, answer.body["code"]) == (413, "body_too_large")


def test_an_unknown_id_is_refused(site: Installation) -> None:
    refused(site.ostler("run", "view", "run_nowhere"), 1, "not_found")
    refused(site.ostler("runner", "pause", "nobody"), 1, "not_found")
    refused(site.ostler("job", "submit", "--pool", "nowhere", "--", "true"), 1, "not_found", "nowhere")


def test_the_same_submission_twice_is_one_run(site: Installation) -> None:
    first = site.post("/api/v1/runs", {"spec": _SPEC, "key": "sub_twice"})
    second = site.post("/api/v1/runs", {"spec": _SPEC, "key": "sub_twice"})
    assert first["id"] == second["id"]
    other = site.call("POST", "/api/v1/runs", {"spec": {**_SPEC, "name": "other"}, "key": "sub_twice"})
    assert (other.status, other.body["code"]) == (409, "idempotency_mismatch")
    site.until_ended(first["jobs"][0]["id"])
    assert len([run for run in site.get("/api/v1/runs?search=twice")["runs"] if run["name"] == "twice"]) == 1


MISUSED = {
    "no command": (("job", "submit"), "command"),
    "both": (("job", "submit", "--file", "x", "--", "true"), "--file"),
    "bad duration": (("job", "submit", "--timeout", "soon", "--", "true"), "duration"),
    "bad pair": (("job", "submit", "--env", "NAME", "--", "true"), "NAME=VALUE"),
    "missing secret": (("job", "submit", "--secret", "NOT_SET_ANYWHERE", "--", "true"), "NOT_SET_ANYWHERE"),
    "missing file": (("job", "submit", "--file", "no-such-file.sh"), "no-such-file.sh"),
    "unknown command": (("run", "lst"), "lst"),
    "nothing to change": (("pool", "update", "hosted"), "what to change"),
}


@pytest.mark.parametrize("case", MISUSED)
def test_a_command_used_wrongly_exits_with_two(site: Installation, case: str) -> None:
    arguments, said = MISUSED[case]
    finished = site.ostler(*arguments)
    assert finished.status == 2, finished
    assert said in finished.err
    assert "Traceback" not in finished.err
