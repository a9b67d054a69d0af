"""A control plane in a hundred lines: enough of the real one's promises to hold an agent to its own.

It is driven through the table of endpoints, either in memory (``MemoryTransport``) or over real HTTP (the e2e tests),
and can be told to fail at any message: before acting, after acting (the reply is lost), or with a problem.
"""

import asyncio
from base64 import urlsafe_b64decode
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import parse_qs, urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ostler.client.transport import HttpRequest, HttpResponse, TransportError
from ostler.domain.job import JobKind
from ostler.logs.frame import decode_all
from ostler.protocol.endpoint import Binary, Endpoint, Nothing
from ostler.protocol.problem import problem
from ostler.protocol.v1 import runner_messages as m, table
from ostler.protocol.v1.spec import JobSpec, Limits, StepSpec

REGISTRATION_TOKEN = "reg-secret"


class Fault(NamedTuple):
    """What goes wrong with one message."""

    kind: Literal["refused", "lost_request", "lost_reply", "problem"]
    code: str = ""
    retry_after: str = ""
    expected: int | None = None


class Refusal(Exception):
    """The problem that answers a call."""

    def __init__(self, code: str, detail: str = "", *, expected: int | None = None) -> None:
        super().__init__(code)
        self.problem = problem(code, detail, expected=expected)


class FakeJob:
    """One job as the server sees it."""

    def __init__(self, job_id: str, spec: JobSpec, kind: JobKind) -> None:
        self.id, self.spec, self.kind = job_id, spec, kind
        self.fence = 0
        self.state = "queued"
        self.log = bytearray()
        self.events: dict[int, m.StepReport] = {}
        self.result: m.FinishRequest | None = None
        self.starts = 0


class ControlPlane:
    """See the module. ``calls`` counts what was acted on, by endpoint."""

    def __init__(self) -> None:
        self.jobs: dict[str, FakeJob] = {}
        self.tokens = {REGISTRATION_TOKEN}
        self.keys: dict[str, Ed25519PublicKey] = {}
        self.revoked: set[str] = set()
        self.access: dict[str, str] = {}
        self.enrolments: dict[str, str] = {}
        self.enrolled: list[m.EnrolRequest] = []
        self.claims: dict[str, m.ClaimReply] = {}
        self.directives: dict[str, Literal["cancel", "abandon"]] = {}
        self.hellos: list[m.HelloRequest] = []
        self.heartbeats: list[m.HeartbeatRequest] = []
        self.polls: list[m.ClaimRequest] = []
        self.jtis: list[str] = []
        self.byes = 0
        self.calls: dict[str, int] = defaultdict(int)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.settings = m.RunnerSettings(heartbeat_ms=5_000, hold_ms=20_000, log_chunk_bytes=64 << 10)
        self.token_life_ms = 60_000
        self.hold = True
        self.retry_after_ms: int | None = None
        self.lease_ms = 45_000
        self.changed = asyncio.Condition()
        self.date = ""
        self.generation = 0

    # What tests do.

    async def submit(
        self,
        name: str,
        *scripts: str,
        kind: JobKind = JobKind.CI,
        env: dict[str, str] | None = None,
        secrets: dict[str, str] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> FakeJob:
        steps = [StepSpec(name=f"step {index}", script=text) for index, text in enumerate(scripts or ("true",))]
        spec = JobSpec(name=name, steps=steps, env=env or {}, secrets=secrets or {}, limits=limits)
        job = FakeJob(f"job_{len(self.jobs):02}", spec, kind)
        self.jobs[job.id] = job
        await self.poke()
        return job

    async def direct(self, job: FakeJob, action: Literal["cancel", "abandon"]) -> None:
        self.directives[job.id] = action
        await self.poke()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for the server to have seen something."""
        async with self.changed:
            await self.changed.wait_for(lambda: bool(condition()))

    async def hang_up(self) -> None:
        """Let go of every held poll, as a server does that is going away."""
        self.generation += 1
        await self.poke()

    async def poke(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    # What the agent's messages do.

    async def handle(self, request: HttpRequest) -> HttpResponse:
        endpoint, path = _route(request)
        self.requests.append((endpoint.name, dict(request.headers)))
        fault = self.faults[endpoint.name].popleft() if self.faults[endpoint.name] else None
        if fault and fault.kind == "refused":
            raise TransportError("connection refused", sent=False)
        if fault and fault.kind == "lost_request":
            raise TransportError("the connection was lost", sent=True)
        try:
            reply = await self._act(endpoint, request, path, fault)
        except Refusal as refusal:
            headers = {"content-type": "application/problem+json", "date": self.date}
            if fault and fault.retry_after:
                headers["retry-after"] = fault.retry_after
            return HttpResponse(refusal.problem.status, headers, msgspec.json.encode(refusal.problem))
        finally:
            await self.poke()
        if fault and fault.kind == "lost_reply":
            raise TransportError("the connection was lost", sent=True)
        body = b"" if isinstance(reply, Nothing) else msgspec.json.encode(reply)
        return HttpResponse(endpoint.status, {"content-type": "application/json", "date": self.date}, body)

    async def _act(
        self, endpoint: Endpoint[Any, Any], request: HttpRequest, path: dict[str, str], fault: Fault | None
    ) -> object:
        if fault and fault.kind == "problem":
            raise Refusal(fault.code, expected=fault.expected)
        runner = ""
        if endpoint.auth == "runner":
            runner = self._authenticated(request.headers.get("authorization", ""))
        message: Any = Nothing()
        if endpoint.request is Binary:
            message = Binary(request.body)
        elif endpoint.request is not Nothing:
            message = msgspec.json.decode(request.body, type=endpoint.request)
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        act = getattr(self, f"_{endpoint.name}")
        self.calls[endpoint.name] += 1
        return await act(message, runner, query=query, **path)

    def _authenticated(self, header: str) -> str:
        runner = self.access.get(header.removeprefix("Bearer "), "")
        if not runner:
            raise Refusal("token_expired" if header else "unauthenticated")
        if runner in self.revoked:
            raise Refusal("runner_revoked")
        return runner

    async def _enrol(self, message: m.EnrolRequest, runner: str, query: object) -> m.EnrolReply:
        if message.key not in self.enrolments:
            if message.registration_token not in self.tokens:
                raise Refusal("registration_refused")
            runner_id = f"rnr_{len(self.keys)}"
            self.enrolments[message.key] = runner_id
            self.keys[runner_id] = Ed25519PublicKey.from_public_bytes(_decoded(message.public_key))
            self.enrolled.append(message)
        return m.EnrolReply(self.enrolments[message.key], "pool_0", "hosted")

    async def _access_token(self, message: m.TokenRequest, runner: str, query: object) -> m.TokenReply:
        signed, _, signature = message.assertion.rpartition(".")
        claims = msgspec.json.decode(_decoded(signed.split(".")[1]))
        if claims["sub"] in self.revoked:
            raise Refusal("runner_revoked")
        try:
            self.keys[claims["sub"]].verify(_decoded(signature), signed.encode())
        except (InvalidSignature, KeyError):
            raise Refusal("assertion_refused") from None
        if claims["jti"] in self.jtis:
            raise Refusal("assertion_refused", "replayed")
        self.jtis.append(claims["jti"])
        token = f"access-{len(self.jtis)}"
        self.access[token] = claims["sub"]
        return m.TokenReply(token, self.token_life_ms)

    async def _hello(self, message: m.HelloRequest, runner: str, query: object) -> m.HelloReply:
        self.hellos.append(message)
        directives = [
            m.Directive(held.job_id, held.fence, "abandon", "stale")
            for held in message.held
            if self.jobs[held.job_id].fence != held.fence
        ]
        return m.HelloReply(1, "9.9", self.settings, directives=directives)

    async def _claim(self, message: m.ClaimRequest, runner: str, query: object) -> m.ClaimReply:
        self.polls.append(message)
        if message.key in self.claims:
            return self.claims[message.key]
        if self.retry_after_ms is not None:
            return m.ClaimReply(retry_after_ms=self.retry_after_ms)
        reply = self._serve(message)
        if not reply.claims and not reply.directives and self.hold and message.wait_ms:
            held_since = self.generation
            async with self.changed:
                self.changed.notify_all()
                try:
                    async with asyncio.timeout(message.wait_ms / 1000):
                        await self.changed.wait_for(lambda: self.generation > held_since or self._has_news(message))
                except TimeoutError:
                    return reply
            if self.generation > held_since:
                return reply
            reply = self._serve(message)
        self.claims[message.key] = reply
        return reply

    def _has_news(self, message: m.ClaimRequest) -> bool:
        wanted = any(job.state == "queued" and job.kind.slot in message.slots for job in self.jobs.values())
        return wanted or any(lease.job_id in self.directives for lease in message.leases)

    def _serve(self, message: m.ClaimRequest) -> m.ClaimReply:
        claims: list[m.Claim] = []
        for slot in message.slots:
            job = next((job for job in self.jobs.values() if job.state == "queued" and job.kind.slot is slot), None)
            if job is not None:
                job.state, job.fence = "claimed", job.fence + 1
                claims.append(m.Claim(job.id, f"run_{job.id}", job.fence, job.kind, slot, self.lease_ms, job.spec))
        directives = [
            m.Directive(lease.job_id, lease.fence, self.directives.pop(lease.job_id), "by test")
            for lease in message.leases
            if lease.job_id in self.directives
        ]
        return m.ClaimReply(claims, directives)

    def _fenced(self, job_id: str, fence: int) -> FakeJob:
        job = self.jobs[job_id]
        if job.fence != fence:
            raise Refusal("stale_fence")
        return job

    async def _start(self, message: m.StartRequest, runner: str, query: object) -> m.StartReply:
        job = self._fenced(message.job_id, message.fence)
        if job.state == "claimed":
            job.starts += 1
            job.state = "running"
        return m.StartReply()

    async def _release(self, message: m.ReleaseRequest, runner: str, query: object) -> Nothing:
        job = self._fenced(message.job_id, message.fence)
        if job.state != "claimed":
            raise Refusal("job_started")
        job.state = "released"
        return Nothing()

    async def _heartbeat(self, message: m.HeartbeatRequest, runner: str, query: object) -> m.HeartbeatReply:
        self.heartbeats.append(message)
        return m.HeartbeatReply(
            [
                m.Directive(ref.job_id, ref.fence, "abandon", "stale")
                for ref in message.leases
                if self.jobs[ref.job_id].fence != ref.fence
            ]
        )

    async def _events(self, message: m.EventsRequest, runner: str, query: object) -> m.EventsReply:
        job = self._fenced(message.job_id, message.fence)
        job.events.update({event.sequence: event for event in message.events})
        return m.EventsReply(max(job.events, default=0))

    async def _append_log(self, message: Binary, runner: str, query: dict[str, str], job_id: str) -> m.LogReply:
        job = self._fenced(job_id, int(query["fence"]))
        offset = int(query["offset"])
        text = b"".join(frame.text for frame in decode_all(message.data))
        if offset > len(job.log):
            raise Refusal("log_offset", expected=len(job.log))
        if offset + len(text) > len(job.log):
            if offset != len(job.log):
                raise Refusal("log_offset", expected=len(job.log))
            job.log += text
        return m.LogReply(len(job.log))

    async def _finish(self, message: m.FinishRequest, runner: str, query: object) -> m.FinishReply:
        job = self._fenced(message.job_id, message.fence)
        if job.state == "claimed":
            raise Refusal("job_not_granted")
        job.events.update({event.sequence: event for event in message.events})
        if message.log and message.log_offset == len(job.log):
            job.log += b"".join(frame.text for frame in decode_all(message.log))
        if message.log_bytes > len(job.log):
            raise Refusal("log_incomplete", expected=len(job.log))
        if job.result is None:
            job.result = msgspec.structs.replace(message, next=None, log=b"", log_offset=0, events=[])
            job.state = message.conclusion
        following = None
        if message.next is not None:
            following = await self._claim(message.next, runner, None)
        return m.FinishReply(job.state, following)

    async def _bye(self, message: m.ByeRequest, runner: str, query: object) -> Nothing:
        self.byes += 1
        return Nothing()


class MemoryTransport:
    """Carries calls to a control plane in the same loop."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.away = False

    async def send(self, request: HttpRequest) -> HttpResponse:
        if self.away:
            raise TransportError("connection refused", sent=False)
        try:
            async with asyncio.timeout(request.deadline_seconds):
                response = await self.plane.handle(request)
        except TimeoutError:
            raise TransportError("no reply in time", sent=True) from None
        if self.away:
            raise TransportError("the connection was lost", sent=True)
        return response

    async def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        raise TransportError("no streams here", sent=False)
        yield b""

    async def close(self) -> None:
        return


_AGENT_ENDPOINTS = [row for row in table.ENDPOINTS if row.path.startswith("/agent/")]


def _route(request: HttpRequest) -> tuple[Endpoint[Any, Any], dict[str, str]]:
    parts = urlsplit(request.path).path.split("/")
    for endpoint in _AGENT_ENDPOINTS:
        pattern = endpoint.path.split("/")
        if endpoint.method == request.method and len(pattern) == len(parts):
            pairs = list(zip(pattern, parts, strict=True))
            if all(name == part or name.startswith("{") for name, part in pairs):
                return cast("Any", endpoint), {name[1:-1]: part for name, part in pairs if name.startswith("{")}
    raise LookupError(request.path)


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
