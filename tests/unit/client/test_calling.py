"""One typed call: what is repeated, when it stops, what the caller learns."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec
import pytest

from ostler.client.breaker import Breaker
from ostler.client.caller import Client
from ostler.client.credentials import Credentials, FixedToken
from ostler.client.errors import CircuitOpen, ProblemError, ReplyMalformed
from ostler.client.policy import Policy
from ostler.client.transport import HttpRequest, HttpResponse, StreamRefused, TransportError
from ostler.protocol.endpoint import Auth, Binary, Endpoint, Nothing
from ostler.protocol.problem import Problem, problem
from tests.unit.client.simulated import LoopClock, simulate, simulated_effects


class Query(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str = ""
    first: int = 1
    plain: bool = False


class Message(msgspec.Struct, frozen=True):
    value: int


READ = Endpoint(
    name="read", method="GET", path="/things/{thing}", summary="", request=Nothing, reply=Message, query=Query
)
WRITE = Endpoint(
    name="write", method="POST", path="/things", summary="", request=Message, reply=Message, retryable=False
)
UPLOAD = Endpoint(
    name="upload", method="POST", path="/blobs", summary="", request=Binary, reply=Nothing, auth=Auth.NONE
)
FOLLOW = Endpoint(
    name="follow", method="GET", path="/events", summary="", request=Nothing, reply=Nothing, stream="text/event-stream"
)

GOOD = HttpResponse(200, {"content-type": "application/json"}, b'{"value":7,"unknown":true}')


class Script:
    """A transport that answers what the test wrote down."""

    def __init__(self, *answers: HttpResponse | Exception) -> None:
        self.answers = deque(answers)
        self.requests: list[HttpRequest] = []
        self.times: list[float] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def stream(self, request: HttpRequest) -> AsyncIterator[bytes]:
        response = await self.send(request)
        if response.status != 200:
            raise StreamRefused(response)
        for piece in response.body.split(b"|"):
            if piece == b"BREAK":
                raise TransportError("lost", sent=True)
            yield piece

    async def close(self) -> None:
        return


class Renewable:
    """Credentials that renew themselves once per refusal."""

    def __init__(self) -> None:
        self.number = 1

    async def token(self) -> str:
        return f"token-{self.number}"

    async def refused(self, token: str, problem: Problem) -> bool:
        self.number += 1
        return True


def refusal(code: str, *, retry_after: str = "", retry_after_ms: int | None = None, detail: str = "") -> HttpResponse:
    body = problem(code, detail, retry_after_ms=retry_after_ms)
    headers = {"retry-after": retry_after} if retry_after else {}
    return HttpResponse(body.status, headers, msgspec.json.encode(body))


def client(
    transport: Script,
    *,
    policy: Policy | None = None,
    breaker: Breaker | None = None,
    credentials: Credentials | None = None,
) -> Client:
    chosen = credentials or FixedToken("secret")
    return Client(transport, chosen, policy or Policy(), simulated_effects(), breaker=breaker)


LOST = TransportError("lost", sent=True)
AWAY = TransportError("refused", sent=False)


def test_a_call_is_derived_from_its_endpoint() -> None:
    async def scenario() -> None:
        transport = Script(GOOD)
        reply = await client(transport).call(READ, query=Query(text="a b&c", plain=True), thing="x/y")
        assert reply == Message(7)
        request = transport.requests[0]
        assert (request.method, request.path) == ("GET", "/things/x%2Fy?text=a+b%26c&plain=1")
        assert request.headers["authorization"] == "Bearer secret"
        assert request.headers["x-request-id"].startswith("req_")
        assert request.deadline_seconds == 30.0

    simulate(scenario)


def test_binary_bodies_pass_as_they_are_and_anonymous_calls_carry_no_token() -> None:
    async def scenario() -> None:
        transport = Script(HttpResponse(204, {}, b""))
        assert await client(transport).call(UPLOAD, request=Binary(b"\0\xff", "x/y")) == Nothing()
        request = transport.requests[0]
        assert (request.body, request.headers["content-type"]) == (b"\0\xff", "x/y")
        assert "authorization" not in request.headers

    simulate(scenario)


@pytest.mark.parametrize("failure", [LOST, AWAY, *(HttpResponse(status, {}, b"") for status in (429, 502, 503, 504))])
def test_a_repeatable_call_is_repeated(failure: HttpResponse | TransportError) -> None:
    async def scenario() -> None:
        transport = Script(failure, failure, GOOD)
        assert await client(transport).call(READ, thing="x") == Message(7)
        assert len({request.headers["x-request-id"] for request in transport.requests}) == 1

    simulate(scenario)


def test_a_call_that_is_not_repeatable_goes_again_only_if_it_was_never_sent() -> None:
    async def scenario() -> None:
        assert await client(Script(AWAY, GOOD)).call(WRITE, request=Message(1)) == Message(7)
        with pytest.raises(TransportError):
            await client(Script(LOST, GOOD)).call(WRITE, request=Message(1))
        with pytest.raises(ProblemError, match="503"):
            await client(Script(HttpResponse(503, {}, b""), GOOD)).call(WRITE, request=Message(1))

    simulate(scenario)


def test_retries_are_counted_and_waits_have_full_jitter_and_a_cap() -> None:
    async def scenario() -> None:
        policy = Policy(retries=6, wait_seconds=1.0, max_wait_seconds=4.0)
        transport = Script(*[refusal("unavailable")] * 7)
        with pytest.raises(ProblemError) as raised:
            await client(transport, policy=policy).call(READ, thing="x")
        assert raised.value.code == "unavailable"
        waits = [after - before for before, after in zip(transport.times, transport.times[1:], strict=False)]
        assert len(waits) == 6
        assert all(wait <= min(4.0, 2.0**turn) + 0.01 for turn, wait in enumerate(waits))
        assert max(waits) > 2.0

    simulate(scenario)


@pytest.mark.parametrize(
    "answer", [refusal("too_many_requests", retry_after="9"), refusal("too_many_requests", retry_after_ms=9000)]
)
def test_retry_after_is_honoured(answer: HttpResponse) -> None:
    async def scenario() -> None:
        transport = Script(answer, GOOD)
        await client(transport).call(READ, thing="x")
        assert transport.times[1] - transport.times[0] >= 9.0

    simulate(scenario)


def test_an_absent_server_is_knocked_at_often_but_not_for_ever() -> None:
    async def scenario() -> None:
        policy = Policy(retries=2, wait_seconds=20.0, max_reconnect_seconds=2.0)
        transport = Script(*[AWAY] * 1000)
        with pytest.raises(TransportError):
            await client(transport, policy=policy).call(READ, thing="x")
        assert 20 < len(transport.requests) < 100
        assert 35 < transport.times[-1] - transport.times[0] <= 41

    simulate(scenario)


def test_a_problem_says_code_cause_and_fix() -> None:
    async def scenario() -> None:
        with pytest.raises(ProblemError) as raised:
            await client(Script(refusal("not_found", detail="no run r1"))).call(READ, thing="x")
        assert raised.value.code == "not_found"
        assert "no run r1" in str(raised.value)
        assert raised.value.problem.fix in str(raised.value)

    simulate(scenario)


def test_something_else_than_ostler_is_recognised() -> None:
    async def scenario() -> None:
        with pytest.raises(ProblemError) as raised:
            await client(Script(HttpResponse(404, {}, b"<html>nginx"))).call(READ, thing="x")
        assert raised.value.code == "not_ostler"
        with pytest.raises(ReplyMalformed):
            await client(Script(HttpResponse(200, {}, b"<html>welcome"))).call(READ, thing="x")

    simulate(scenario)


def test_an_expired_token_is_renewed_once_and_the_call_repeated() -> None:
    async def scenario() -> None:
        transport = Script(refusal("token_expired"), GOOD)
        assert await client(transport, credentials=Renewable()).call(READ, thing="x") == Message(7)
        assert [request.headers["authorization"] for request in transport.requests] == [
            "Bearer token-1",
            "Bearer token-2",
        ]
        with pytest.raises(ProblemError):
            await client(Script(*[refusal("token_expired")] * 2), credentials=Renewable()).call(READ, thing="x")

    simulate(scenario)


def test_the_breaker_opens_after_failures_that_survived_their_retries_and_admits_one_probe() -> None:
    async def scenario() -> None:
        breaker = Breaker(2, 600.0, LoopClock())
        transport = Script(*[refusal("unavailable")] * 6, GOOD, GOOD)
        caller = client(transport, breaker=breaker)
        for _ in range(2):
            with pytest.raises(ProblemError):
                await caller.call(READ, thing="x")
        assert breaker.state == "open"
        with pytest.raises(CircuitOpen) as raised:
            await caller.call(READ, thing="x")
        assert len(transport.requests) == 6
        await asyncio.sleep(raised.value.wait_seconds + 0.1)
        assert await caller.call(READ, thing="x") == Message(7)
        assert breaker.state == "closed"

    simulate(scenario)


def test_a_failed_probe_opens_the_breaker_again_and_others_wait_meanwhile() -> None:
    async def scenario() -> None:
        breaker = Breaker(1, 60.0, LoopClock())
        breaker.failed(unreachable=False)
        await asyncio.sleep(61)
        assert breaker.admit() == 0.0
        assert breaker.admit() > 0
        breaker.failed(unreachable=False)
        assert breaker.state == "open"
        assert breaker.admit() > 50

    simulate(scenario)


def test_a_sign_of_life_ends_the_pause_only_if_the_server_was_away() -> None:
    async def scenario() -> None:
        policy = Policy(retries=0)
        for failure, state in ((AWAY, "closed"), (refusal("internal"), "open")):
            breaker = Breaker(1, 600.0, LoopClock())
            transport = Script(failure, GOOD)
            caller = client(transport, breaker=breaker, policy=policy)
            with pytest.raises((TransportError, ProblemError)):
                await caller.call(READ, thing="x")
            assert breaker.state == "open"
            await caller.call(READ, thing="x", probe=True)
            assert breaker.state == state

    simulate(scenario)


def test_a_cancelled_probe_teaches_nothing_and_blocks_nobody() -> None:
    async def scenario() -> None:
        breaker = Breaker(1, 60.0, LoopClock())
        breaker.failed(unreachable=True)
        await asyncio.sleep(61)
        transport = Script(refusal("unavailable", retry_after="300"), GOOD)
        call = asyncio.create_task(client(transport, breaker=breaker).call(READ, thing="x"))
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert breaker.admit() == 0.0

    simulate(scenario)
