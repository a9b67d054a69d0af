"""``ostler doctor``: is the server reachable, does it accept us, and is it well? Each failing check names its fix."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import click
import msgspec

from ostler.cli import output
from ostler.cli.context import Context, load_context
from ostler.cli.options import json_option
from ostler.client.caller import Client
from ostler.client.credentials import FixedToken
from ostler.client.diagnosis import Check, examine_network
from ostler.client.errors import ProblemError
from ostler.client.http_transport import HttpTransport
from ostler.client.policy import Policy
from ostler.client.transport import HttpRequest, Transport, TransportError
from ostler.effects import Effects, system_effects
from ostler.protocol.v1.table import WHO_AM_I

MARKS: Final = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "·"}

_SECONDS = 10.0
_LEAST_FREE_BYTES = 1024**3
_FIXES = {
    "database": "Check that the database is up and that the server's user may write to it; see the server's log.",
    "blobs": "Check that the blob store is up and that its credentials are right; see the server's log.",
    "draining": "Wait for the server to restart, or use another replica.",
}


class _Readiness(msgspec.Struct, frozen=True):
    checks: dict[str, str]


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Check the address, TLS, clock, token, database, blobs, disk and tools; each failing check names its fix."""
    checks = asyncio.run(_examine(load_context(), as_json=as_json))
    if as_json:
        output.print_json([check._asdict() for check in checks])
    context.exit(1 if any(check.verdict == "failed" for check in checks) else 0)


async def _examine(chosen: Context, *, as_json: bool) -> list[Check]:
    effects = system_effects()
    transport = HttpTransport(chosen.url, os.environ)
    checks: list[Check] = []
    try:
        async for check in _checks(chosen, transport, effects):
            checks.append(check)
            if not as_json:
                output.print_line(f"{MARKS[check.verdict]} {check.name:<11} {check.finding}")
                if check.fix:
                    output.print_line(f"  fix: {check.fix}")
    finally:
        await transport.close()
    return checks


async def _checks(chosen: Context, transport: Transport, effects: Effects) -> AsyncIterator[Check]:
    reachable = False
    async for check in examine_network(chosen.url, os.environ, lambda: transport, effects.clock):
        reachable = reachable or (check.name == "connection" and check.verdict == "ok")
        if check.name != "service":
            yield check
    if reachable:
        yield await _token(chosen, transport, effects)
        for check in await _readiness(transport):
            yield check
    yield _disk()
    yield _tools()


async def _token(chosen: Context, transport: Transport, effects: Effects) -> Check:
    client = Client(transport, FixedToken(chosen.token), Policy(retries=0), effects)
    try:
        identity = await client.call(WHO_AM_I)
    except ProblemError as error:
        fix = f"Sign in again: `ostler login {chosen.url} CODE`; the server prints a link with a code when it starts."
        if chosen.source == "OSTLER_TOKEN":
            fix = "Correct OSTLER_TOKEN, or unset it to use what `ostler login` saved."
        return Check("token", "failed", f"the token of {chosen.source} is refused: {error.problem.title}", fix)
    except TransportError as error:
        return Check("token", "failed", f"no answer: {error.reason}", "Look at the server's log.")
    return Check("token", "ok", f"signed in as {identity.name}, {identity.role}")


async def _readiness(transport: Transport) -> list[Check]:
    try:
        reply = await transport.send(HttpRequest("GET", "/readyz", {"accept": "application/json"}, b"", _SECONDS))
        findings = msgspec.json.decode(reply.body, type=_Readiness).checks
    except (TransportError, msgspec.DecodeError) as error:
        return [Check("service", "failed", f"/readyz gives no answer: {error}", "Look at the server's log.")]
    return [
        Check(name, "failed" if finding else "ok", finding or "works", _FIXES.get(name, "") if finding else "")
        for name, finding in findings.items()
    ]


def _disk() -> Check:
    home = Path.home()
    free = shutil.disk_usage(home).free
    if free < _LEAST_FREE_BYTES:
        return Check("disk", "warning", f"{free >> 20} MiB free below {home}", "Free some space on this machine.")
    return Check("disk", "ok", f"{free >> 30} GiB free below {home}")


def _tools() -> Check:
    missing = [tool for tool in ("git", "bash") if shutil.which(tool) is None]
    if missing:
        return Check("tools", "warning", "not every tool was found", f"Install {' and '.join(missing)}.")
    return Check("tools", "ok", "git and bash were found")
