"""Credentials for the repository: told to git by configuration, kept outside the workspace, gone when the job ends.

They stand in a file of their own in RUNNER_TEMP, which the repository's configuration includes, so that a workspace
that is uploaded as an artifact does not hold them. They are never arguments of a program.
"""

import base64
import os
from contextlib import suppress

from ostler.actions.builtin.invocation import Invocation
from ostler.actions.git import Address, Git, GitFailed

_STATE_FILE, _STATE_REPOSITORY = "credentials", "repository"


def header(address: Address, token: str, invocation: Invocation) -> dict[str, str]:
    """Return the configuration that signs in to an address, and have its values masked."""
    password = address.password or token
    if not password or address.scheme not in ("http", "https"):
        return {}
    user = address.user or "x-access-token"
    basic = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    invocation.mask(password)
    invocation.mask(basic)
    return {f"http.{address.origin}.extraheader": f"AUTHORIZATION: basic {basic}"}


def persist(config: dict[str, str], repository: str, git: Git, invocation: Invocation) -> None:
    """Let later steps use git with the credentials, until ``forget``."""
    if not config:
        return
    os.makedirs(invocation.temporary, exist_ok=True)
    name = base64.b32encode(os.fsencode(repository)[-40:]).decode("ascii").strip("=").lower()
    path = os.path.join(invocation.temporary, f"git-credentials-{name}.config")
    with suppress(FileNotFoundError):
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        for key, value in config.items():
            section, _, name = key.rpartition(".")
            kind, _, origin = section.partition(".")
            file.write(f'[{kind} "{_quoted(origin)}"]\n\t{name} = "{_quoted(value)}"\n')
    invocation.save_state(_STATE_FILE, path)
    invocation.save_state(_STATE_REPOSITORY, repository)
    git.output("config", "--local", "--replace-all", "include.path", path, "git-credentials-")
    if os.path.exists(os.path.join(repository, ".gitmodules")):
        git.output(
            "submodule", "foreach", "--quiet", "--recursive", f"git config --local include.path {_for_shell(path)}"
        )


def forget(invocation: Invocation) -> None:
    """Remove what ``persist`` left."""
    path, repository = invocation.state(_STATE_FILE), invocation.state(_STATE_REPOSITORY)
    if path:
        with suppress(FileNotFoundError):
            os.unlink(path)
    if repository and os.path.isdir(os.path.join(repository, ".git")):
        with suppress(GitFailed):
            Git(repository).attempt("config", "--local", "--unset-all", "include.path", "git-credentials-")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _for_shell(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
