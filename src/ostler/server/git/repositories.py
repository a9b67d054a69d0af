"""Repositories as bare folders of this server: a cache that can be deleted at any time.

Commits and trees are fetched as they are asked for; the contents of files follow only for those that are read, where
the remote can do that.
"""

import asyncio
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ostler.domain.machine import Refused
from ostler.domain.repository import checked_reference
from ostler.server.git.addresses import Held, judged
from ostler.server.git.program import FETCH_SECONDS, Credentials, Git
from ostler.server.git.sources import Described, Origin, Resolved

MOST_FILES: Final = 3000
"""So many changed files are looked at; of more it is not known in full what changed, and filters let everything in."""
MOST_WORKFLOWS: Final = 500
LARGEST_WORKFLOW: Final = 512 << 10

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NOWHERE = re.compile(r"0+")
_FORMAT = "%an%x00%ae%x00%cI%x00%B"


class GitSources:
    """See the module."""

    def __init__(self, cache: Path, git: Git, *, private: bool) -> None:
        self._cache = cache
        self._git = git
        self._private = private
        self._locks: dict[str, asyncio.Lock] = {}

    async def resolve(self, origin: Origin, ref: str) -> Resolved | Refused:
        """See ``Sources``."""
        if ref:
            checked = checked_reference(ref)
            if isinstance(checked, Refused):
                return checked
            if _SHA.fullmatch(ref):
                return Resolved(ref, ref)
        found = await self.references(origin)
        if isinstance(found, Refused):
            return found
        if not ref:
            default = await self._default_branch(origin)
            ref = default or "HEAD"
        for name in (ref, f"refs/heads/{ref}", f"refs/tags/{ref}"):
            if name in found:
                return Resolved(name, found[name])
        return Refused("not_found", f"the repository has no branch and no tag {ref!r}")

    async def references(self, origin: Origin) -> Mapping[str, str] | Refused:
        """See ``Sources``."""
        printed = await self._remote(origin, "ls-remote", "--quiet", "--", origin.clone_url)
        if isinstance(printed, Refused):
            return printed
        found: dict[str, str] = {}
        for line in printed.decode("utf-8", "replace").splitlines():
            sha, _, name = line.partition("\t")
            # An annotated tag is listed twice; the second line names the commit that it stands for.
            found[name.removesuffix("^{}")] = sha
        return {
            name: sha for name, sha in found.items() if name == "HEAD" or name.startswith(("refs/heads/", "refs/tags/"))
        }

    async def workflows(self, origin: Origin, sha: str, folders: Sequence[str]) -> Mapping[str, bytes] | Refused:
        """See ``Sources``."""
        fetched = await self._fetched(origin, sha)
        if isinstance(fetched, Refused):
            return fetched
        for folder in folders:
            listed = await self._local(origin, "ls-tree", "-z", sha, "--", f"{folder}/")
            if isinstance(listed, Refused):
                return listed
            if listed:
                return await self._read(origin, _workflow_files(listed.decode("utf-8", "replace")))
        return {}

    async def files(self, origin: Origin, sha: str, paths: Sequence[str]) -> Mapping[str, bytes] | Refused:
        """See ``Sources``."""
        fetched = await self._fetched(origin, sha)
        if isinstance(fetched, Refused):
            return fetched
        listed = await self._local(origin, "ls-tree", "-z", sha, "--", *paths)
        if isinstance(listed, Refused):
            return listed
        found = _files(listed.decode("utf-8", "replace"))
        return await self._read(origin, found) if found else {}

    async def describe(self, origin: Origin, sha: str) -> Described | Refused:
        """See ``Sources``."""
        fetched = await self._fetched(origin, sha)
        if isinstance(fetched, Refused):
            return fetched
        printed = await self._local(origin, "log", "-1", f"--format={_FORMAT}", sha, "--")
        if isinstance(printed, Refused):
            return printed
        author, email, moment, message = printed.decode("utf-8", "replace").split("\0", 3)
        return Described(message.strip(), author, email, moment)

    async def changed(self, origin: Origin, before: str, after: str, *, forked: bool = False) -> list[str] | None:
        """See ``Sources``."""
        if not (_SHA.fullmatch(before) and _SHA.fullmatch(after)) or _NOWHERE.fullmatch(before):
            return None
        for sha in (before, after):
            if isinstance(await self._fetched(origin, sha), Refused):
                return None
        dots = "..." if forked else ".."
        printed = await self._local(origin, "diff", "--name-only", "--no-renames", "-z", f"{before}{dots}{after}", "--")
        if isinstance(printed, Refused):
            return None
        names = [name for name in printed.decode("utf-8", "replace").split("\0") if name]
        return names if len(names) <= MOST_FILES else None

    async def _read(self, origin: Origin, files: Mapping[str, str]) -> Mapping[str, bytes] | Refused:
        if len(files) > MOST_WORKFLOWS:
            return Refused("fetch_failed", f"there are {len(files)} workflow files; at most {MOST_WORKFLOWS} are read")
        wanted = "".join(f"{blob}\n" for blob in files.values()).encode()
        printed = await self._remote(origin, "cat-file", "--batch", stdin=wanted, inside=True)
        if isinstance(printed, Refused):
            return printed
        contents: dict[str, bytes] = {}
        at = 0
        for path, blob in files.items():
            head, _, _ = printed[at:].partition(b"\n")
            name, kind, size = (*head.decode().split(" "), "", "")[:3]
            if name != blob or kind != "blob":
                return Refused("fetch_failed", f"{path} could not be read")
            at += len(head) + 1
            contents[path] = printed[at : at + min(int(size), LARGEST_WORKFLOW + 1)]
            at += int(size) + 1
        return contents

    async def _default_branch(self, origin: Origin) -> str:
        printed = await self._remote(origin, "ls-remote", "--quiet", "--symref", "--", origin.clone_url, "HEAD")
        if isinstance(printed, Refused):
            return ""
        found = re.match(rb"ref: (\S+)\tHEAD\n", printed)
        return found[1].decode("utf-8", "replace") if found else ""

    async def _fetched(self, origin: Origin, sha: str) -> Refused | None:
        """Have a commit in the cache."""
        if not _SHA.fullmatch(sha):
            return Refused("value_refused", f"{sha[:80]!r} is no commit")
        async with self._locks.setdefault(origin.target_id, asyncio.Lock()):
            made = await self._made(origin)
            if isinstance(made, Refused):
                return made
            kept = f"refs/fetched/{sha}"
            # A reference of ours says that a commit is here: asking for the commit itself would fetch it.
            known = await self._git.run("show-ref", "--quiet", "--verify", kept, folder=self._folder(origin))
            if not isinstance(known, Refused):
                return None
            fetched = await self._remote(
                origin,
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--filter=blob:none",
                "origin",
                f"+{sha}:{kept}",
                inside=True,
            )
            return fetched if isinstance(fetched, Refused) else None

    async def _made(self, origin: Origin) -> Refused | None:
        folder = self._folder(origin)
        settings = {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": origin.clone_url,
            "remote.origin.promisor": "true",
            "remote.origin.partialCloneFilter": "blob:none",
        }
        if not (folder / "HEAD").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            made = await self._git.run("init", "--quiet", "--bare", "--template=", "--", str(folder))
            if isinstance(made, Refused):
                return made
        known = await self._git.run("config", "--local", "--get", "remote.origin.url", folder=folder)
        if isinstance(known, bytes) and known.decode().strip() == origin.clone_url:
            return None
        for key, value in settings.items():
            written = await self._git.run("config", "--local", key, value, folder=folder)
            if isinstance(written, Refused):
                return written
        return None

    def _folder(self, origin: Origin) -> Path:
        return self._cache / f"{origin.target_id}.git"

    async def _local(self, origin: Origin, *arguments: str) -> bytes | Refused:
        return await self._remote(origin, *arguments, inside=True)

    async def _remote(
        self, origin: Origin, *arguments: str, stdin: bytes = b"", inside: bool = False
    ) -> bytes | Refused:
        held: Held | Refused = await judged(origin.clone_url, private=self._private)
        if isinstance(held, Refused):
            return held
        return await self._git.run(
            *arguments,
            folder=self._folder(origin) if inside else None,
            held=held,
            credentials=Credentials(origin.username, origin.password),
            stdin=stdin,
            seconds=FETCH_SECONDS,
        )


def _workflow_files(listed: str) -> dict[str, str]:
    """Return path and content of the workflow files of a listing."""
    return {path: blob for path, blob in _files(listed).items() if path.endswith((".yml", ".yaml"))}


def _files(listed: str) -> dict[str, str]:
    """Return path and content of the files of a listing; links and folders are none."""
    entries = (entry.partition("\t") for entry in listed.split("\0"))
    return {path: facts.split(" ")[2] for facts, _, path in entries if facts.startswith("100")}
