"""``ostler login``: exchange a one-time sign-in code for a token, and remember both server and token.

A server prints its code as a link for browsers, so the link alone is enough here too.
"""

import asyncio

import click

from ostler.cli import output
from ostler.cli.connection import connected
from ostler.cli.context import Context, save_context
from ostler.protocol.v1.fleet_messages import CreateTokenReply, LoginRequest
from ostler.protocol.v1.table import LOGIN


@click.command()
@click.argument("url")
@click.argument("code", default="")
def login(*, url: str, code: str) -> None:
    """Sign this machine in to the server at URL with a one-time CODE, or with the link that holds both."""
    url, _, linked = url.partition("/sign-in/")
    code = code or linked
    if not code:
        raise click.UsageError("give the CODE that the server printed, or its whole sign-in link")

    async def signed_in() -> CreateTokenReply:
        async with connected(Context(url.rstrip("/"), "", "arguments")) as client:
            return await client.call(LOGIN, request=LoginRequest(code=code.rsplit("/", 1)[-1]))

    reply = asyncio.run(signed_in())
    path = save_context(url, reply.secret)
    output.say(f"signed in to {url}; the token is in {path}")
