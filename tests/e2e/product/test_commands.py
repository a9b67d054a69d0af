"""The commands around runs: what they print, what they change, what they exit with."""

import signal
from pathlib import Path

from tests.parts.installation import Installation, gated


def test_runs_are_listed_viewed_and_watched(site: Installation) -> None:
    submitted = site.ostler("job", "submit", "--no-wait", "--name", "listed", "--", "sh", "-c", "echo out; exit 6")
    run_id = submitted.out.strip()
    assert (submitted.status, site.ostler("run", "watch", run_id).status) == (0, 6)
    listed = site.ostler("run", "list", "--state", "failed", "--search", "listed", "--json").json
    assert [run["id"] for run in listed["runs"]] == [run_id]
    assert run_id in site.ostler("run", "list").out
    viewed = site.ostler("run", "view", run_id).out
    assert "step_failed" in viewed
    assert "attempt 1" in viewed
    job_id = site.get(f"/api/v1/runs/{run_id}")["jobs"][0]["id"]
    assert site.ostler("job", "view", job_id, "--json").json["exit_code"] == 6


def test_a_log_is_read_from_any_line_and_followed_to_its_end(site: Installation, gate: Path) -> None:
    job_id = site.submit("seq 1 500; " + gated(gate) + "; seq 601 700")
    run_id = site.job(job_id)["run_id"]
    site.until_logged(job_id, "begun")
    following = site.start("run", "logs", run_id, "--follow", "--since-line", "499")
    following.until_said("begun")
    gate.touch()
    assert following.wait() == 0
    assert following.text.splitlines() == ["499", "500", "begun", "passed", *map(str, range(601, 701))]
    assert site.ostler("run", "logs", run_id, "--since-line", "600").out.splitlines() == [
        str(number) for number in range(698, 701)
    ]
    stamped = site.ostler("run", "logs", run_id, "--timestamps").out.splitlines()
    assert stamped[0].endswith("Z 1")
    assert len(stamped) == 602


def test_cancel_stops_a_running_job_within_a_second_and_may_be_repeated(site: Installation) -> None:
    job_id = site.submit("echo begun; exec sleep 60")
    run_id = site.job(job_id)["run_id"]
    site.until_logged(job_id, "begun")
    cancelled = site.ostler("run", "cancel", run_id, "--reason", "not needed", "--wait", "--json")
    assert (cancelled.status, cancelled.json["state"]) == (0, "cancelled")
    job = site.job(job_id)
    assert job["failure"] == {"cause": "cancelled", "detail": "", "evidence": "not needed"}
    assert job["finished_at"] - job["started_at"] < 5_000_000
    assert site.ostler("run", "cancel", run_id).status == 0
    assert site.job(job_id)["finished_at"] == job["finished_at"]


def test_interrupting_a_submission_cancels_its_run(site: Installation) -> None:
    submitting = site.start("job", "submit", "--", "sh", "-c", "echo begun; exec sleep 60")
    submitting.until_said("begun\n")
    submitting.send(signal.SIGINT)
    assert submitting.wait() == 130
    run_id = submitting.text.split()[1]
    site.until("the run is cancelled", lambda: site.get(f"/api/v1/runs/{run_id}")["state"] == "cancelled")


def test_labels_choose_a_runner_and_a_missing_one_is_explained(site: Installation) -> None:
    agent = site.agent("gpu-1", labels="gpu,linux").connected()
    fitting = site.submit("echo on $OSTLER_JOB_ID", labels=["gpu"])
    assert site.until_ended(fitting)["runner_name"] == "gpu-1"
    waiting = site.submit("true", labels=["gpu", "arm64"])
    explained = site.ostler("queue", "explain", waiting)
    assert explained.status == 0
    assert "arm64" in explained.out
    assert "gpu-1: lacks" in explained.out
    assert waiting in site.ostler("queue", "list").out
    reason = site.ostler("queue", "explain", waiting, "--json").json
    assert [near["lacks"] for near in reason["near"] if near["runner_name"] == "gpu-1"] == [["label `arm64`"]]
    site.ostler("run", "cancel", site.job(waiting)["run_id"])
    assert site.job(waiting)["state"] == "cancelled"
    agent.process.close()


def test_a_pinned_job_waits_for_its_runner_and_never_falls_to_another(site: Installation) -> None:
    job_id = site.submit("true", runner_name="not-there-yet")
    reason = site.ostler("queue", "explain", job_id)
    assert "not-there-yet" in reason.out
    assert site.job(job_id)["state"] == "queued"
    agent = site.agent("not-there-yet").connected()
    assert site.until_ended(job_id)["runner_name"] == "not-there-yet"
    agent.process.close()


def test_pools_are_made_used_and_removed(site: Installation) -> None:
    created = site.ostler("pool", "create", "build", "--description", "for builds", "--label", "linux", "--multiple")
    assert created.status == 0
    assert "ostler token create --pool build" in created.err
    job_id = site.submit("echo in the pool", pool="build")
    assert site.job(job_id)["pool_name"] == "build"
    assert site.ostler("pool", "view", "build", "--json").json["status"] == "inactive"
    refused = site.ostler("pool", "delete", "build")
    assert refused.status == 1
    assert "code: pool_in_use" in refused.err
    agent = site.agent("builder-1", pool="build").connected()
    assert site.until_ended(job_id)["runner_name"] == "builder-1"
    assert site.ostler("pool", "update", "build", "--disable").status == 0
    assert site.ostler("pool", "view", "build", "--json").json["status"] == "disabled"
    agent.process.close()
    assert site.ostler("pool", "delete", "build").status == 0
    assert "build" not in site.ostler("pool", "list").out


def test_runners_pause_and_resume(site: Installation) -> None:
    agent = site.agent("patient").connected()
    assert site.ostler("runner", "pause", "patient", "--note", "new disk").status == 0
    job_id = site.submit("true", runner_name="patient")
    viewed = site.ostler("runner", "view", "patient").out
    assert "paused" in viewed
    assert "new disk" in viewed
    assert "pause" in site.ostler("queue", "explain", job_id).out
    assert site.ostler("runner", "resume", "patient").status == 0
    assert site.until_ended(job_id)["state"] == "succeeded"
    assert "patient" in site.ostler("runner", "list").out
    agent.process.close()


def test_a_drained_runner_finishes_its_job_and_takes_no_other(site: Installation, gate: Path) -> None:
    agent = site.agent("leaving").connected()
    running = site.submit(gated(gate), runner_name="leaving")
    site.until_logged(running, "begun")
    assert site.ostler("runner", "drain", "leaving").status == 0
    waiting = site.submit("true", runner_name="leaving")
    gate.touch()
    assert site.until_ended(running)["state"] == "succeeded"
    assert "drain" in site.ostler("queue", "explain", waiting).out
    assert site.job(waiting)["state"] == "queued"
    site.ostler("run", "cancel", site.job(waiting)["run_id"])
    agent.process.close()


def test_a_single_run_agent_ends_after_one_job(site: Installation) -> None:
    agent = site.agent("once", single_run="true").connected()
    job_id = site.submit("echo once", runner_name="once")
    assert site.until_ended(job_id)["state"] == "succeeded"
    assert agent.process.wait() == 0


def test_an_agent_joins_by_its_arguments_alone(site: Installation) -> None:
    made = site.ostler("token", "create", "--pool", "hosted", "--name", "for a colleague")
    assert "ostler agent join" in made.err
    secret = made.out.strip()
    joining = site.start("agent", "join", site.url, secret, "joined", "by hand", "red,blue", "green")
    job_id = site.submit("echo joined", labels=["red", "green"])
    assert site.until_ended(job_id)["runner_name"] == "joined"
    assert site.get("/api/v1/runners/joined")["labels"] == ["blue", "green", "red"]
    used = site.ostler("agent", "join", site.url, secret, "second")
    assert (used.status, "enrolment_refused" in used.err) == (4, True)
    joining.close()


def test_tokens_are_listed_without_their_secrets_and_revoked(site: Installation) -> None:
    secret = site.ostler("token", "create", "--api", "--name", "script", "--json").json["secret"]
    as_script = {"OSTLER_URL": site.url, "OSTLER_TOKEN": secret}
    assert site.ostler("run", "list", env=as_script).status == 0
    listed = site.ostler("token", "list", "--json")
    assert secret not in listed.out
    token_id = next(token["id"] for token in listed.json["tokens"] if token["name"] == "script")
    assert site.ostler("token", "revoke", token_id).status == 0
    refused = site.ostler("run", "list", env=as_script)
    assert refused.status == 4
    assert "code: " in refused.err
