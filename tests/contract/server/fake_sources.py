"""Repositories in memory: commits that hold files, and references to them."""

from collections.abc import Mapping, Sequence

from ostler.domain.machine import Refused
from ostler.server.git.sources import Described, Origin, Resolved


class FakeSources:
    """See the module. ``away`` makes every answer a refusal, as if the server of the repository were down."""

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, bytes]] = {}
        self.messages: dict[str, str] = {}
        self.heads: dict[str, str] = {}
        self.away = False

    def commit(self, ref: str, files: Mapping[str, str], message: str = "Change") -> str:
        """Put a commit on a reference and return it."""
        sha = f"{len(self.commits) + 1:040x}"
        self.commits[sha] = {path: text.encode() for path, text in files.items()}
        self.messages[sha] = message
        if ref:
            self.heads[ref] = sha
        return sha

    async def resolve(self, origin: Origin, ref: str) -> Resolved | Refused:
        found = await self.references(origin)
        if isinstance(found, Refused):
            return found
        if ref in self.commits:
            return Resolved(ref, ref)
        for name in (ref or "refs/heads/main", f"refs/heads/{ref}", f"refs/tags/{ref}"):
            if name in found:
                return Resolved(name, found[name])
        return Refused("not_found", f"no {ref}")

    async def references(self, origin: Origin) -> Mapping[str, str] | Refused:
        del origin
        return Refused("fetch_failed", "it is away") if self.away else self.heads

    async def workflows(self, origin: Origin, sha: str, folders: Sequence[str]) -> Mapping[str, bytes] | Refused:
        del origin
        if self.away or sha not in self.commits:
            return Refused("fetch_failed", f"no commit {sha}")
        for folder in folders:
            found = {path: text for path, text in self.commits[sha].items() if path.startswith(f"{folder}/")}
            if found:
                return found
        return {}

    async def files(self, origin: Origin, sha: str, paths: Sequence[str]) -> Mapping[str, bytes] | Refused:
        del origin
        if self.away or sha not in self.commits:
            return Refused("fetch_failed", f"no commit {sha}")
        return {path: self.commits[sha][path] for path in paths if path in self.commits[sha]}

    async def describe(self, origin: Origin, sha: str) -> Described | Refused:
        del origin
        return Described(self.messages.get(sha, ""), "Ada", "ada@example.net", "2026-01-01T00:00:00Z")

    async def changed(self, origin: Origin, before: str, after: str, *, forked: bool = False) -> list[str] | None:
        del origin, forked
        old, new = self.commits.get(before), self.commits.get(after)
        if old is None or new is None:
            return None
        return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
