"""The one door to zstd: which library it is, and how much a hostile payload may cost.

Why: Python 3.14 has zstd in its standard library and older ones get the same code as a backport; nobody else should
have to know. A payload comes from a job's machine, so its output size and its window are bounded before a byte of it
is trusted.
"""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LARGEST_WINDOW_LOG = 22  # 4 MiB: no window of ours is larger, and the decoder allocates what the payload asks for


class Compressor:
    """Compresses many payloads with one context, whose tables are then allocated once and not per frame."""

    __slots__ = ("_context",)

    def __init__(self, level: int) -> None:
        self._context = zstd.ZstdCompressor(level)

    def compress(self, data: bytes) -> bytes:
        return self._context.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress_exactly(payload: bytes | memoryview, length: int) -> bytes | None:
    """The `length` bytes that the payload holds, or None if it is anything but one zstd frame of just that size."""
    decompressor = zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW_LOG},
    )
    try:
        data = decompressor.decompress(payload, max_length=length + 1)
    except zstd.ZstdError:
        return None
    if len(data) != length or not decompressor.eof or decompressor.unused_data:
        return None
    return data
