"""Where git may connect to (threat 27): a host is resolved once, judged, and git is held to the addresses found.

Unless the installation allows private networks, only addresses of the public internet pass; local folders and the
unencrypted protocols that cannot be held to an address do not pass at all.
"""

import asyncio
import ipaddress
import socket
from typing import NamedTuple

from ostler.domain.machine import Refused
from ostler.domain.repository import place

_PORTS = {"https": 443, "http": 80, "ssh": 22, "git": 9418}


class Held(NamedTuple):
    """Settings of git and of ssh that keep a connection to the addresses that were judged."""

    config: tuple[tuple[str, str], ...] = ()
    ssh_options: tuple[str, ...] = ()


async def judged(address: str, *, private: bool) -> Held | Refused:
    """Return how to connect to an address, or why not."""
    where = place(address)
    if isinstance(where, Refused):
        return where
    if private:
        return Held()
    if where.scheme in ("file", "git"):
        return Refused("address_refused", f"this server fetches nothing by {where.scheme}, only by https and ssh")
    port = where.port or _PORTS[where.scheme]
    addresses = await public_addresses(where.host, port)
    if isinstance(addresses, Refused):
        return addresses
    if where.scheme == "ssh":
        return Held(ssh_options=("-o", f"HostName={addresses[0]}", "-o", f"HostKeyAlias={where.host}"))
    listed = ",".join(f"[{each}]" if ":" in each else each for each in addresses)
    return Held(config=(("http.curloptResolve", f"{where.host}:{port}:{listed}"),))


async def public_addresses(host: str, port: int) -> list[str] | Refused:
    """Return what the name of a host means now, if all of that is in the public internet."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return Refused("fetch_failed", f"the host {host} is not known: {error.strerror or error}")
    addresses = sorted({str(entry[4][0]) for entry in found})
    for each in addresses:
        if not is_public(each):
            return Refused("address_refused", f"{host} is {each}, which is no address of the public internet")
    return addresses


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet, also one that wraps an older one."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return parsed.is_global and not parsed.is_multicast
