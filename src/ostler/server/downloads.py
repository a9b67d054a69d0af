"""Blobs on their way out, whole or a range of their bytes, for runners, people's clients and pages."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import NamedTuple
from urllib.parse import quote

from ostler.blobs import Blobs
from ostler.blobs.errors import BlobMissing
from ostler.protocol.problem import problem
from ostler.server.call import Refusal, Streaming

BYTES = "application/octet-stream"
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class Stored(NamedTuple):
    """What is to be sent, and under which name it is to be saved."""

    blob_key: str
    size: int
    digest: str
    """``sha256:…``"""
    file_name: str
    media_type: str = BYTES


async def download(
    blobs: Blobs, stored: Stored, headers: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> Streaming:
    """Send the bytes; those that a Range header names if it names any."""
    try:
        await blobs.head(stored.blob_key)
    except BlobMissing as error:
        raise Refusal(problem("not_found", "its bytes are not in the blob store")) from error
    part = _range(headers.get("range", ""), stored.size)
    start, end = part or (0, stored.size)
    told = {
        "content-length": str(end - start),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(stored.file_name, safe='')}",
        "accept-ranges": "bytes",
        "etag": f'"{stored.digest}"',
        **(extra or {}),
    }
    if part is not None:
        told["content-range"] = f"bytes {start}-{end - 1}/{stored.size}"
    chunks = _between(blobs, stored.blob_key, start, end)
    return Streaming(stored.media_type, chunks, told, 200 if part is None else 206)


async def _between(blobs: Blobs, key: str, start: int, end: int) -> AsyncGenerator[bytes]:
    left = end - start
    if not left:
        return
    async with aclosing(blobs.get_stream(key, start=start)) as chunks:
        async for chunk in chunks:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return


def _range(header: str, size: int) -> tuple[int, int] | None:
    """Return the range to send; none if none is asked for, or none that exists: then everything is sent."""
    found = _RANGE.fullmatch(header.replace(" ", ""))
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        start, end = max(0, size - int(found[2])), size
    else:
        start, end = int(found[1]), min(size, int(found[2]) + 1) if found[2] else size
    return (start, end) if start < end else None
