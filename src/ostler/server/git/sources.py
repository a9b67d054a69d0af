"""The seam behind which repositories are: what is where, what a commit holds, what changed between two commits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ostler.domain.machine import Refused


class Origin(NamedTuple):
    """Where a repository is fetched from, and what to say to be let in."""

    target_id: str
    clone_url: str
    username: str = ""
    password: str = ""


class Resolved(NamedTuple):
    """A reference and the commit that it stands for."""

    ref: str
    """The full name, such as ``refs/heads/main``; a bare commit keeps its digits."""
    sha: str


class Described(NamedTuple):
    """What people have said of a commit."""

    message: str
    author: str
    email: str
    moment: str


class Sources(Protocol):
    """See the module. Every answer may be ``Refused`` with the code ``fetch_failed``."""

    async def resolve(self, origin: Origin, ref: str) -> Resolved | Refused:
        """Return what a branch, tag, full reference or commit stands for now; nothing means the default branch."""
        ...

    async def references(self, origin: Origin) -> Mapping[str, str] | Refused:
        """Return the commit of every branch and tag by full name, and that of ``HEAD``."""
        ...

    async def workflows(self, origin: Origin, sha: str, folders: Sequence[str]) -> Mapping[str, bytes] | Refused:
        """Return the workflow files, by path, of the first of these folders that a commit has."""
        ...

    async def files(self, origin: Origin, sha: str, paths: Sequence[str]) -> Mapping[str, bytes] | Refused:
        """Return those of these files that a commit has."""
        ...

    async def describe(self, origin: Origin, sha: str) -> Described | Refused:
        """Return the message and author of a commit."""
        ...

    async def changed(self, origin: Origin, before: str, after: str, *, forked: bool = False) -> list[str] | None:
        """Return the files that differ between two commits; nothing if that is not known in full.

        ``forked`` compares with where the second left the first, as a pull request does.
        """
        ...
