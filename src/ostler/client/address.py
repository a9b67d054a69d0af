"""Where a server is, and through which proxy: addresses as people write them, taken apart once."""

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ostler.client.errors import AddressMalformed

_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """An ``http`` or ``https`` address without a trailing slash in its path."""

    tls: bool
    host: str
    port: int
    path: str
    authorization: str = ""
    """The Basic header of a user and password in the address; only proxies use it."""

    @property
    def authority(self) -> str:
        """The host as a Host header names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.tls else 'http'}://{self.authority}"


def parse_address(text: str) -> Address:
    """Return the address in the text; raise ``AddressMalformed``, which says how to write one."""
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError as error:
        raise AddressMalformed(f"{text!r} is no address: {error}; write https://HOST:PORT") from error
    if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
        raise AddressMalformed(f"{text!r} is no address of a server; write http://HOST:PORT or https://HOST:PORT")
    credentials = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return Address(
        tls=parts.scheme == "https",
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        path=parts.path.rstrip("/"),
        authorization=f"Basic {b64encode(credentials.encode()).decode()}" if parts.username else "",
    )


def proxy_for(server: Address, environment: Mapping[str, str]) -> Address | None:
    """Return the proxy that the environment names for this server: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

    Lower-case names win, as in curl; ``HTTP_PROXY`` counts only in lower case where a web server set the environment.
    """
    names = ["https_proxy", "HTTPS_PROXY"] if server.tls else ["http_proxy"]
    if not server.tls and "REQUEST_METHOD" not in environment:
        names.append("HTTP_PROXY")
    text = next((environment[name] for name in [*names, "all_proxy", "ALL_PROXY"] if environment.get(name)), "")
    if not text or _excluded(server, environment.get("no_proxy") or environment.get("NO_PROXY") or ""):
        return None
    return parse_address(text if "://" in text else f"http://{text}")


def _excluded(server: Address, rules: str) -> bool:
    return any(_matches(server, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _matches(server: Address, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        try:
            return ipaddress.ip_address(server.host) in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    host, colon, port = rule.rpartition(":")
    if colon and port.isdigit() and (host.startswith("[") or ":" not in host):
        if int(port) != server.port:
            return False
        rule = host
    rule = rule.strip("[]").removeprefix("*").lstrip(".")
    return server.host == rule or server.host.endswith(f".{rule}")
