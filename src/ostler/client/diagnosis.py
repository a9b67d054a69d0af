"""Why can this machine not talk to the server? Name, connection, TLS, service and clock, from the wire up.

Shared by the agent's doctor and the command line's; what is true of one program only is not examined here.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Literal, NamedTuple

from ostler.client.address import Address, parse_address, proxy_for
from ostler.client.dates import http_date
from ostler.client.errors import AddressMalformed
from ostler.client.transport import HttpRequest, Transport, TransportError
from ostler.effects import Clock

_SECONDS = 10.0
_LARGEST_SKEW_SECONDS = 60

Verdict = Literal["ok", "warning", "failed", "skipped"]


class Check(NamedTuple):
    """What one look found."""

    name: str
    verdict: Verdict
    finding: str
    fix: str = ""


async def examine_network(
    service_url: str, environment: Mapping[str, str], connect: Callable[[], Transport], clock: Clock
) -> AsyncIterator[Check]:
    """Yield each check as soon as it is done; stop where the next ones make no sense."""
    try:
        server = parse_address(service_url)
        proxy = proxy_for(server, environment)
    except AddressMalformed as error:
        yield Check("address", "failed", str(error), "Correct the server's address or the proxy variables.")
        return
    nearest = proxy or server
    via = f" (proxy for {server.origin})" if proxy else ""
    resolved = await _resolve(nearest, via)
    yield resolved
    if resolved.verdict == "failed":
        return
    connected = await _connect(nearest, via)
    yield connected
    if connected.verdict == "failed":
        return
    yield await _tls(server, proxied=proxy is not None)
    async for check in _service(server, connect(), clock):
        yield check


async def _resolve(nearest: Address, via: str) -> Check:
    try:
        async with asyncio.timeout(_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(nearest.host, nearest.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        fix = "Check the server's address for a typo, and this machine's name server."
        return Check("address", "failed", f"{nearest.host}{via} does not resolve: {error}", fix)
    return Check("address", "ok", f"{nearest.host}{via} is {found[0][4][0]}")


async def _connect(nearest: Address, via: str) -> Check:
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(nearest.host, nearest.port)
    except (OSError, TimeoutError) as error:
        fix = f"Start the server, or let this machine open connections to {nearest.host}:{nearest.port}."
        return Check("connection", "failed", f"{nearest.origin}{via} cannot be reached: {error or 'timeout'}", fix)
    writer.close()
    return Check("connection", "ok", f"{nearest.origin}{via} accepts connections")


async def _tls(server: Address, *, proxied: bool) -> Check:
    if not server.tls:
        local = server.host in {"localhost", "127.0.0.1", "::1"}
        verdict: Verdict = "skipped" if local else "warning"
        return Check("tls", verdict, "the connection is not encrypted", "" if local else "Use an https:// address.")
    if proxied:
        return Check("tls", "skipped", "checked through the proxy with the next request")
    try:
        async with asyncio.timeout(_SECONDS):
            context = ssl.create_default_context()
            _, writer = await asyncio.open_connection(server.host, server.port, ssl=context)
    except (OSError, TimeoutError) as error:
        fix = "Set SSL_CERT_FILE to your authority's certificates, or repair the server's certificate."
        return Check("tls", "failed", f"the certificate is not accepted: {error}", fix)
    writer.close()
    return Check("tls", "ok", "the certificate is valid")


async def _service(server: Address, transport: Transport, clock: Clock) -> AsyncIterator[Check]:
    request = HttpRequest("GET", "/readyz", {"accept": "application/json"}, b"", _SECONDS)
    try:
        reply = await transport.send(request)
    except TransportError as error:
        fix = "Look at the server's log, and at whatever stands between: proxies, load balancers."
        yield Check("service", "failed", f"{server.origin} gives no answer: {error.reason}", fix)
        return
    if reply.status == 200:
        yield Check("service", "ok", "the server is ready")
    else:
        fix = "Check that the address is that of an Ostler server; `ostler doctor` there says what it lacks."
        yield Check("service", "failed", f"the server answers HTTP {reply.status}", fix)
    seconds = http_date(reply.headers.get("date", ""))
    if seconds is None:
        yield Check("clock", "skipped", "the server does not say its time")
        return
    skew = seconds - clock.now() // 1_000_000
    if abs(skew) > _LARGEST_SKEW_SECONDS:
        fix = "Switch time synchronisation on here (`timedatectl set-ntp true`); jobs still run meanwhile."
        yield Check("clock", "warning", f"this machine's clock differs from the server's by {-skew} s", fix)
    else:
        yield Check("clock", "ok", f"the clocks agree to {abs(skew)} s")
