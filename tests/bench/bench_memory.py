"""What the processes weigh while nothing happens, and how soon they serve again."""

import signal
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path

from tests.bench.context import Context
from tests.bench.figure import Figure, absolute
from tests.bench.served import NOOP, Server, join, proportional_kib, running, serving, until
from tests.parts.ports import LOOPBACK
from tests.parts.process import wait_until

GOALS = ("3.4", "6.1", "6.2")


async def measure(context: Context) -> list[Figure]:
    directory = context.directory()
    up = ["up", "--data", "data"]
    with running(directory, up):
        pass
    figures: list[Figure] = []
    starts: list[float] = []
    for _ in range(context.repetitions):
        start = time.perf_counter()
        with running(directory, up) as server:
            _await_ready(server.port)
            starts.append(time.perf_counter() - start)
            if not figures:
                figures += await _weights(server)
    figures.append(absolute("6.1", "ostler up, second start to a ready page", min(starts), "s", at_most=2))
    killed = await _killed(context)
    return [*figures, absolute("6.2", "killed under load to serving and reconciled", killed, "s", at_most=5)]


async def _weights(server: Server) -> list[Figure]:
    person = await server.person()
    spec = {"name": "sleep", "steps": [{"name": "sleep", "argv": ["sleep", "20"]}]}

    async def joined() -> bool:
        return bool((await person.call("GET", "/api/v1/runners?status=idle"))["runners"])

    await until(joined, 30, 0.1)
    agent = next(pid for pid in _children(server.process.pid) if b"agent" in _command(pid))
    server_mib = proportional_kib(server.process.pid) / 1024
    agent_mib = proportional_kib(agent) / 1024
    run = await person.call("POST", "/api/v1/runs", {"spec": spec})

    async def started() -> bool:
        return (await person.call("GET", f"/api/v1/runs/{run['id']}"))["state"] == "running" and bool(_supervisors())

    await until(started, 30, 0.1)
    supervisor_mib = max(proportional_kib(pid) for pid in _supervisors()) / 1024
    await person.call("POST", f"/api/v1/runs/{run['id']}/cancel", {"reason": "weighed"})
    return [
        absolute("3.4", "ostler up, idle: server and agent", server_mib + agent_mib, "MiB", at_most=150),
        absolute("3.4", "of this the agent", agent_mib, "MiB", at_most=50),
        absolute("3.4", "the supervisor of a running job", supervisor_mib, "MiB", at_most=15),
    ]


async def _killed(context: Context) -> float:
    directory = context.directory()
    jobs = context.scaled(200, quick=10)
    with serving(directory) as server:
        runners = await join(server, jobs)
        person = await server.person()
        await person.call("POST", "/api/v1/runs/batch", {"runs": [{"spec": NOOP}] * jobs})
        claims = [await runner.work() for runner in runners]
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    start = time.perf_counter()
    with serving(directory) as again:
        for runner, claim in zip(runners, claims, strict=True):
            await runner.reconnect(again.port)
            held = [{"job_id": claim["job_id"], "fence": claim["fence"], "phase": "granted"}]
            reply = await runner.peer.call("POST", "/agent/v1/hello", {"protocol": 1, "version": "b", "held": held})
            if [directive["action"] for directive in reply["directives"]] != ["continue"]:
                raise ValueError(f"a job was lost: {reply}")
        return time.perf_counter() - start


def _await_ready(port: int) -> None:
    def ready() -> bool:
        connection = HTTPConnection(LOOPBACK, port)
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200

    wait_until(ready, 20)


def _children(pid: int) -> list[int]:
    answer = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True, check=False)
    return [int(word) for word in answer.stdout.split()]


def _supervisors() -> list[int]:
    found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [pid for pid in found if b"ostler.agent.supervisor" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
