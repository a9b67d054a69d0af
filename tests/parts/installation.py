"""A whole installation from real processes: control plane replicas, agents, and the command line that talks to them.

    with Installation() as site:
        site.up(runners=2)                                  # `ostler up`
        assert site.ostler("job", "submit", "--", "true").status == 0

    with Installation(database=cluster.create_database(), blobs=s3.new_blobs_url()) as site:
        a, b = site.server("a"), site.server("b")           # two replicas of one control plane
        site.agent("builder", b)                            # a runner that knows only b

Ports are kept across restarts, every process writes its log below ``directory / "logs"``, and leaving the block kills
everything that was started, the supervisors of killed agents included.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.parts.errors import PartFailed
from tests.parts.kept import PATIENCE_SECONDS, KeptProcess
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.process import log_tail, remove_tree, short_directory, wait_until

OSTLER = (sys.executable, "-c", "from ostler.cli.main import main; main()")
ENDED = ("succeeded", "failed", "cancelled")
_HASTE = {"OSTLER_AGENT_REQUEST_RETRY_WAIT": "1s", "OSTLER_AGENT_HTTP_SERVER_PORT": "0"}


class Finished(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - the edge: what came is looked into by the test
        """What it printed with ``--json``."""
        return json.loads(self.out)


class Answer(NamedTuple):
    """How an HTTP call ended."""

    status: int
    body: Any


class Server:
    """One control plane replica, running or not; ``start`` after a crash keeps its port."""

    def __init__(self, site: "Installation", name: str, command: tuple[str, ...], env: Mapping[str, str]) -> None:
        self._site = site
        self._command = command
        self._env = env
        self.name = name
        self.port = free_port()
        self.starts = 0
        self.process = self.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{LOOPBACK}:{self.port}"

    def start(self, **env: str) -> KeptProcess:
        """Start it, or start it again, in an environment that may have changed; return once it answers."""
        self.starts += 1
        self._env = {**self._env, **env}
        command = (*OSTLER, *self._command, "--port", str(self.port))
        self.process = self._site.spawn(f"{self.name}.{self.starts}", command, self._env)
        self.process.until_said("sign in once at")
        return self.process


class Agent:
    """One agent, running or not; ``start`` after a crash finds its state where it was."""

    def __init__(
        self, site: "Installation", name: str, arguments: tuple[str, ...], env: Mapping[str, str], directory: Path
    ) -> None:
        self._site = site
        self._arguments = arguments
        self._env = env
        self.name = name
        self.directory = directory
        self.starts = 0
        self.process = self.start()

    def start(self) -> KeptProcess:
        """Start it, or start it again, and return at once."""
        self.starts += 1
        command = (*OSTLER, "agent", "run", *self._arguments)
        self.process = self._site.spawn(f"{self.name}.{self.starts}", command, self._env)
        return self.process

    def connected(self) -> "Agent":
        """Return once the server has answered its hello."""
        self.process.until_said('"event":"connected"')
        return self


class Installation:
    """See the module. Without a database and blobs it keeps everything in files of its own."""

    def __init__(self, *, database: str = "", blobs: str = "") -> None:
        self.directory = short_directory("site")
        self._database = database or f"sqlite:///{self.directory}/data/ostler.db"
        self._blobs = blobs or (self.directory / "data" / "blobs").as_uri()
        self._processes: list[KeptProcess] = []
        self._key = b64encode(secrets.token_bytes(32)).decode()
        self._token = ""
        self.url = ""
        for name in ("logs", "data", "home", "config", "outside"):
            (self.directory / name).mkdir()
        self.outside = self.directory / "outside"
        """A folder for what jobs do to the world: files here tell how often they ran."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.complain()
        self.close()

    def close(self) -> None:
        """Kill every process and remove every file."""
        self.close_processes()
        remove_tree(self.directory)

    def close_processes(self) -> None:
        """Kill every process and leave the files."""
        for process in self._processes:
            process.close()

    def complain(self) -> None:
        """Print the end of every log, for whoever reads about the failure."""
        for log in sorted((self.directory / "logs").iterdir()):
            print(f"--- {log.name}\n{log_tail(log)}")  # noqa: T201 - pytest shows it with the failure

    # Starting things.

    def environment(self, **more: str) -> dict[str, str]:
        """What every process gets to see: nothing of the machine but its search path."""
        fixed = {"PATH": os.environ["PATH"], "HOME": str(self.directory / "home"), "LANG": "C.UTF-8"}
        return {**fixed, "OSTLER_CONFIG_DIR": str(self.directory / "config")} | more

    def spawn(self, name: str, command: tuple[str, ...], env: Mapping[str, str]) -> KeptProcess:
        """Start any process that ends with the installation."""
        log = self.directory / "logs" / f"{name}.log"
        process = KeptProcess(command, log=log, env=env, directory=self.directory)
        self._processes.append(process)
        return process

    def up(self, name: str = "up", *, runners: int = 1, **env: str) -> Server:
        """Start `ostler up`, which signs this installation's command line in."""
        command = ("up", "--data", str(self.directory / "data"), "--runners", str(runners))
        server = Server(self, name, command, self.environment(**_HASTE, **env))
        self.signed_in(server)
        return server

    def server(self, name: str = "server", *, database: str = "", **env: str) -> Server:
        """Start a replica; the first one signs the command line in."""
        command = ("server", "--database", database or self._database, "--blobs", self._blobs)
        server = Server(self, name, command, self.environment(OSTLER_MASTER_KEY=self._key, **env))
        if not self._token:
            link = re.search(r"/sign-in/(\S+)", server.process.text)
            if link is None:
                raise PartFailed(f"no sign-in link:\n{log_tail(server.process.log)}")
            signed_in = self.ostler("login", server.url, link[1])
            if signed_in.status:
                raise PartFailed(f"cannot sign in: {signed_in.err}")
            self.signed_in(server)
        return server

    def signed_in(self, server: Server) -> None:
        """Call this server with the token in the command line's file."""
        text = (self.directory / "config" / "client.toml").read_text(encoding="utf-8")
        found = re.search(r'token = "(.*)"', text)
        self._token = found[1] if found else ""
        self.url = server.url

    def agent(
        self, name: str, server: "Server | str | None" = None, *arguments: str, pool: str = "hosted", **settings: str
    ) -> Agent:
        """Start an agent with a registration token of its own; settings are those of the configuration file."""
        url = server.url if isinstance(server, Server) else server or self.url
        directory = self.directory / "agents"
        env = {
            **_HASTE,
            "OSTLER_AGENT_TOKEN": settings.pop("token", "") or self.registration_token(pool),
            "OSTLER_AGENT_SERVICE_URL": url,
            "OSTLER_AGENT_STATE_DIRECTORY": settings.pop("state_directory", str(directory)),
            "OSTLER_AGENT_NAME": name,
        }
        preload = {key: settings.pop(key) for key in list(settings) if key.isupper()}
        env |= {f"OSTLER_AGENT_{key.upper()}": value for key, value in settings.items()}
        return Agent(
            self, name, arguments, self.environment(**env, **preload), Path(env["OSTLER_AGENT_STATE_DIRECTORY"]) / name
        )

    def registration_token(self, pool: str = "hosted", uses: int = 1) -> str:
        """A token with which runners may join a pool."""
        return self.post("/api/v1/tokens", {"kind": "registration", "pool": pool, "uses": uses})["secret"]

    # Asking.

    def ostler(
        self,
        *arguments: str,
        url: str = "",
        stdin: str = "",
        seconds: float = PATIENCE_SECONDS,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run the command line to its end; ``url`` names a server other than the one that is signed in to."""
        elsewhere = {"OSTLER_URL": url, "OSTLER_TOKEN": self._token} if url else {}
        environment = self.environment(**elsewhere, **(env or {}))
        done = subprocess.run(
            [*OSTLER, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env=environment,
            cwd=self.directory,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **env: str) -> KeptProcess:
        """Run the command line beside the test; what it prints is in its log."""
        return self.spawn(f"command-{len(self._processes)}", (*OSTLER, *arguments), self.environment(**env))

    def call(
        self, method: str, path: str, body: object = None, *, url: str = "", token: str | None = None, raw: bytes = b""
    ) -> Answer:
        """Make one HTTP call, whatever its answer; raises OSError if there is none."""
        data = raw or (json.dumps(body).encode() if body is not None else None)
        headers = {
            "authorization": f"Bearer {self._token if token is None else token}",
            "content-type": "application/json",
        }
        request = urllib.request.Request((url or self.url) + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as reply:
                return Answer(reply.status, _read(reply.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _read(refusal.read()))

    def get(self, path: str, *, url: str = "") -> Any:  # noqa: ANN401 - as Finished.json
        """Return what is at a path."""
        answer = self.call("GET", path, url=url)
        if answer.status != 200:
            raise PartFailed(f"GET {path}: {answer}")
        return answer.body

    def post(self, path: str, body: object, *, url: str = "") -> Any:  # noqa: ANN401 - as Finished.json
        """Return the answer to a successful POST."""
        answer = self.call("POST", path, body, url=url)
        if answer.status >= 300:
            raise PartFailed(f"POST {path}: {answer}")
        return answer.body

    def submit(self, script: str, *, url: str = "", **request: object) -> str:
        """Submit a run of one shell script and return the id of its job."""
        spec: dict[str, object] = {"name": "chaos", "steps": [{"name": "script", "script": script}]}
        for part in ("secrets", "limits", "timeout_ms", "env"):
            if part in request:
                spec[part] = request.pop(part)
        return self.post("/api/v1/runs", {"spec": spec, **request}, url=url)["jobs"][0]["id"]

    def job(self, job_id: str) -> Any:  # noqa: ANN401 - as Finished.json
        """Return a job as the API shows it."""
        return self.get(f"/api/v1/jobs/{job_id}")

    def log(self, job_id: str) -> str:
        """Return a job's whole log."""
        return self.get(f"/api/v1/jobs/{job_id}/log/raw")

    def until(self, what: str, condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for something to become true; a server that is away meanwhile is waited for too."""

        def true() -> bool:
            try:
                return bool(condition())
            except (OSError, PartFailed):
                return False

        if not wait_until(true, seconds):
            raise PartFailed(f"not within {seconds} s: {what}")

    def until_logged(self, job_id: str, text: str) -> None:
        """Wait until a job's log holds a text."""
        self.until(f"{text!r} in the log of {job_id}", lambda: text in self.log(job_id))

    def until_ended(self, job_id: str, seconds: float = PATIENCE_SECONDS) -> Any:  # noqa: ANN401 - as Finished.json
        """Wait until a job has ended and return it."""
        self.until(f"the end of {job_id}", lambda: self.job(job_id)["state"] in ENDED, seconds)
        return self.job(job_id)

    def until_idle(self, name: str) -> None:
        """Wait until a runner waits for work."""
        self.until(f"runner {name} is idle", lambda: self.get(f"/api/v1/runners/{name}")["status"] == "idle")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and not lost."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def environment_of(pid: int) -> str:
    """What a process was given as its environment; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def kill(pid: int) -> None:
    """Kill a process that may just have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def gated(gate: Path) -> str:
    """A script that tells when it has begun and waits for a file."""
    return f"echo begun; while [ ! -e {gate} ]; do sleep 0.05; done; echo passed"


def _read(data: bytes) -> Any:  # noqa: ANN401 - the edge
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
