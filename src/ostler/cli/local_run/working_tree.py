"""The repository around a workflow, as git knows it: what an event is made of. Works without a repository too.

All questions are asked at once, since each is a process. A repository's own configuration decides nothing that runs:
hooks and the file system monitor stay off.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

_GIT: Final = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
NO_COMMIT: Final = "0" * 40
_COMMIT: Final = "%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B"
_SCP: Final = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_URL: Final = re.compile(r"(\w+)://(?:[^@/]*@)?([^/]*)/(.+)")


class Person(msgspec.Struct, frozen=True):
    """Who made a commit, or who sits here."""

    name: str
    email: str = ""

    @property
    def login(self) -> str:
        """Return a name that can stand in an address."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name).strip("-") or "local"


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit."""

    sha: str
    tree: str = NO_COMMIT
    parents: tuple[str, ...] = ()
    author: Person
    authored: str = ""
    committer: Person
    committed: str = ""
    message: str = ""


class WorkingTree(msgspec.Struct, frozen=True, kw_only=True):
    """Where a workflow lies."""

    root: Path
    versioned: bool = False
    """Whether git knows it."""
    ref: str = "refs/heads/main"
    commit: Commit | None = None
    default_branch: str = "main"
    owner: str = "local"
    name: str = "workflow"
    server: str = "https://github.com"
    url: str = ""
    """Where the remote repository is, if there is one."""
    person: Person = Person("local")
    tags: tuple[str, ...] = ()
    """Those of the commit, newest first."""
    now: str = ""
    """When it was looked at, in ISO 8601."""

    @property
    def sha(self) -> str:
        return self.commit.sha if self.commit else NO_COMMIT

    @property
    def before(self) -> str:
        return self.commit.parents[0] if self.commit and self.commit.parents else NO_COMMIT

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def branch(self) -> str:
        """Return the short name of what is checked out."""
        return self.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")


def look(directory: Path, now: str, environment: Mapping[str, str]) -> WorkingTree:
    """Return what git knows of a folder."""
    where, refs, config, log, tags = _answers(
        directory,
        environment,
        ("rev-parse", "--show-toplevel", "--symbolic-full-name", "HEAD"),
        ("for-each-ref", "--format=%(refname) %(symref)", "refs/remotes/origin/HEAD", "refs/heads/main"),
        ("config", "--list", "-z"),
        ("log", "-1", f"--format={_COMMIT}"),
        ("tag", "--points-at", "HEAD", "--sort=-creatordate"),
    )
    settings = _pairs(config.split("\0"), "\n")
    person = Person(settings.get("user.name") or environment.get("USER") or "local", settings.get("user.email", ""))
    lines = where.splitlines()
    if not lines:
        return WorkingTree(root=directory, name=_plain(directory.name), owner=person.login, person=person, now=now)
    root = Path(lines[0])
    commit = _commit(log)
    ref = _head(root, environment, lines[1] if len(lines) > 1 else "HEAD", tags.splitlines())
    url = settings.get("remote.origin.url", "")
    server, owner, name = _address(url) if url else ("", "", "")
    return WorkingTree(
        root=root,
        versioned=True,
        ref=ref,
        commit=commit,
        default_branch=_default_branch(refs, settings, ref),
        owner=owner or person.login,
        name=name or _plain(root.name),
        server=server or "https://github.com",
        url=url if server else "",
        person=person,
        tags=tuple(tags.splitlines()),
        now=now,
    )


def changed_files(tree: WorkingTree, environment: Mapping[str, str]) -> list[str] | None:
    """Return the files of the last commit and all that was changed since; None where nothing is known."""
    if tree.commit is None:
        return None
    committed, uncommitted, fresh = _answers(
        tree.root,
        environment,
        ("diff-tree", "--no-commit-id", "--name-only", "--root", "-m", "--first-parent", "-r", "-z", "HEAD"),
        ("diff", "--name-only", "--no-ext-diff", "-z", "HEAD"),
        ("ls-files", "--others", "--exclude-standard", "-z"),
    )
    return sorted({name for names in (committed, uncommitted, fresh) for name in names.split("\0") if name})


def _answers(directory: Path, environment: Mapping[str, str], *questions: tuple[str, ...]) -> list[str]:
    """Ask git several things at the same time; what it cannot answer is nothing."""
    spoken = {**environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        asked = [
            subprocess.Popen(
                (*_GIT, *question),
                cwd=directory,
                env=spoken,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for question in questions
        ]
    except OSError:
        return [""] * len(questions)
    return [process.communicate()[0].decode("utf-8", "replace") for process in asked]


def _pairs(lines: list[str], separator: str) -> dict[str, str]:
    parted = (line.partition(separator) for line in lines)
    return {name: value for name, _, value in parted if name}


def _commit(log: str) -> Commit | None:
    parts = log.split("\x1f", 9)
    if len(parts) < 10:
        return None
    sha, tree, parents, author, author_email, authored, committer, committer_email, committed, message = parts
    return Commit(
        sha=sha,
        tree=tree,
        parents=tuple(parents.split()),
        author=Person(author, author_email),
        authored=authored,
        committer=Person(committer, committer_email),
        committed=committed,
        message=message.rstrip("\n"),
    )


def _head(root: Path, environment: Mapping[str, str], full_name: str, tags: list[str]) -> str:
    """Return the branch, or the tag of a commit that is checked out without one. An unborn branch has a name too."""
    if full_name.startswith("refs/"):
        return full_name
    symbolic = _answers(root, environment, ("symbolic-ref", "-q", "HEAD"))[0].strip()
    if symbolic:
        return symbolic
    return f"refs/tags/{tags[0]}" if tags else "refs/heads/main"


def _default_branch(refs: str, settings: dict[str, str], ref: str) -> str:
    known = _pairs(refs.splitlines(), " ")
    remote = known.get("refs/remotes/origin/HEAD", "")
    if remote:
        return remote.removeprefix("refs/remotes/origin/")
    if "refs/heads/main" in known or not ref.startswith("refs/heads/"):
        return "main"
    return settings.get("init.defaultbranch") or ref.removeprefix("refs/heads/")


def _address(url: str) -> tuple[str, str, str]:
    """Return server, owner and name of a remote; nothing where it is a folder."""
    if matched := _URL.fullmatch(url):
        scheme, host, path = matched.groups()
        if scheme == "file":
            return "", "", ""
        scheme = scheme if scheme in ("http", "https") else "https"
        host = host if scheme == "http" else host.partition(":")[0] if matched[1] == "ssh" else host
    elif matched := _SCP.fullmatch(url):
        host, path = matched.groups()
        scheme = "https"
    else:
        return "", "", ""
    owner, _, name = path.strip("/").removesuffix(".git").rpartition("/")
    return f"{scheme}://{host}", owner.rpartition("/")[2], name


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name) or "workflow"
