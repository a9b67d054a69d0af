"""One connection to the server for the length of a command."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from ostler import __version__
from ostler.cli.context import Context, load_context
from ostler.client.caller import Client
from ostler.client.credentials import FixedToken
from ostler.client.http_transport import HttpTransport
from ostler.client.policy import Policy
from ostler.effects import system_effects

T = TypeVar("T")


@contextlib.asynccontextmanager
async def connected(context: Context | None = None) -> AsyncGenerator[Client]:
    """Open a client for the given or the saved context."""
    chosen = context or load_context()
    transport = HttpTransport(chosen.url, os.environ)
    client = Client(transport, FixedToken(chosen.token), Policy(), system_effects(), agent=f"ostler/{__version__}")
    try:
        yield client
    finally:
        await client.close()


def with_client(work: Callable[[Client], Awaitable[T]]) -> T:
    """Run one asynchronous piece of work with a connected client."""

    async def run() -> T:
        async with connected() as client:
            return await work(client)

    return asyncio.run(run())
