"""Logs as clients read them: ranges over sealed and live parts, streams that resume, search, and hostile frames."""

import asyncio
import base64
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from ostler.logs.writer import LogWriter
from tests.contract.server.asgi_client import Exchange
from tests.contract.server.installation import Installation, Runner, frames_of

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]

_MIB = 1024 * 1024


class Writing:
    """A running job that writes."""

    def __init__(self, runner: Runner, claim: dict[str, Any]) -> None:
        self.runner = runner
        self.claim = claim
        self.job_id: str = claim["job_id"]
        self.offset = 0
        self._writer = LogWriter()

    async def write(self, text: bytes) -> None:
        frames = self._writer.write(text, 1, 1) + self._writer.flush()
        reply = await self.runner.log(self.claim, self.offset, frames)
        self.offset += len(text)
        assert reply.json()["length"] == self.offset, reply.body

    async def finish(self) -> None:
        assert (await self.runner.finish(self.claim, self.offset)).status == 200


async def _writing(installation: Installation) -> Writing:
    person, runner = await installation.user(), await installation.runner()
    await person.submit()
    return Writing(runner, await runner.work())


def test_a_result_carries_the_last_of_the_log_and_of_the_steps(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        frames = base64.b64encode(frames_of(b"first\n", b"second\n")).decode()
        step = {"sequence": 1, "step": 0, "name": "say", "state": "running"}
        ended = {**step, "sequence": 2, "state": "succeeded", "duration_ms": 5, "exit_code": 0}
        damaged = {"log": base64.b64encode(b"OLF" + b"?" * 60).decode()}
        refused = await job.runner.finish(job.claim, 13, 2, **damaged)
        assert (refused.status, refused.json()["code"], refused.json()["expected"]) == (409, "log_incomplete", 0)
        for _ in range(2):
            reply = await job.runner.finish(job.claim, 13, 2, log=frames, events=[step, ended])
            assert (reply.status, reply.json()["state"]) == (200, "succeeded")
        lines = (await person.get(f"/api/v1/jobs/{job.job_id}/log?from_line=1&lines=9")).json()
        assert [line[0] for line in lines["lines"]] == ["first", "second"]
        assert lines["complete"]
        (seen,) = (await person.get(f"/api/v1/jobs/{job.job_id}")).json()["steps"]
        assert (seen["state"], seen["exit_code"]) == ("succeeded", 0)
        assert seen["started_at"] < seen["finished_at"]

    served(scene)


def test_ranges_are_read_over_sealed_and_live_parts(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        for start in range(0, 100_000, 20_000):
            await job.write(b"".join(b"line %06d %s\n" % (n + 1, b"." * 60) for n in range(start, start + 20_000)))
        await installation.control.log_store.seal(job.job_id, job.claim["fence"])
        position = await installation.control.log_store.position(job.job_id)
        assert position is not None
        assert 0 < position.sealed < position.bytes
        for first, count in ((1, 3), (57_000, 5000), (99_999, 500), (-2, 2)):
            reply = (await person.get(f"/api/v1/jobs/{job.job_id}/log?from_line={first}&lines={count}")).json()
            begin = first if first > 0 else 100_001 + first
            expected = list(range(begin, min(begin + count, 100_001)))
            assert [int(line[0][5:11]) for line in reply["lines"]] == expected
            assert reply["total_lines"] == 100_000
        raw = await person.get(f"/api/v1/jobs/{job.job_id}/log/raw")
        assert len(raw.body) == job.offset
        stamped = await person.get(f"/api/v1/jobs/{job.job_id}/log/raw?timestamps=1&download=1")
        assert stamped.body.count(b"Z line ") == 100_000
        assert stamped.headers["content-disposition"].startswith("attachment")

    served(scene)


def test_a_follower_resumes_where_it_was_cut_off_and_ends_with_the_job(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        target = f"/api/v1/jobs/{job.job_id}/log/follow"
        await job.write(b"one\ntwo\npart")
        async with installation.client.stream(target, person.headers) as stream:
            place, lines = await _log_event(stream)
            assert lines == ["one", "two", "part"]
        await job.write(b"ial\nthree\n")
        async with installation.client.stream(target, {**person.headers, "last-event-id": place}) as stream:
            place, lines = await _log_event(stream)
            assert lines == ["partial", "three"]
            await job.finish()
            await installation.control.log_store.seal(job.job_id, job.claim["fence"])
            assert (await _event(stream))["event"] == "end"
        async with installation.client.stream(target, {**person.headers, "last-event-id": place}) as stream:
            assert (await _event(stream))["event"] == "end"

    served(scene)


@pytest.mark.parametrize("place", ["²", "1.²", "9" * 5000, "1." + "9" * 40, "-1.0", "1", ".", "1.0.0"])
def test_a_place_that_is_none_means_the_beginning(served_inline: Served, place: str) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        await job.write(b"one\n")
        headers = {**person.headers, "last-event-id": place}
        async with installation.client.stream(f"/api/v1/jobs/{job.job_id}/log/follow", headers) as stream:
            assert (await _log_event(stream))[1] == ["one"]

    served_inline(scene)


def test_following_an_attempt_that_never_was_ends_with_the_job(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        await job.finish()
        target = f"/api/v1/jobs/{job.job_id}/log/follow?attempt=9"
        async with installation.client.stream(target, person.headers) as stream:
            assert (await _event(stream))["event"] == "end"

    served_inline(scene)


def test_a_line_longer_than_a_piece_does_not_stop_a_follower(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        await job.write(b"before\n")
        async with installation.client.stream(f"/api/v1/jobs/{job.job_id}/log/follow", person.headers) as stream:
            assert (await _log_event(stream))[1] == ["before"]
            for _ in range(3):
                await job.write(b"x" * _MIB)
            await job.write(b"\nafter\n")
            shown: list[str] = []
            while "after" not in shown:
                shown += (await _log_event(stream))[1]
            assert f"{3 * _MIB - 8000} bytes more" in shown[-2]

    served_inline(scene)


def test_followers_of_a_drained_server_leave(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        target = f"/api/v1/jobs/{job.job_id}/log/follow"
        async with installation.client.stream(target, person.headers) as stream:
            await stream.started
            installation.control.drain()
            assert await _all(stream) == b"retry: 500\n\n"
        async with installation.client.stream(target, person.headers) as stream:
            assert await _all(stream) == b"retry: 500\n\n"

    served_inline(scene)


def test_search_streams_its_hits_and_says_when_it_is_done(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        await job.write(b"".join(b"needle %d\n" % n if n % 100 == 0 else b"hay %d\n" % n for n in range(10_000)))
        await installation.control.log_store.seal(job.job_id, job.claim["fence"])
        target = f"/api/v1/jobs/{job.job_id}/log/search"
        found = [msgspec.json.decode(line) for line in (await person.get(f"{target}?q=NEEDLE")).body.splitlines()]
        assert [hit["line"] for hit in found[:-1]] == list(range(1, 10_000, 100))
        assert found[-1] == {"done": True, "hits": 100, "scanned_lines": 10_000}
        few = (await person.get(f"{target}?q=NEEDLE&limit=3&from_line=150")).body.splitlines()
        assert [msgspec.json.decode(line)["line"] for line in few[:-1]] == [201, 301, 401]
        cased = (await person.get(f"{target}?q=NEEDLE&case=1")).body.splitlines()
        assert msgspec.json.decode(cased[-1])["hits"] == 0
        assert (await person.get(f"{target}?q=a%0Ab")).code == "query_malformed"

    served(scene)


def test_a_small_body_of_much_text_is_kept_and_read_in_pieces(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, job = await installation.user(), await _writing(installation)
        line = b" " * 999 + b"\n"
        text = line * 64 * 1024
        await job.write(text)
        frames = installation.control.log_store.frames_from(job.job_id, 1)
        held = [len(frame.text) async for frame in frames]
        assert sum(held) == len(text)
        reply = (await person.get(f"/api/v1/jobs/{job.job_id}/log?from_line=60000&lines=2")).json()
        assert len(reply["lines"]) == 2

    served_inline(scene)


@pytest.mark.parametrize("spoilt", ["cut", "flipped", "swapped", "noise", "offset"])
def test_damaged_frames_are_refused_and_change_nothing(served_inline: Served, spoilt: str) -> None:
    async def scene(installation: Installation) -> None:
        job = await _writing(installation)
        first, second = frames_of(b"one\n"), frames_of(b"one\n", b"two\n")[len(frames_of(b"one\n")) :]
        bad = {
            "cut": first[:-1],
            "flipped": first[:20] + bytes([first[20] ^ 1]) + first[21:],
            "swapped": second + first,
            "noise": b"\0" * 100,
            "offset": second,
        }[spoilt]
        reply = await job.runner.log(job.claim, 0, bad)
        assert (reply.status, reply.code) == (422, "frame_damaged")
        gap = await job.runner.log(job.claim, 4, second)
        assert (gap.code, gap.json()["expected"]) == ("log_offset", 0)
        await job.write(b"good\n")

    served_inline(scene)


async def _event(stream: Exchange) -> dict[str, str]:
    while True:
        piece = await stream.pieces.get()
        assert piece is not None, "the stream ended"
        fields = dict(line.split(": ", 1) for line in piece.decode().splitlines() if ": " in line)
        if "event" in fields:
            return fields


async def _log_event(stream: Exchange) -> tuple[str, list[str]]:
    event = await _event(stream)
    assert event["event"] == "log"
    return event["id"], [line[0] for line in msgspec.json.decode(event["data"])["lines"]]


async def _all(stream: Exchange) -> bytes:
    pieces: list[bytes] = []
    async with asyncio.timeout(5):
        while (piece := await stream.pieces.get()) is not None:
            pieces.append(piece)
    return b"".join(pieces)
