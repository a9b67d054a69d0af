"""One typed call: encode, send, retry, renew the token, decode.

What may be repeated is decided by the table (``retryable``) and by what the transport knows (a request that was never
sent may always go again). See ``policy`` for the waits and ``breaker`` for when nothing is sent at all.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple, TypeVar, cast

import msgspec

from ostler.client import encoding
from ostler.client.breaker import Breaker
from ostler.client.credentials import Credentials
from ostler.client.errors import CircuitOpen, ProblemError
from ostler.client.policy import LONGEST_RETRY_AFTER_SECONDS, RETRYABLE_STATUSES, Policy
from ostler.client.transport import HttpRequest, HttpResponse, StreamRefused, Transport, TransportError
from ostler.effects import Effects
from ostler.protocol.endpoint import Auth, Endpoint

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class _Call(NamedTuple):
    """What stays the same over all attempts."""

    method: str
    target: str
    body: bytes
    media_type: str
    accept: str
    authorized: bool
    repeatable: bool
    reconnect: bool
    deadline_seconds: float
    request_id: str


class Client:
    """Calls endpoints of one server. Safe for concurrent use by tasks of one event loop."""

    def __init__(
        self,
        transport: Transport,
        credentials: Credentials,
        policy: Policy,
        effects: Effects,
        *,
        breaker: Breaker | None = None,
        agent: str = "ostler",
    ) -> None:
        self._transport = transport
        self._credentials = credentials
        self._effects = effects
        self._agent = agent
        self._decoders: dict[str, object] = {}
        self.policy = policy
        self.breaker = breaker or Breaker(1_000_000, 0.0, effects.clock)
        self.server_date = ""
        """The ``Date`` of the last reply: what the server's clock says, for those who must sign with a time."""

    async def call(
        self,
        endpoint: Endpoint[Request, Reply],
        *,
        request: Request | None = None,
        query: msgspec.Struct | None = None,
        deadline_seconds: float | None = None,
        probe: bool = False,
        reconnect: bool = True,
        **path: str,
    ) -> Reply:
        """Return the reply, or raise ``ProblemError``, ``TransportError``, ``CircuitOpen`` or ``ReplyMalformed``.

        ``deadline_seconds`` bounds each attempt. A ``probe`` ignores the breaker, does not retry, and its success is
        a sign of life. Without ``reconnect`` a lost connection is reported at once and counts as no failure: the
        caller has its own way back.
        """
        body, media_type = encoding.body(endpoint, request)
        call = _Call(
            method=endpoint.method,
            target=encoding.target(endpoint, query, path),
            body=body,
            media_type=media_type,
            accept="application/json",
            authorized=endpoint.auth is not Auth.NONE,
            repeatable=endpoint.retryable,
            reconnect=reconnect,
            deadline_seconds=deadline_seconds or self.policy.timeout_seconds,
            request_id=self._effects.ids.new("req"),
        )
        response = await (self._probe(call) if probe else self._guarded(call))
        if not 200 <= response.status < 300:
            raise ProblemError(encoding.problem(response))
        return encoding.reply(endpoint, response, self._decoder(endpoint))

    async def stream(
        self,
        endpoint: Endpoint[Request, Reply],
        *,
        query: msgspec.Struct | None = None,
        last_event_id: str = "",
        **path: str,
    ) -> AsyncIterator[bytes]:
        """Yield the body of a streaming endpoint as it arrives; raise as ``call`` does. It is not retried here."""
        call = _Call(
            method=endpoint.method,
            target=encoding.target(endpoint, query, path),
            body=b"",
            media_type="",
            accept=endpoint.stream or "*/*",
            authorized=endpoint.auth is not Auth.NONE,
            repeatable=True,
            reconnect=False,
            deadline_seconds=self.policy.idle_seconds,
            request_id=self._effects.ids.new("req"),
        )
        extra = {"last-event-id": last_event_id} if last_event_id else {}
        token = await self._token(call)
        renewed = False
        while True:
            try:
                async for chunk in self._transport.stream(self._request(call, token, extra)):
                    yield chunk
            except StreamRefused as refused:
                problem = encoding.problem(refused.response)
                if problem.status == 401 and not renewed and await self._credentials.refused(token, problem):
                    token, renewed = await self._token(call), True
                    continue
                raise ProblemError(problem) from refused
            return

    async def close(self) -> None:
        """Drop the connections."""
        await self._transport.close()

    async def _probe(self, call: _Call) -> HttpResponse:
        response = await self._authorized(call)
        if response.status < 500:
            self.breaker.alive()
        return response

    async def _guarded(self, call: _Call) -> HttpResponse:
        wait = self.breaker.admit()
        if wait > 0:
            raise CircuitOpen(wait)
        judged = False
        try:
            response = await self._repeated(call)
            judged = True
            if response.status >= 500 or response.status == 429:
                self.breaker.failed(unreachable=False)
            else:
                self.breaker.succeeded()
            return response
        except TransportError:
            if call.reconnect:
                judged = True
                self.breaker.failed(unreachable=True)
            raise
        finally:
            if not judged:
                self.breaker.dropped()

    async def _repeated(self, call: _Call) -> HttpResponse:
        refusals = losses = 0
        patience = self.policy.patience_seconds
        while True:
            try:
                response = await self._authorized(call)
            except TransportError as error:
                losses += 1
                wait = self.policy.reconnect(losses, self._effects.random)
                patience -= wait
                if not call.reconnect or patience < 0 or (error.sent and not call.repeatable):
                    raise
            else:
                refusals += 1
                if response.status not in RETRYABLE_STATUSES or not call.repeatable or refusals > self.policy.retries:
                    return response
                wait = max(_retry_after(response), self.policy.backoff(refusals, self._effects.random))
            await asyncio.sleep(wait)

    async def _authorized(self, call: _Call) -> HttpResponse:
        token = await self._token(call)
        response = await self._send(call, token)
        if response.status == 401 and token:
            problem = encoding.problem(response)
            if await self._credentials.refused(token, problem):
                response = await self._send(call, await self._token(call))
        return response

    async def _send(self, call: _Call, token: str) -> HttpResponse:
        response = await self._transport.send(self._request(call, token, {}))
        self.server_date = response.headers.get("date", self.server_date)
        return response

    async def _token(self, call: _Call) -> str:
        return await self._credentials.token() if call.authorized else ""

    def _request(self, call: _Call, token: str, extra: dict[str, str]) -> HttpRequest:
        headers = {"accept": call.accept, "user-agent": self._agent, "x-request-id": call.request_id, **extra}
        if call.media_type:
            headers["content-type"] = call.media_type
        if token:
            headers["authorization"] = f"Bearer {token}"
        return HttpRequest(call.method, call.target, headers, call.body, call.deadline_seconds)

    def _decoder(self, endpoint: Endpoint[Request, Reply]) -> msgspec.json.Decoder[Reply] | None:
        if endpoint.name not in self._decoders:
            self._decoders[endpoint.name] = encoding.decoder(endpoint)
        return cast("msgspec.json.Decoder[Reply] | None", self._decoders[endpoint.name])


def _retry_after(response: HttpResponse) -> float:
    text = response.headers.get("retry-after", "")
    if text.isdigit():
        return min(float(text), LONGEST_RETRY_AFTER_SECONDS)
    milliseconds = encoding.problem(response).retry_after_ms or 0
    return min(milliseconds / 1000, LONGEST_RETRY_AFTER_SECONDS)
