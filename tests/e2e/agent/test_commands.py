"""The commands of ``ostler agent``: configure writes what run reads, join takes its arguments, doctor names the fix."""

import asyncio
import json
import os
import signal
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ostler.agent.configuration import load
from ostler.agent.errors import StateInUse
from ostler.agent.health import Health, serve_health
from ostler.agent.logging import Log, no_sink
from ostler.agent.metrics import Contact
from ostler.agent.wiring import directories, own
from ostler.cli.agent import agent
from ostler.effects import system_effects
from tests.e2e.agent.http_server import serving
from tests.unit.agent.control_plane import REGISTRATION_TOKEN


async def _command(directory: Path, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from ostler.cli.main import main; main()",
        "agent",
        *arguments,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def _told(pid: int) -> bytes:
    """What everybody, or its own user, can read about a process."""
    return b"".join(file.read_bytes() for name in ("cmdline", "environ") for file in Path(f"/proc/{pid}").glob(name))


def test_join_takes_address_token_name_description_and_labels(tmp_path: Path) -> None:
    """Rows 154, 155, 159."""

    async def scenario() -> None:
        async with serving() as server:
            process = await _command(
                tmp_path,
                *("join", server.url + "/", REGISTRATION_TOKEN, "my runner", "under the desk", "linux", "gpu,x86_64"),
                OSTLER_AGENT_HTTP_SERVER_PORT="0",
            )
            await server.plane.until(lambda: server.plane.hellos)
            enrolled = server.plane.enrolled[0]
            assert (enrolled.name, enrolled.description) == ("my runner", "under the desk")
            assert enrolled.labels == ["linux", "gpu", "x86_64"]
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0

    asyncio.run(scenario())


def test_a_token_comes_through_an_inherited_descriptor(tmp_path: Path) -> None:
    """It beats what the environment says, and is in neither the arguments nor the environment of the process."""

    async def scenario() -> None:
        async with serving() as server:
            reader, writer = os.pipe()
            os.write(writer, REGISTRATION_TOKEN.encode() + b"\n")
            os.close(writer)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", "from ostler.cli.main import main; main()", "agent", "run"),
                *("--token-fd", str(reader), "--service-url", server.url, "--http-server-port", "0"),
                cwd=tmp_path,
                env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REGISTRATION_TOKEN": "another"},
                pass_fds=[reader],
                stderr=asyncio.subprocess.PIPE,
            )
            os.close(reader)
            await server.plane.until(lambda: server.plane.hellos)
            assert REGISTRATION_TOKEN.encode() not in _told(process.pid)
            process.send_signal(signal.SIGTERM)
            _, errors = await process.communicate()
            assert process.returncode == 0, errors
            assert REGISTRATION_TOKEN.encode() not in errors

    asyncio.run(scenario())


def test_the_environment_alone_starts_a_runner(tmp_path: Path) -> None:
    """Rows 107, 110, 157; the log says who it is, the debug switch says more (rows 191, 344)."""

    async def scenario() -> None:
        async with serving() as server:
            process = await _command(
                tmp_path,
                "run",
                API_URL=server.url,
                REGISTRATION_TOKEN=REGISTRATION_TOKEN,
                RUNNER_NAME="from the environment",
                RUNNER_LABELS="linux,docker",
                OSTLER_AGENT_HTTP_SERVER_PORT="0",
                OSTLER_AGENT_DEBUG="1",
            )
            job = await server.plane.submit("hello", "echo hello")
            await server.plane.until(lambda: job.result)
            assert server.plane.enrolled[0].labels == ["linux", "docker"]
            process.send_signal(signal.SIGTERM)
            _, errors = await process.communicate()
            records = [json.loads(line) for line in errors.splitlines()]
            started = next(record for record in records if record["event"] == "job_started")
            assert (started["job_id"], started["run_id"]) == (job.id, f"run_{job.id}")
            finished = next(record for record in records if record["event"] == "job_finished")
            assert {"duration_ms", "cpu_ms", "memory_peak_bytes", "conclusion"} <= set(finished)

    asyncio.run(scenario())


def test_configure_writes_a_private_file_that_run_understands(tmp_path: Path) -> None:
    """Row 108."""
    path = tmp_path / "ostler-agent.yaml"
    given = ["configure", "--config", str(path), "--token", "it's: # odd", "--labels", "a,b", "--single-run"]
    result = CliRunner().invoke(agent, [*given, "--environment", "A=1", "--polling-interval", "2m"])
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    configuration = load(path, {}).configuration
    assert (configuration.token, configuration.labels, configuration.single_run) == ("it's: # odd", ("a", "b"), True)
    assert (configuration.environment, configuration.polling_interval) == ({"A": "1"}, 120.0)
    again = CliRunner().invoke(agent, given)
    assert again.exit_code != 0
    assert CliRunner().invoke(agent, [*given, "--force"]).exit_code == 0


def test_configure_refuses_what_run_would_refuse(tmp_path: Path) -> None:
    path = tmp_path / "ostler-agent.yaml"
    result = CliRunner().invoke(agent, ["configure", "--config", str(path), "--polling-interval", "soon"])
    assert result.exit_code != 0
    assert not path.exists()


def test_doctor_finds_a_healthy_runner_healthy(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server:
            process = await _command(
                tmp_path, "doctor", "--json", OSTLER_AGENT_SERVICE_URL=server.url, OSTLER_AGENT_TOKEN="x"
            )
            output, errors = await process.communicate()
            checks = {check["name"]: check for check in json.loads(output)}
            assert process.returncode == 0, errors
            assert list(checks) == [
                *("address", "connection", "tls", "service", "clock", "identity", "disk", "directory", "tools")
            ]
            assert "failed" not in {check["verdict"] for check in checks.values()}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("what", "environment", "finding"),
    [
        ("address", {"OSTLER_AGENT_SERVICE_URL": "https://no-such-host.invalid"}, "does not resolve"),
        ("address", {"OSTLER_AGENT_SERVICE_URL": "ci.example"}, "no address"),
        ("connection", {"OSTLER_AGENT_SERVICE_URL": "http://127.0.0.1:1"}, "cannot be reached"),
        ("identity", {}, "no token"),
        ("disk", {"OSTLER_AGENT_MINIMUM_FREE_DISK": "999999GiB"}, "MiB wanted"),
        ("service", {"status": "503"}, "HTTP 503"),
    ],
)
def test_each_failing_check_names_its_fix(tmp_path: Path, what: str, environment: dict[str, str], finding: str) -> None:
    async def scenario() -> None:
        async with serving() as server:
            server.ready_status = int(environment.get("status", "200"))
            given = {"OSTLER_AGENT_SERVICE_URL": server.url, **environment}
            process = await _command(tmp_path, "doctor", "--json", **given)
            output, _ = await process.communicate()
            assert process.returncode == 1
            check = next(one for one in json.loads(output) if one["name"] == what and one["verdict"] == "failed")
            assert finding in check["finding"]
            assert check["fix"]

    asyncio.run(scenario())


def test_doctor_warns_of_a_wrong_clock_and_of_open_directories(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving() as server:
            server.plane.date = "Sun, 06 Nov 1994 08:49:37 GMT"
            state = tmp_path / "state" / "open"
            state.mkdir(parents=True)
            state.chmod(0o755)
            process = await _command(
                tmp_path,
                *("doctor", "--json", "--name", "open", "--state-directory", str(tmp_path / "state")),
                OSTLER_AGENT_SERVICE_URL=server.url,
                OSTLER_AGENT_TOKEN="x",
            )
            output, _ = await process.communicate()
            verdicts = {check["name"]: check["verdict"] for check in json.loads(output)}
            assert (verdicts["clock"], verdicts["directory"]) == ("warning", "warning")
            assert process.returncode == 0

    asyncio.run(scenario())


def test_two_agents_never_share_a_journal(tmp_path: Path) -> None:
    configuration = load(None, {}, {"state_directory": str(tmp_path)}).configuration
    state = directories("a/../b", configuration, {}).state
    assert state.parent == tmp_path
    own(state)
    with pytest.raises(StateInUse):
        own(state)


def test_the_health_endpoint_answers_probes_and_survives_a_taken_port(tmp_path: Path) -> None:
    """Rows 143, 144, 152, 292."""

    async def scenario() -> None:
        contacts = [Contact("a", True, True, 1.0, 0, 0, "closed", "")]
        health = Health(lambda: contacts, lambda: "ostler_agent_jobs 0\n")
        log = Log(no_sink, system_effects().clock)
        server = await serve_health(health, 0, log, "127.0.0.1")
        assert server is not None
        port = server.sockets[0].getsockname()[1]
        assert await serve_health(health, port, log, "127.0.0.1") is None
        assert (await _get(port, "/healthz")).startswith("HTTP/1.1 200")
        assert (await _get(port, "/metrics")).endswith("ostler_agent_jobs 0\n")
        assert (await _get(port, "/secret")).startswith("HTTP/1.1 404")
        contacts[0] = contacts[0]._replace(ready=False)
        assert (await _get(port, "/healthz")).startswith("HTTP/1.1 200")
        assert (await _get(port, "/readyz")).startswith("HTTP/1.1 503")
        contacts[0] = contacts[0]._replace(healthy=False)
        unwell = await _get(port, "/healthz")
        assert unwell.startswith("HTTP/1.1 503")
        assert '"status":"unhealthy"' in unwell
        server.close()

    asyncio.run(scenario())


async def _get(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return text
