"""What ``uses`` names: a folder of the workspace, a repository at a ref, or an image."""

import re
from typing import NamedTuple, TypeAlias

from ostler.domain.machine import Refused

_OWNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEVER_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|^[-./]|[./]$|\.lock$|\.lock/|/\.")
_LONGEST = 1024


class Local(NamedTuple):
    """``./path``: an action in the workspace of the job."""

    path: str


class Remote(NamedTuple):
    """``owner/repo[/path]@ref``: an action in a repository."""

    owner: str
    repo: str
    path: str
    ref: str

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.repo}"

    @property
    def key(self) -> str:
        """The repository without regard to case, as servers treat it."""
        return self.repository.lower()

    @property
    def name(self) -> str:
        """What stands before the ``@``."""
        return f"{self.repository}/{self.path}" if self.path else self.repository

    @property
    def text(self) -> str:
        """The reference as it is written in workflows and lock files."""
        return f"{self.name}@{self.ref}"

    @property
    def at(self) -> str:
        """The whole repository at the ref: what is fetched and locked."""
        return f"{self.repository}@{self.ref}"

    @property
    def commit(self) -> str:
        """The ref, if it is a whole commit id: one that cannot move."""
        lowered = self.ref.lower()
        return lowered if _COMMIT.fullmatch(lowered) else ""


class DockerImage(NamedTuple):
    """``docker://image``: a container."""

    image: str


Reference: TypeAlias = Local | Remote | DockerImage


def parse_uses(text: str) -> Reference | Refused:
    """Read the value of ``uses`` of a step."""
    if text.startswith("docker://"):
        image = text.removeprefix("docker://")
        return DockerImage(image) if image.strip() else Refused("action_reference", "`docker://` names no image.")
    if text.startswith(("./", ".\\")) or text == ".":
        return _local(text)
    name, at, ref = text.partition("@")
    parts = [part for part in re.split(r"[\\/]", name) if part]
    if not at or not ref or len(parts) < 2 or len(text) > _LONGEST:
        return Refused(
            "action_reference",
            f"`{text[:100]}` names no action. Write `owner/repo@ref`, `owner/repo/path@ref`, `./path` or `docker://image`.",
        )
    return _remote(text, parts, ref)


def _local(text: str) -> Local | Refused:
    parts = [part for part in re.split(r"[\\/]", text) if part not in ("", ".")]
    if ".." in parts or "\0" in text:
        return Refused(
            "action_reference", f"`{text[:100]}` leaves the workspace. Write a path below it, such as `./path`."
        )
    return Local("/".join(parts))


def _remote(text: str, parts: list[str], ref: str) -> Remote | Refused:
    owner, repo, *path = parts
    if not _OWNER.fullmatch(owner) or not _REPOSITORY.fullmatch(repo) or repo.strip(".") == "":
        return Refused("action_reference", f"`{text[:100]}` names no repository. Write `owner/repo@ref`.")
    if ".." in path or "." in path or "\0" in "".join(path):
        return Refused("action_reference", f"the path in `{text[:100]}` leaves its repository.")
    if _NEVER_IN_REFS.search(ref):
        return Refused("action_reference", f"`{ref[:100]}` in `{text[:100]}` is no branch, tag or commit.")
    return Remote(owner, repo, "/".join(path), ref)
