"""A control plane in this process, with a clock that tests move, people, pools and runners."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import OKPKey

from ostler.blobs import Blobs
from ostler.blobs.memory import MemoryBlobs
from ostler.domain.storage import StorageRules
from ostler.effects import Effects, Micros, SortableIds, seeded_random
from ostler.logs.writer import LogWriter
from ostler.protocol.v1.fleet_messages import CreateTokenRequest
from ostler.server.keys import MasterKey
from ostler.server.maintenance import Maintenance
from ostler.server.settings import ServerSettings
from ostler.server.storage_upkeep import StorageUpkeep
from ostler.server.wiring import Control
from ostler.store import sign_in
from ostler.store.database import Database
from ostler.testing.asgi import Lifespan
from tests.contract.server.asgi_client import AsgiClient, Reply
from tests.contract.server.fake_sources import FakeSources

SECOND = 1_000_000
START = 1_750_000_000 * SECOND


class MovedClock:
    """Stands still unless a test moves it."""

    def __init__(self) -> None:
        self.micros = START

    def now(self) -> Micros:
        return Micros(self.micros)

    def monotonic(self) -> float:
        return self.micros / SECOND


class Installation:
    """See the module. ``started`` and ``stopped`` are its lifespan."""

    def __init__(self, database: Database, blobs: Blobs | None = None) -> None:
        random = seeded_random("installation")
        self.clock = MovedClock()
        self.effects = Effects(self.clock, SortableIds(self.clock, random), random)
        self.database = database
        self.blobs: Blobs = blobs or MemoryBlobs()
        self.sources = FakeSources()
        self.control = self.replica()
        self.upkeep: StorageUpkeep = StorageUpkeep(database, self.blobs, self.effects, self.control.settings.storage)
        self.client = AsgiClient(self.control.application)
        self.maintenance = Maintenance(
            database, self.blobs, self.control.log_store, self.effects, self.control.metrics, retention_days=90
        )

    @asynccontextmanager
    async def ruled(self, rules: StorageRules) -> AsyncGenerator[None]:
        """Let other rules of storage apply: another replica takes over."""
        kept = self.control, self.client, self.upkeep
        settings = msgspec.structs.replace(self.control.settings, storage=rules)
        self.control = Control(settings, MasterKey(bytes(range(32))), self.database, self.blobs, self.effects)
        self.client = AsgiClient(self.control.application)
        self.upkeep = StorageUpkeep(self.database, self.blobs, self.effects, rules)
        lifespan = Lifespan(self.control.application)
        await lifespan.startup()
        try:
            yield
        finally:
            await lifespan.shutdown()
            self.control, self.client, self.upkeep = kept

    async def blob_keys(self, prefix: str) -> list[str]:
        """The keys of what is stored."""
        return [blob.key async for page in self.blobs.list(prefix) for blob in page]

    def replica(self) -> Control:
        """One control plane over the database; the first is made by itself and serves the client."""
        settings = ServerSettings(database="", blobs="", private_networks=True)
        key = MasterKey(bytes(range(32)))
        return Control(settings, key, self.database, self.blobs, self.effects, self.sources)

    async def user(self, role: str = "owner", name: str = "ada") -> "Caller":
        """A person of that role, with an API token."""
        drawn = self.effects.ids.new("usr")
        known = await self.database.run(sign_in.ensure_user, drawn, name, role, self.clock.now())
        request = CreateTokenRequest(kind="api", name="tests", ttl_ms=7 * 86_400_000)
        issued = await self.control.tokens.issue(known.user_id, request)
        return Caller(self, issued.secret)

    async def runner(self, name: str = "one", **hello: object) -> "Runner":
        """A runner of the default pool that said hello."""
        runner = Runner(self, name)
        await runner.enrol(await self.registration_token())
        await runner.authenticate()
        await runner.hello(**hello)
        return runner

    async def registration_token(self, uses: int = 1) -> str:
        person = await self.user(name="registrar")
        reply = await person.post("/api/v1/tokens", {"kind": "registration", "name": "runners", "uses": uses})
        assert reply.status == 201, reply.body
        return reply.json()["secret"]

    async def sweep(self, seconds: int, step: int = 10) -> None:
        """Let time pass as a running server sees it."""
        for _ in range(0, seconds, step):
            self.clock.micros += step * SECOND
            await self.maintenance.sweep_runners()


class Caller:
    """Whoever holds a bearer token."""

    def __init__(self, installation: Installation, token: str) -> None:
        self.installation = installation
        self.token = token

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    async def get(self, target: str) -> Reply:
        return await self.installation.client.request("GET", target, headers=self.headers)

    async def post(self, target: str, body: object, method: str = "POST") -> Reply:
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return await self.installation.client.request(method, target, raw, headers=self.headers)

    async def submit(self, **request: object) -> dict[str, Any]:
        """Submit a run of one job; its view."""
        job = {"name": "build", "steps": [{"name": "say", "argv": ["true"]}], **request}
        reply = await self.post("/api/v1/runs", {"spec": job} if "spec" not in request else request)
        assert reply.status == 201, reply.body
        return reply.json()


class Runner(Caller):
    """An agent's side of the protocol, one call at a time."""

    def __init__(self, installation: Installation, name: str) -> None:
        super().__init__(installation, "")
        self.name = name
        self.key = Ed25519PrivateKey.generate()
        self.runner_id = ""

    @property
    def public_key(self) -> str:
        raw = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return urlsafe_b64encode(raw).rstrip(b"=").decode()

    async def enrol(self, registration_token: str) -> Reply:
        request = {
            "registration_token": registration_token,
            "name": self.name,
            "public_key": self.public_key,
            "key": f"enrol-{self.name}-{self.public_key[:8]}",
        }
        reply = await self.post("/agent/v1/enrolments", request)
        if reply.status == 201:
            self.runner_id = reply.json()["runner_id"]
        return reply

    def claims(self, **changes: object) -> dict[str, Any]:
        """The claims of a good assertion, with these changes; ``None`` leaves one out."""
        now = self.installation.clock.now() // SECOND
        good: dict[str, Any] = {
            "iss": self.runner_id,
            "sub": self.runner_id,
            "aud": "ostler",
            "iat": now,
            "exp": now + 60,
            "jti": self.installation.effects.ids.new("jti"),
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def assertion(self, claims: dict[str, Any] | None = None, **header: object) -> str:
        key = OKPKey.import_key(self.key)
        return jwt.encode({"alg": "Ed25519", **header}, claims or self.claims(), key, algorithms=["Ed25519"])

    async def authenticate(self, assertion: str = "") -> Reply:
        reply = await self.post("/agent/v1/tokens", {"assertion": assertion or self.assertion()})
        if reply.status == 200:
            self.token = reply.json()["access_token"]
        return reply

    async def hello(self, **more: object) -> Reply:
        return await self.post("/agent/v1/hello", {"protocol": 1, "version": "1", **more})

    async def poll(self, wait_ms: int = 0, slots: Iterable[str] = ("primary",), **more: object) -> Reply:
        key = self.installation.effects.ids.new("poll")
        return await self.post("/agent/v1/claims", {"key": key, "slots": list(slots), "wait_ms": wait_ms, **more})

    async def start(self, claim: dict[str, Any]) -> Reply:
        body = {"job_id": claim["job_id"], "fence": claim["fence"], "key": "start-" + claim["job_id"]}
        return await self.post("/agent/v1/starts", body)

    async def log(self, claim: dict[str, Any], offset: int, frames: bytes) -> Reply:
        target = f"/agent/v1/jobs/{claim['job_id']}/log?fence={claim['fence']}&offset={offset}"
        return await self.post(target, frames)

    async def finish(self, claim: dict[str, Any], log_bytes: int = 0, log_lines: int = 0, **more: object) -> Reply:
        body = {
            "job_id": claim["job_id"],
            "fence": claim["fence"],
            "key": "finish-" + claim["job_id"],
            "conclusion": "succeeded",
            "log_bytes": log_bytes,
            "log_lines": log_lines,
            **more,
        }
        return await self.post("/agent/v1/finishes", body)

    async def work(self) -> dict[str, Any]:
        """Claim and start what waits; the claim."""
        reply = await self.poll()
        assert reply.status == 200, reply.body
        claim = reply.json()["claims"][0]
        assert (await self.start(claim)).status == 200
        return claim


def frames_of(*texts: bytes) -> bytes:
    """These texts as frames, each in one of its own."""
    writer = LogWriter()
    return b"".join(writer.write(text, place * SECOND, 1) + writer.flush() for place, text in enumerate(texts))
