"""Streams: events are parsed at any cut and resumed where they broke."""

import pytest

from ostler.client.errors import ProblemError
from ostler.client.streaming import EventParser, ServerEvent, events, lines
from ostler.client.transport import HttpResponse, TransportError
from ostler.effects import seeded_random
from tests.unit.client.simulated import simulate
from tests.unit.client.test_calling import FOLLOW, Script, client, refusal

STREAM = b": hi\n\nevent: log\nid: 5\ndata: one\ndata: two\n\nid: 9\r\ndata:three\r\n\r\nevent: empty\n\nretry: 250\n"
EVENTS = [ServerEvent("log", b"one\ntwo", "5"), ServerEvent("message", b"three", "9")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_bytes_arrive(size: int) -> None:
    parser = EventParser()
    found = [event for at in range(0, len(STREAM), size) for event in parser.feed(STREAM[at : at + size])]
    assert found == EVENTS
    assert parser.retry_seconds == 0.25


def test_a_broken_stream_resumes_after_the_last_event() -> None:
    async def scenario() -> None:
        transport = Script(
            HttpResponse(200, {}, b"event: log\nid: 5\ndata: a\n\n|BREAK"),
            TransportError("refused", sent=False),
            HttpResponse(
                200, {}, b"event: log\nid: 9\ndata: b\n\n|event: end\ndata: {}\n\n|event: log\ndata: never\n\n"
            ),
        )
        found = [event async for event in events(client(transport), FOLLOW, seeded_random(1))]
        assert [event.data for event in found] == [b"a", b"b", b"{}"]
        assert [request.headers.get("last-event-id") for request in transport.requests] == [None, "5", "5"]

    simulate(scenario)


def test_a_refused_stream_is_a_problem() -> None:
    async def scenario() -> None:
        with pytest.raises(ProblemError) as raised:
            async for _ in events(client(Script(refusal("not_found"))), FOLLOW, seeded_random(1)):
                pass
        assert raised.value.code == "not_found"

    simulate(scenario)


def test_lines_are_whole_whatever_the_cut() -> None:
    async def scenario() -> None:
        transport = Script(HttpResponse(200, {}, b'{"a":|1}\n{"b"|:2}\n\n{"c":3}'))
        found = [line async for line in lines(client(transport), FOLLOW)]
        assert found == [b'{"a":1}', b'{"b":2}', b'{"c":3}']

    simulate(scenario)
