"""Real server processes and the runners and people that call them."""

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import OKPKey

from tests.bench.peer import Peer
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.process import wait_until

_START_SECONDS = 40.0
_LINK = re.compile(r"/sign-in/(\S+)")
NOOP: dict[str, Any] = {"name": "noop", "steps": [{"name": "true", "argv": ["true"]}]}


class Server(NamedTuple):
    """A running server process."""

    process: "subprocess.Popen[bytes]"
    port: int
    token: str

    async def person(self) -> Peer:
        """A person's connection."""
        return await Peer.connected(self.port, self.token)

    async def registration(self, uses: int) -> str:
        person = await self.person()
        body = {"kind": "registration", "name": uuid.uuid4().hex, "pool": "hosted", "uses": uses}
        secret = (await person.call("POST", "/api/v1/tokens", body))["secret"]
        person.close()
        return secret

    async def finished(self) -> float:
        """How many jobs this process has seen end."""
        person = await self.person()
        text: bytes = await person.call("GET", "/metrics")
        person.close()
        found = re.findall(rb"^ostler_jobs_finished_total\{[^}]*\} ([0-9.]+)", text, re.MULTILINE)
        return sum(map(float, found))


class Runner:
    """An agent's side of the protocol without an agent."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.runner_id = ""

    @classmethod
    async def joined(cls, port: int, registration: str, **hello: object) -> "Runner":
        runner = cls(await Peer.connected(port))
        key = Ed25519PrivateKey.generate()
        public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        enrolment = {
            "registration_token": registration,
            "name": uuid.uuid4().hex,
            "public_key": urlsafe_b64encode(public).rstrip(b"=").decode(),
            "key": uuid.uuid4().hex,
        }
        runner.runner_id = (await runner.peer.call("POST", "/agent/v1/enrolments", enrolment))["runner_id"]
        now = int(time.time())
        claims = {"iss": runner.runner_id, "sub": runner.runner_id, "aud": "ostler", "jti": uuid.uuid4().hex}
        assertion = jwt.encode(
            {"alg": "Ed25519"}, {**claims, "iat": now, "exp": now + 60}, OKPKey.import_key(key), algorithms=["Ed25519"]
        )
        granted = await runner.peer.call("POST", "/agent/v1/tokens", {"assertion": assertion})
        runner.peer.token = granted["access_token"]
        await runner.peer.call("POST", "/agent/v1/hello", {"protocol": 1, "version": "bench", **hello})
        return runner

    async def reconnect(self, port: int) -> None:
        """Open a new connection, as the same runner."""
        self.peer = await Peer.connected(port, self.peer.token)

    async def poll(self, wait_ms: int = 60_000, slots: Iterable[str] = ("primary",)) -> list[dict[str, Any]]:
        """Hold one poll; the claims."""
        reply = await self.peer.call("POST", "/agent/v1/claims", self._asking(wait_ms, slots))
        return reply.get("claims", [])

    async def start(self, claim: dict[str, Any]) -> None:
        body = {"job_id": claim["job_id"], "fence": claim["fence"], "key": uuid.uuid4().hex}
        await self.peer.call("POST", "/agent/v1/starts", body)

    async def finish(self, claim: dict[str, Any], *, more: bool = False, log_bytes: int = 0) -> list[dict[str, Any]]:
        """Hand in the result; with ``more`` also ask for the next job."""
        body: dict[str, Any] = {
            "job_id": claim["job_id"],
            "fence": claim["fence"],
            "key": uuid.uuid4().hex,
            "conclusion": "succeeded",
            "log_bytes": log_bytes,
            "log_lines": 0,
        }
        if more:
            body["next"] = self._asking(0, ("primary",))
        reply = await self.peer.call("POST", "/agent/v1/finishes", body)
        following: dict[str, list[dict[str, Any]]] = reply.get("next") or {}
        return following.get("claims", [])

    async def work(self) -> dict[str, Any]:
        """Claim and start one job."""
        claim = (await self.poll())[0]
        await self.start(claim)
        return claim

    def _asking(self, wait_ms: int, slots: Iterable[str]) -> dict[str, Any]:
        return {"key": uuid.uuid4().hex, "slots": list(slots), "wait_ms": wait_ms}


async def join(server: Server, count: int, **hello: object) -> list[Runner]:
    """So many runners, a few at a time."""
    registration = await server.registration(count)
    runners: list[Runner] = []
    while len(runners) < count:
        group = min(32, count - len(runners))
        runners += await asyncio.gather(*(Runner.joined(server.port, registration, **hello) for _ in range(group)))
    return runners


@contextmanager
def serving(directory: Path, database: str = "", *, key: Path | None = None) -> Generator[Server]:
    """``ostler server`` until the end of the block."""
    url = database or f"sqlite:///{directory}/ostler.db"
    file = key or directory / "key"
    file.write_text(b64encode(bytes(32)).decode())
    options = [f"--database={url}", f"--blobs=file://{directory}/blobs", f"--key-file={file}"]
    with running(directory, ["server", *options]) as server:
        yield server


@contextmanager
def running(directory: Path, arguments: list[str]) -> Generator[Server]:
    """Any command that serves and prints a link to sign in with."""
    port = free_port()
    log = directory / f"server-{port}.log"
    command = [sys.executable, "-c", "from ostler.cli.main import main; main()", *arguments, "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=directory)
    try:
        if not wait_until(lambda: bool(_LINK.search(log.read_text())) or process.poll() is not None, _START_SECONDS):
            raise TimeoutError(log.read_text()[-2000:])
        link = _LINK.search(log.read_text())
        if link is None:
            raise ValueError(log.read_text()[-2000:])
        yield Server(process, port, _signed_in(port, link[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _signed_in(port: int, code: str) -> str:
    connection = HTTPConnection(LOOPBACK, port)
    connection.request("POST", "/api/v1/login", json.dumps({"code": code}))
    return json.loads(connection.getresponse().read())["secret"]


def proportional_kib(pid: int, field: str = "Pss:") -> int:
    """The memory of a process, its share of what it shares included."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise ValueError(field)


def anonymous_kib(pid: int) -> int:
    """The memory that only this process has and that lies in no file."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise ValueError("RssAnon")


async def until(condition: Callable[[], Awaitable[bool]], seconds: float, pause: float = 0.01) -> None:
    """Look until it is so; benches may wait by looking, tests may not."""
    end = time.perf_counter() + seconds
    while not await condition():
        if time.perf_counter() > end:
            raise TimeoutError("it did not come about in time")
        await asyncio.sleep(pause)
