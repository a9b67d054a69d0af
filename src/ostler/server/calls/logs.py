"""Reading logs: ranges of lines, following, searching, downloading."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from ostler.domain.job import JobState
from ostler.logs.frame import Frame
from ostler.logs.search import Search
from ostler.protocol.endpoint import Nothing
from ostler.protocol.problem import problem
from ostler.protocol.v1.run_messages import LogLinesReply
from ostler.protocol.v1.table import LOG_FOLLOW, LOG_LINES, LOG_RAW, LOG_SEARCH
from ostler.server.call import Call, Handlers, Refusal, Streaming
from ostler.server.log_followers import ENDED, LogFollowers, Place, shown
from ostler.server.log_store import LogStore
from ostler.server.raw_log import raw_text
from ostler.store.logs import Position

_encode = msgspec.json.Encoder().encode
_HITS_AT_ONCE = 64


class LogCalls:
    """See the module."""

    def __init__(self, log_store: LogStore, followers: LogFollowers) -> None:
        self._log_store = log_store
        self._followers = followers

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {LOG_LINES: self.lines, LOG_FOLLOW: self.follow, LOG_SEARCH: self.search, LOG_RAW: self.raw}

    async def lines(self, call: Call[Nothing]) -> LogLinesReply:
        """Return a range of lines; a negative first line counts from the end."""
        job_id, query = call.path["job_id"], call.query
        position = await self._position(job_id, query.attempt)
        first = query.from_line if query.from_line > 0 else max(1, position.lines + 1 + query.from_line)
        found = await self._log_store.lines(job_id, position.fence, first, query.lines) if position.bytes else []
        return LogLinesReply(
            first_line=first,
            lines=[shown(line) for line in found],
            total_lines=position.lines,
            bytes=position.bytes,
            complete=position.complete,
            attempt=position.fence,
        )

    async def follow(self, call: Call[Nothing]) -> Streaming:
        """Stream lines as they come, from an offset or from where the client was cut off."""
        job_id, query = call.path["job_id"], call.query
        await self._known(job_id)
        place = Place.parse(call.headers.get("last-event-id", "")) or Place(query.attempt, query.offset)
        chunks = self._followers.follow(job_id, place, tail=bool(query.tail))
        return Streaming("text/event-stream", chunks)

    async def search(self, call: Call[Nothing]) -> Streaming:
        """Stream hits as they are found."""
        job_id, query = call.path["job_id"], call.query
        if "\n" in query.q:
            raise Refusal(problem("query_malformed", "q: a query has no newline"))
        position = await self._position(job_id, query.attempt)
        return Streaming("application/x-ndjson", self._hits(job_id, position, query))

    async def raw(self, call: Call[Nothing]) -> Streaming:
        """Stream the whole log as text."""
        job_id, query = call.path["job_id"], call.query
        position = await self._position(job_id, query.attempt)
        headers = {"content-disposition": f'attachment; filename="{job_id}.log"'} if query.download else {}
        frames = self._log_store.frames_from(job_id, position.fence)
        chunks = raw_text(frames, timestamps=bool(query.timestamps))
        return Streaming("text/plain; charset=utf-8", chunks, headers)

    async def _hits(self, job_id: str, position: Position, query: Any) -> AsyncGenerator[bytes]:  # noqa: ANN401 - LogSearchQuery
        search = Search(query.q, match_case=bool(query.case))
        hits = 0
        async for frame in self._log_store.frames_from(job_id, position.fence):
            pending: list[bytes] = []
            for hit in await _fed(search, frame):
                if hit.line < query.from_line:
                    continue
                hits += 1
                pending.append(_encode({"line": hit.line, "text": hit.text, "spans": hit.spans}) + b"\n")
                if hits >= query.limit:
                    break
            if pending:
                yield b"".join(pending)
            if hits >= query.limit:
                break
        else:
            for hit in search.finish():
                if hit.line >= query.from_line and hits < query.limit:
                    hits += 1
                    yield _encode({"line": hit.line, "text": hit.text, "spans": hit.spans}) + b"\n"
        yield _encode({"done": True, "hits": hits, "scanned_lines": search.scanned_lines}) + b"\n"

    async def _position(self, job_id: str, attempt: int) -> Position:
        position = await self._log_store.position(job_id, attempt)
        if position is None:
            # Without an attempt there is nothing to read; a job that ended so will never have anything.
            return Position(attempt, 0, 0, 0, complete=await self._known(job_id) in ENDED)
        return position

    async def _known(self, job_id: str) -> JobState:
        state = await self._log_store.job_state(job_id)
        if state is None:
            raise Refusal(problem("not_found", f"there is no job {job_id!r}"))
        return state


async def _fed(search: Search, frame: Frame) -> "list[Any]":
    if len(frame.text) <= _HITS_AT_ONCE * 1024:
        return list(search.feed(frame))
    return await asyncio.to_thread(lambda: list(search.feed(frame)))
