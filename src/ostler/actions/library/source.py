"""A place where actions come from, as the library sees it."""

from pathlib import Path
from typing import NamedTuple, Protocol

from ostler.actions.library.references import Remote
from ostler.domain.machine import Refused


class Version(NamedTuple):
    """What a reference stands for in one source at this moment."""

    commit: str = ""
    """The whole commit id; nothing if the source knows no commits."""
    digest: str = ""
    """Of the whole repository, if the source knows it before the content."""
    archive: str = ""
    """Another name of the content that the source knows: the digest of the archive that it would send."""


class Source(Protocol):
    """One of several; the first that has a repository at a ref wins.

    Refusals: ``action_not_found`` if it answered and has none, ``action_unreachable`` if it did not answer,
    ``action_unsafe`` if what it has must not be used.
    """

    @property
    def name(self) -> str:
        """What people read in messages; it holds no credentials."""
        ...

    def resolve(self, remote: Remote) -> Version | Refused:
        """Return what a reference stands for now. A whole commit id is not asked for."""
        ...

    def fetch(self, remote: Remote, version: Version, into: Path) -> str | Refused:
        """Write the whole repository into an empty folder and return its digest."""
        ...
