"""Bare repositories on the runner, so that a commit crosses the network once and not once for each job.

One folder for each address holds two of them: ``recent`` has single commits without their history, ``whole`` has all
branches and tags. Workspaces borrow their objects, so nothing is ever repacked or deleted in them; jobs that fetch into
one at the same time wait for each other, and a job that is killed meanwhile leaves an unused pack at worst.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256

from ostler.actions.builtin.checkout.target import Target
from ostler.actions.git import REMOTE, Git, GitFailed

_UNUSED_SECONDS = 60 * 86_400
_ALL = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class Mirror:
    """The bare repositories of one address."""

    def __init__(self, folder: str, url: str, git: Callable[[str], Git]) -> None:
        """``git`` makes the program for a folder, with the address as its remote."""
        self._folder = os.path.join(folder, sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:40])
        self._url = url
        self._git = git

    def single(self, target: Target) -> tuple[str, bool]:
        """Have one commit; return the repository that has it and whether the commit has parents."""
        whole = os.path.join(self._folder, "whole")
        if os.path.isdir(whole):
            parents = _parents(self._git(whole), target)
            if parents is not None:
                os.utime(self._folder)
                return whole, parents
        with self._locked("recent", len(target.commit)) as folder:
            git = self._git(folder)
            parents = _parents(git, target)
            if parents is None:
                self._fetch(git, target)
                parents = _parents(git, target)
            if parents is None:
                raise GitFailed("fetch", f"the server did not send {target.commit}")
            return folder, parents

    def everything(self, target: Target) -> str:
        """Have all branches and tags with their history, and the commit; return the repository."""
        with self._locked("whole", len(target.commit)) as folder:
            git = self._git(folder)
            git.output("fetch", "--prune", "--no-recurse-submodules", "--force", REMOTE, *_ALL)
            if _parents(git, target) is None:
                keep = f"refs/ostler/{sha256(target.ref.encode()).hexdigest()[:16]}"
                if git.attempt("fetch", "--no-tags", REMOTE, f"+{target.object}:{keep}") is None:
                    git.output("fetch", "--no-tags", REMOTE, f"+{target.ref or target.commit}:{keep}")
            return folder

    def _fetch(self, git: Git, target: Target) -> None:
        # A name for each ref, so that the next commit of it is fetched as the difference to this one.
        keep = f"refs/ostler/{sha256(target.ref.encode()).hexdigest()[:16]}"
        options = ("fetch", "--depth=1", "--no-tags", "--no-recurse-submodules", "--force", REMOTE)
        try:
            git.output(*options, f"+{target.object}:{keep}")
        except GitFailed as failure:
            if not target.ref or ("unadvertised" not in failure.said and "not our ref" not in failure.said):
                raise
            git.output(*options, f"+{target.ref}:{keep}")

    @contextmanager
    def _locked(self, name: str, hash_length: int) -> Generator[str]:
        """Hold one of the two repositories alone, made before if need be."""
        os.makedirs(self._folder, exist_ok=True)
        folder = os.path.join(self._folder, name)
        descriptor = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not os.path.isdir(folder):
                self._make(folder, hash_length)
            _clear(folder)
            os.utime(self._folder)
            yield folder
        finally:
            os.close(descriptor)

    def _make(self, folder: str, hash_length: int) -> None:
        unfinished = tempfile.mkdtemp(dir=self._folder)
        try:
            form = "sha256" if hash_length == 64 else "sha1"
            self._git(unfinished).output("init", "--quiet", "--bare", f"--object-format={form}", "--template=", ".")
            os.rename(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        self._forget_unused()
        with open(os.path.join(self._folder, "url"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{self._url}\n")

    def _forget_unused(self) -> None:
        """Delete what nobody used for longer than any job lasts, when something new begins."""
        newest = os.stat(self._folder).st_mtime
        above = os.path.dirname(self._folder)
        for name in os.listdir(above):
            other = os.path.join(above, name)
            with suppress(FileNotFoundError):
                if newest - os.stat(other).st_mtime > _UNUSED_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)


def _parents(git: Git, target: Target) -> bool | None:
    """Return whether a commit has parents; nothing if it is not here."""
    if target.tag_object and git.attempt("cat-file", "-e", target.tag_object) is None:
        return None
    commit = git.attempt("cat-file", "commit", target.commit)
    return None if commit is None else b"\nparent " in commit.partition(b"\n\n")[0]


def _clear(folder: str) -> None:
    """Remove the lock files of a program that was killed; nobody else holds any while we hold ours."""
    for name in ("shallow.lock", "packed-refs.lock", "config.lock", "HEAD.lock"):
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
    for above, _, names in os.walk(os.path.join(folder, "refs")):
        for name in names:
            if name.endswith(".lock"):
                with suppress(OSError):
                    os.unlink(os.path.join(above, name))
