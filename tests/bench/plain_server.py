"""The plainest HTTP server that Python can be: the floor under our own.

`python -m tests.bench.plain_server PORT asyncio|uvloop`; `http_load` starts it.
"""

import asyncio
import sys
from typing import cast

import uvloop

from tests.parts.ports import LOOPBACK

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_END = b"\r\n\r\n"


class _Server(asyncio.Protocol):
    """Answers every request that ends with the piece of data it came in."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        head, _, body = data.partition(_END)
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(body) == length:
            self._transport.write(_ANSWER)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(_Server, LOOPBACK, port)
    await server.serve_forever()


if __name__ == "__main__":
    run = uvloop.run if sys.argv[2] == "uvloop" else asyncio.run
    run(_serve(int(sys.argv[1])))
