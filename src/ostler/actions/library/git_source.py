"""Actions from any git server: an address with ``{owner}`` and ``{repo}``.

One commit is fetched, without its history, into a repository that is thrown away. Its files are written from git's own
objects, not checked out: no filter, no attribute and no configuration changes what arrives, so the same commit has the
same digest everywhere. Submodules are left out.
"""

import base64
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from ostler.actions.errors import UnsafeTree
from ostler.actions.git import REMOTE, Address, Git, GitFailed, address
from ostler.actions.library.references import Remote
from ostler.actions.library.source import Version
from ostler.actions.tree import LINK, PROGRAM, TreeWriter
from ostler.domain.machine import Refused

_TIMEOUT_SECONDS = 300.0
_QUESTION_SECONDS = 30.0
"""How long a server may take to say what its refs are, before the next source is asked."""
_CHUNK = 1 << 20
_LONGEST_LINK = 4096
_ANSWERED_NO = (
    "not found",
    "does not exist",
    "does not appear to be a git repository",
    "could not read Username",
    "Authentication failed",
    "access denied",
    "Permission denied",
    "returned error: 40",
    "unadvertised object",
    "not our ref",
    "couldn't find remote ref",
)


class _Blob(NamedTuple):
    mode: str
    object: str
    path: str


class GitSource:
    """One template of addresses."""

    def __init__(self, template: str, environment: Mapping[str, str] | None = None, *, exact: bool = False) -> None:
        """Without ``{repo}`` in it, ``/{owner}/{repo}`` is put behind it, unless it is ``exact`` as it is."""
        self._template = template if exact or "{repo}" in template else f"{template.rstrip('/')}/{{owner}}/{{repo}}"
        self._environment = environment
        shown = address(self._template)
        self.name = shown.url if shown is not None else self._template

    def resolve(self, remote: Remote) -> Version | Refused:
        """Ask the server for the tag, else the branch, of this name."""
        git = self._git(remote, Path("/"), _QUESTION_SECONDS)
        if isinstance(git, Refused):
            return git
        ref = remote.ref
        names = [ref] if ref.startswith("refs/") else [f"refs/tags/{ref}", f"refs/heads/{ref}"]
        try:
            said = git.output("ls-remote", REMOTE, *names, *(f"{name}^{{}}" for name in names))
        except GitFailed as failure:
            return self._refused(remote, failure)
        found: dict[str, str] = {}
        for line in said.decode("utf-8", "replace").splitlines():
            commit, _, name = line.partition("\t")
            found[name] = commit
        for name in names:
            if name in found:
                return Version(commit=found.get(f"{name}^{{}}", found[name]))
        return Refused("action_not_found", f"{remote.repository} has no tag or branch `{ref}`")

    def fetch(self, remote: Remote, version: Version, into: Path) -> str | Refused:
        """Fetch one commit and write its files."""
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".git-") as folder:
            git = self._git(remote, Path(folder), _TIMEOUT_SECONDS)
            if isinstance(git, Refused):
                return git
            try:
                self._fetch_commit(git, remote, version.commit)
                return _write_files(git, version.commit, folder, into)
            except GitFailed as failure:
                return self._refused(remote, failure)
            except UnsafeTree as reason:
                return Refused("action_unsafe", f"`{remote.text}` of {self.name} cannot be used: {reason.reason}.")

    def _fetch_commit(self, git: Git, remote: Remote, commit: str) -> None:
        git.output(
            "init", "--quiet", "--bare", "--template=", f"--object-format={'sha256' if len(commit) == 64 else 'sha1'}"
        )
        options = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
        if git.attempt(*options, "--depth=1", REMOTE, commit) is not None:
            return
        # Some servers give no commits by their ids: by its ref, or with all that there is.
        fetched = not remote.commit and git.attempt(*options, "--depth=1", REMOTE, remote.ref) is not None
        if fetched and git.attempt("cat-file", "-e", commit) is not None:
            return
        git.output(*options, REMOTE, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        git.output("cat-file", "-e", commit)

    def _git(self, remote: Remote, folder: Path, timeout: float) -> Git | Refused:
        filled = self._template.replace("{owner}", remote.owner).replace("{repo}", remote.repo)
        where = address(filled)
        if where is None:
            return Refused("action_not_found", f"{self.name} is no address of a git server")
        place = where.url.removeprefix("file://")
        if where.scheme == "file" and not any(os.path.isdir(f"{place}{suffix}") for suffix in ("", ".git")):
            return Refused("action_not_found", f"there is no repository {place}")
        return Git(
            str(folder), environment=self._environment, remote=where, config=_credentials(where), timeout=timeout
        )

    def _refused(self, remote: Remote, failure: GitFailed) -> Refused:
        said = " ".join(failure.said.split())[-300:]
        if any(part in failure.said for part in _ANSWERED_NO):
            return Refused("action_not_found", f"{remote.repository} is not there, or not for everybody ({said})")
        return Refused("action_unreachable", said)


def _credentials(where: Address) -> dict[str, str]:
    """Credentials of an operator's own address go to git by configuration, like everything secret."""
    if not where.password:
        return {}
    basic = base64.b64encode(f"{where.user}:{where.password}".encode()).decode("ascii")
    return {f"http.{where.origin}.extraheader": f"AUTHORIZATION: basic {basic}"}


def _write_files(git: Git, commit: str, folder: str, into: Path) -> str:
    blobs = list(_listed(git.output("ls-tree", "-r", "-z", "--full-tree", commit)))
    writer = TreeWriter(into)
    with open(os.path.join(folder, "wanted"), "wb+") as wanted:
        wanted.write("".join(f"{blob.object}\n" for blob in blobs).encode("ascii"))
        wanted.seek(0)
        with git.reading("cat-file", "--batch", given=wanted) as objects:
            for blob in blobs:
                size = _size(objects.readline())
                if blob.mode == LINK:
                    if size > _LONGEST_LINK:
                        raise UnsafeTree(f"the link {blob.path!r} is too long")
                    writer.link(blob.path, os.fsdecode(objects.read(size)))
                else:
                    writer.add(blob.path, _content(objects, size), program=blob.mode == PROGRAM)
                objects.read(1)
    return writer.finish()


def _listed(listing: bytes) -> Iterator[_Blob]:
    """Yield the files and links of a tree; what a submodule stands for is not in it."""
    for line in listing.split(b"\0"):
        head, tab, path = line.partition(b"\t")
        if not tab:
            continue
        mode, kind, name = head.decode("ascii").split(" ")
        if kind == "blob":
            yield _Blob(mode, name, os.fsdecode(path))


def _size(line: bytes) -> int:
    parts = line.split()
    if len(parts) != 3 or parts[1] != b"blob":
        raise GitFailed("cat-file", f"an object is missing: {line[:100]!r}")
    return int(parts[2])


def _content(objects: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        chunk = objects.read(min(size, _CHUNK))
        if not chunk:
            raise GitFailed("cat-file", "it ended too early")
        size -= len(chunk)
        yield chunk
