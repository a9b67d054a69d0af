"""Where artifacts and caches are kept, as the built-in actions see it: a folder in local runs, else the server."""

import importlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from ostler.actions.builtin.invocation import ActionFailed, Invocation


class VaultError(Exception):
    """Artifacts or caches cannot be read or written: nobody keeps them, or whoever does refused or did not answer."""

    code = "vault_failed"


class ArtifactExists(VaultError):
    """Another artifact of the run has this name."""

    code = "artifact_exists"


class Artifact(NamedTuple):
    """One that can be read."""

    id: str
    name: str
    size: int
    digest: str
    """SHA-256 in hexadecimal digits, of the archive if there is one."""
    url: str


class ArtifactOptions(NamedTuple):
    """How an artifact is to be kept."""

    retention_days: int = 0
    """0: as long as usual."""
    compression_level: int = 6
    overwrite: bool = False


class Entry(NamedTuple):
    """A cache that was found."""

    id: str
    key: str
    size: int
    digest: str


class Vault(Protocol):
    """Artifacts of one run, and caches. Every method may raise ``VaultError``."""

    def artifacts(self, run_id: str) -> list[Artifact]:
        """Return the newest artifact of each name that the run's jobs have finished, sorted by name."""
        ...

    def store_artifact(self, name: str, files: Mapping[str, str], options: ArtifactOptions) -> Artifact:
        """Keep files, by their paths in the artifact. A name that is taken raises ``ArtifactExists``."""
        ...

    def fetch_artifact(self, artifact: Artifact, into: str) -> int:
        """Write the files of an artifact below a folder; return how many. What is damaged or unsafe is refused."""
        ...

    def delete_artifact(self, artifact: Artifact) -> None: ...

    def find_cache(self, key: str, restore_keys: Sequence[str], version: str) -> Entry | None:
        """For each key in turn, return the entry of exactly that key, else the newest that begins with it."""
        ...

    def fetch_cache(self, entry: Entry, path: str) -> None:
        """Write the archive of an entry to a file, checked against its digest."""
        ...

    def store_cache(self, key: str, version: str, path: str) -> bool:
        """Keep an archive; return whether it was kept, which it is not if the key has one already."""
        ...


class _VaultModule(Protocol):
    def open_vault(self, invocation: Invocation) -> Vault: ...


def open_vault(invocation: Invocation) -> Vault:
    """Return where this job's artifacts and caches are; only that implementation is imported."""
    services = invocation.services
    if services.store:
        name = "ostler.actions.builtin.folder_vault"
    elif services.server and services.token:
        name = "ostler.actions.builtin.server_vault"
    else:
        raise VaultError(
            "this job has no place for artifacts and caches: it was not started by a server or `ostler run`"
        )
    return cast("_VaultModule", importlib.import_module(name)).open_vault(invocation)


_NEVER_IN_NAMES = {
    '"': 'Double quote "',
    ":": "Colon :",
    "<": "Less than <",
    ">": "Greater than >",
    "|": "Vertical bar |",
    "*": "Asterisk *",
    "?": "Question mark ?",
    "\r": "Carriage return \\r",
    "\n": "Line feed \\n",
    "\\": "Backslash \\",
    "/": "Forward slash /",
}


def check_name(name: str) -> None:
    """Refuse a name that cannot be a file on every system."""
    for character, called in _NEVER_IN_NAMES.items():
        if character in name:
            raise ActionFailed(f"The artifact name is not valid: {name!r}. Contains the following character: {called}")
    if not name or name.strip(".") == "" or len(name) > 255:
        raise ActionFailed(f"The artifact name is not valid: {name[:100]!r}")
