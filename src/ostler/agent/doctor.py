"""Why does my runner not work? One check after the other, each with what was seen and what would mend it.

The checks go from the wire up: name, connection, TLS, clock, identity or token, then this machine: disk, directories,
tools. A failing check does not end the examination unless the next ones make no sense without it.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ostler.agent.capabilities import Tools
from ostler.agent.configuration import Configuration
from ostler.agent.identity import PATH as IDENTITY_PATH, Identity, http_date
from ostler.client.address import Address, parse_address, proxy_for
from ostler.client.errors import AddressMalformed
from ostler.client.transport import HttpRequest, Transport, TransportError
from ostler.effects import Effects

_SECONDS = 10.0
_LARGEST_SKEW_SECONDS = 60
_NEEDED_TOOLS = ("git", "bash")

Verdict = Literal["ok", "warning", "failed", "skipped"]


class Check(NamedTuple):
    """What one look found."""

    name: str
    verdict: Verdict
    finding: str
    fix: str = ""


class Patient(NamedTuple):
    """What is examined."""

    configuration: Configuration
    environment: Mapping[str, str]
    state: Path
    transport: Transport
    tools: Tools
    effects: Effects


async def examine(patient: Patient) -> AsyncIterator[Check]:
    """Yield each check as soon as it is done."""
    try:
        server = parse_address(patient.configuration.service_url)
        proxy = proxy_for(server, patient.environment)
    except AddressMalformed as error:
        yield Check("address", "failed", str(error), "Correct `service_url` or the proxy variables.")
    else:
        async for check in _network(patient, server, proxy):
            yield check
    yield _credentials(patient)
    yield _disk(patient)
    yield _directory(patient.state)
    yield await _tools(patient)


async def _network(patient: Patient, server: Address, proxy: Address | None) -> AsyncIterator[Check]:
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
    async for check in _service(patient, server):
        yield check


async def _resolve(nearest: Address, via: str) -> Check:
    try:
        async with asyncio.timeout(_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(nearest.host, nearest.port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        fix = "Check `service_url` (OSTLER_AGENT_SERVICE_URL) for a typo, and this machine's name server."
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


async def _service(patient: Patient, server: Address) -> AsyncIterator[Check]:
    request = HttpRequest("GET", "/readyz", {"accept": "application/json"}, b"", _SECONDS)
    try:
        reply = await patient.transport.send(request)
    except TransportError as error:
        fix = "Look at the server's log, and at whatever stands between: proxies, load balancers."
        yield Check("service", "failed", f"{server.origin} gives no answer: {error.reason}", fix)
        return
    if reply.status == 200:
        yield Check("service", "ok", "the server is ready")
    else:
        fix = "Check that `service_url` is an Ostler server; `ostler doctor` there says what it lacks."
        yield Check("service", "failed", f"the server answers HTTP {reply.status}", fix)
    seconds = http_date(reply.headers.get("date", ""))
    if seconds is None:
        yield Check("clock", "skipped", "the server does not say its time")
        return
    skew = seconds - patient.effects.clock.now() // 1_000_000
    if abs(skew) > _LARGEST_SKEW_SECONDS:
        fix = "Switch time synchronisation on here (`timedatectl set-ntp true`); jobs still run meanwhile."
        yield Check("clock", "warning", f"this machine's clock differs from the server's by {-skew} s", fix)
    else:
        yield Check("clock", "ok", f"the clocks agree to {abs(skew)} s")


def _credentials(patient: Patient) -> Check:
    configuration = patient.configuration
    try:
        identity = msgspec.json.decode((patient.state / IDENTITY_PATH).read_bytes(), type=Identity)
    except FileNotFoundError:
        identity = None
    except (OSError, msgspec.DecodeError) as error:
        fix = f"Remove {patient.state / IDENTITY_PATH} and enrol again with a new token."
        return Check("identity", "failed", f"the identity cannot be read: {error}", fix)
    if identity is not None and identity.runner_id:
        return Check("identity", "ok", f"enrolled as {identity.runner_id} in pool {identity.pool_name}")
    if configuration.oidc_token_file:
        readable = os.access(configuration.oidc_token_file, os.R_OK)
        fix = "" if readable else "Check `oidc_token_file` and who may read it."
        finding = f"{configuration.oidc_token_file} {'will be used to enrol' if readable else 'cannot be read'}"
        return Check("identity", "ok" if readable else "failed", finding, fix)
    if configuration.token:
        return Check("identity", "ok", "not enrolled yet; there is a token for it")
    fix = "Create one with `ostler token create --pool POOL`, then `ostler agent configure --token TOKEN`."
    return Check("identity", "failed", "not enrolled, and there is no token", fix)


def _disk(patient: Patient) -> Check:
    wanted = patient.configuration.minimum_free_disk
    status = os.statvfs(patient.state)
    free = status.f_bavail * status.f_frsize
    if free < wanted:
        fix = "Free some space, or lower `minimum_free_disk`."
        return Check("disk", "failed", f"{free >> 20} MiB free, {wanted >> 20} MiB wanted before a job is taken", fix)
    return Check("disk", "ok", f"{free >> 20} MiB free in {patient.state}")


def _directory(state: Path) -> Check:
    fix = f"Give it to the user that runs the agent: `chown -R USER {state}` and `chmod 700 {state}`."
    probe = state / ".doctor"
    try:
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Check("directory", "failed", f"{state} cannot be written: {error.strerror}", fix)
    if state.stat().st_mode & 0o077:
        return Check("directory", "warning", f"others may look into {state}, which holds the runner's key", fix)
    return Check("directory", "ok", f"{state} is ours alone")


async def _tools(patient: Patient) -> Check:
    found = await patient.tools.detect()
    missing = [tool for tool in _NEEDED_TOOLS if tool not in found]
    listed = ", ".join(f"{name} {version}" for name, version in sorted(found.items())) or "none"
    if missing:
        return Check("tools", "warning", f"found {listed}", f"Install {' and '.join(missing)}; most jobs need it.")
    return Check("tools", "ok", listed)
