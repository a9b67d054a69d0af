"""The repository: a target that owns workflows. What its name and its address may be, and what it is called elsewhere.

An address is handed to git, so only forms that name a server or a folder pass: none that begins with a hyphen, which
git would take for an option, and none of git's transports that run a command (threat 22).
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from ostler.domain.machine import Refused

Forge: TypeAlias = Literal["git", "github", "gitlab", "gitea"]
FORGES: Final[tuple[Forge, ...]] = ("git", "github", "gitlab", "gitea")

WORKFLOW_FOLDERS: Final = (".ostler/workflows", ".github/workflows")
"""Where workflows are looked for unless a repository says otherwise; the first folder that exists counts."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SCHEMES: Final = ("https", "http", "ssh", "git", "file")
_BRIEF = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9.-]+:(?!/)[^\s:]+")
"""``user@host:path``, the short form of ssh."""

_REF = re.compile(r"[^\s~^:?*\[\\\x00-\x1f\x7f]{1,250}")
_VALUE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_LONGEST_ADDRESS: Final = 1000


class Place(NamedTuple):
    """Where an address leads: a host and its port for those that name a server, neither for a folder."""

    scheme: str
    host: str
    port: int | None
    path: str


def checked_repository_name(name: str) -> str | Refused:
    """Return the name if it can stand in an address, or why not."""
    if not _NAME.fullmatch(name):
        return Refused(
            "name_characters",
            f"a repository's name has 1 to 100 letters, digits, dots, hyphens and underscores, not {name[:40]!r}",
        )
    return name


def place(address: str) -> Place | Refused:
    """Return where a clone address leads, or why it is not taken."""
    if len(address) > _LONGEST_ADDRESS or not address.isprintable() or address.startswith("-") or "::" in address:
        return Refused("value_refused", "clone_url: write https://host/path, ssh://host/path or file:///path")
    if address.startswith("/"):
        return Place("file", "", None, address)
    if "://" not in address:
        if not _BRIEF.fullmatch(address):
            return Refused("value_refused", f"clone_url: {address[:80]!r} is no address that git knows")
        host, _, path = address.partition(":")
        return Place("ssh", host.rpartition("@")[2], 22, path)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return Refused("value_refused", f"clone_url: {error}")
    if parts.scheme not in _SCHEMES:
        return Refused("value_refused", f"clone_url: {parts.scheme[:20]!r} is not one of {', '.join(_SCHEMES)}")
    if parts.password is not None:
        return Refused("value_refused", "clone_url: keep the password out of the address; there is a field of its own")
    host = parts.hostname or ""
    if (parts.scheme == "file") is bool(host) or host.startswith("-") or not parts.path.strip("/"):
        return Refused("value_refused", f"clone_url: {address[:80]!r} names no repository")
    return Place(parts.scheme, host, port, parts.path)


def full_name(address: str) -> str:
    """Return ``owner/name`` as an address ends: what `github.repository` says."""
    where = place(address)
    path = "" if isinstance(where, Refused) else where.path
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join((["local", *parts])[-2:]) if len(parts) < 2 else "/".join(parts[-2:])


def checked_reference(ref: str) -> str | Refused:
    """Return a branch, tag, full reference or commit if git could have one of that name, or why not."""
    if not _REF.fullmatch(ref) or ref.startswith(("-", "/", ".")) or ".." in ref or ref.endswith(("/", ".lock", ".")):
        return Refused("value_refused", f"ref: git has no reference named {ref[:80]!r}")
    return ref


def checked_folder(path: str) -> str | Refused:
    """Return a folder inside the repository in its plain form, or why it is none; nothing means the usual ones."""
    plain = path.strip().removesuffix("/")
    parts = plain.split("/")
    if plain and (not plain.isprintable() or plain.startswith(("/", "-", ":")) or {"", ".", ".."} & set(parts)):
        return Refused("value_refused", f"workflows_path: {path[:80]!r} is no folder inside the repository")
    return plain


def checked_value_name(name: str) -> str | Refused:
    """Return the name of a secret or variable as it is stored, in capitals, or why it cannot be one."""
    if not _VALUE_NAME.fullmatch(name):
        return Refused("value_refused", f"name: letters, digits and underscores, and no digit first, not {name[:40]!r}")
    stored = name.upper()
    if stored.startswith("GITHUB_") and stored != "GITHUB_TOKEN":
        return Refused("value_refused", f"name: {stored} belongs to the platform; only GITHUB_TOKEN can be given")
    return stored
