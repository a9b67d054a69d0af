"""What the inputs of checkout ask for, checked before anything is touched."""

import os
import re
from typing import NamedTuple

from ostler.actions.builtin.invocation import ActionFailed, Invocation

_OF_EVENT = ("GITHUB_REF", "GITHUB_REF_NAME", "GITHUB_SHA")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY = re.compile(r"\w[\w.-]*(/(?!\.\.?(/|$))[\w.-]+)+", re.ASCII)
_NEVER_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|^[-/]|[./]$")


class Inputs(NamedTuple):
    """All of it."""

    repository: str
    is_own: bool
    """Whether it is the repository of the workflow."""
    is_event: bool
    """Whether exactly what started the run is asked for."""
    ref: str
    commit: str
    path: str
    """Absolute, in the workspace."""
    token: str
    persist: bool
    clean: bool
    depth: int
    """0: all of the history."""
    tags: bool
    filter: str
    sparse: list[str]
    cone: bool
    lfs: bool
    submodules: bool
    recursive: bool
    progress: bool
    safe_directory: bool
    server: str


def read_inputs(invocation: Invocation) -> Inputs:
    """Return what is asked for; raises ``ActionFailed``."""
    if invocation.text("ssh-key"):
        raise ActionFailed(
            "ssh-key is not supported by the built-in checkout: use `token`, or let the runner use the published "
            "action (setting `real_actions`)."
        )
    own = invocation.variable("GITHUB_REPOSITORY")
    repository = invocation.text("repository") or own
    if not _REPOSITORY.fullmatch(repository) and repository != own:
        raise ActionFailed(f"Invalid repository '{repository[:200]}'. Expected format {{owner}}/{{repo}}.")
    is_own = repository.lower() == own.lower() and not invocation.text("github-server-url")
    ref, commit = _target(invocation, is_own=is_own)
    filtered = invocation.text("filter")
    submodules = invocation.text("submodules").lower()
    return Inputs(
        repository=repository,
        is_own=is_own,
        is_event=is_own and invocation.text("ref") in ("", *map(invocation.variable, _OF_EVENT)),
        ref=ref,
        commit=commit,
        path=_path(invocation),
        token=invocation.text("token"),
        persist=invocation.text("persist-credentials").lower() != "false",
        clean=invocation.text("clean").lower() != "false",
        depth=invocation.number("fetch-depth", 1),
        tags=invocation.flag("fetch-tags"),
        filter=filtered,
        sparse=[] if filtered else invocation.lines("sparse-checkout"),
        cone=invocation.text("sparse-checkout-cone-mode").lower() != "false",
        lfs=invocation.flag("lfs"),
        submodules=submodules in ("true", "recursive"),
        recursive=submodules == "recursive",
        progress=invocation.text("show-progress").lower() != "false",
        safe_directory=invocation.text("set-safe-directory").lower() != "false",
        server=(invocation.text("github-server-url") or invocation.variable("GITHUB_SERVER_URL")).rstrip("/"),
    )


def _target(invocation: Invocation, *, is_own: bool) -> tuple[str, str]:
    """Return ref and commit, of which one or both may be unknown."""
    ref = invocation.text("ref")
    if not ref:
        if not is_own:
            return "", ""
        ref, commit = invocation.variable("GITHUB_REF"), invocation.variable("GITHUB_SHA").lower()
        # A tag or branch that is written out keeps its kind; anything else is one by its short name.
        if commit and ref and not ref.startswith("refs/"):
            ref = f"refs/heads/{ref}"
        return ref, commit
    if _COMMIT.fullmatch(ref.lower()):
        return "", ref.lower()
    if _NEVER_IN_REFS.search(ref):
        raise ActionFailed(f"'{ref[:200]}' is no branch, tag or commit.")
    return ref, ""


def _path(invocation: Invocation) -> str:
    """Return where the repository goes; it may not leave the workspace, not even through a link."""
    workspace = os.path.realpath(invocation.workspace)
    written = invocation.text("path") or "."
    path = os.path.realpath(os.path.join(workspace, written))
    if path != workspace and not path.startswith(f"{workspace}{os.sep}"):
        raise ActionFailed(f"Repository path '{written[:200]}' is not under '{invocation.workspace}'.")
    if ".git" in path[len(workspace) :].split(os.sep):
        raise ActionFailed(f"Repository path '{written[:200]}' is inside a repository's .git.")
    return path
