"""Why does my runner not work? One check after the other, each with what was seen and what would mend it.

The checks go from the wire up: name, connection, TLS, clock, identity or token, then this machine: disk, directories,
tools. A failing check does not end the examination unless the next ones make no sense without it.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from ostler.agent.capabilities import Tools
from ostler.agent.configuration import Configuration
from ostler.agent.identity import PATH as IDENTITY_PATH, Identity
from ostler.client.diagnosis import Check, examine_network
from ostler.client.transport import Transport
from ostler.effects import Effects

_NEEDED_TOOLS = ("git", "bash")


class Patient(NamedTuple):
    """What is examined."""

    configuration: Configuration
    environment: Mapping[str, str]
    state: Path
    connect: Callable[[], Transport]
    tools: Tools
    effects: Effects


async def examine(patient: Patient) -> AsyncIterator[Check]:
    """Yield each check as soon as it is done."""
    url, clock = patient.configuration.service_url, patient.effects.clock
    async for check in examine_network(url, patient.environment, patient.connect, clock):
        yield check
    yield _credentials(patient)
    yield _disk(patient)
    yield _directory(patient.state)
    yield await _tools(patient)


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
