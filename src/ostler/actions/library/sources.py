"""From what a runner's settings say to the places that are asked for actions, in their order."""

import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from ostler.actions.git import address
from ostler.actions.library.folder_source import FolderSource
from ostler.actions.library.git_source import GitSource
from ostler.actions.library.source import Source
from ostler.domain.machine import Refused

PUBLIC = "https://github.com/{owner}/{repo}"
"""Where the references of published workflows mean to be found."""


class _ServerModule(Protocol):
    def open_source(self, server: str, token: str, environment: Mapping[str, str]) -> Source | None: ...


def open_sources(
    mirrors: Sequence[str], server: str = "", token: str = "", reach: Mapping[str, str] | None = None
) -> list[Source]:
    """Return the mirrors as sources and, after them, the store of the server.

    Without any mirror GitHub is asked at last, so that a runner that reaches it needs no settings. The client for the
    store is only imported where there is a server: local runs begin faster without it. Mirrors that mean nothing were
    refused when they were configured, by ``check_mirror``. ``reach`` has the variables by which others are reached;
    nothing means this process's own environment.
    """
    environment = os.environ if reach is None else {"PATH": os.defpath, **os.environ, **reach}
    found: list[Source] = []
    for mirror in mirrors:
        if "://" in mirror or not mirror.startswith(("/", "~", ".")):
            found.append(GitSource(mirror, environment))
        else:
            folder = str(Path(mirror).expanduser().absolute())
            found.append(FolderSource(folder))
            if "{ref}" not in folder:
                found.append(GitSource(f"file://{folder}", environment))
    if server and token:
        module = cast("_ServerModule", importlib.import_module("ostler.actions.library.server_source"))
        store = module.open_source(server, token, environment)
        if store is not None:
            found.append(store)
    if not mirrors:
        found.append(GitSource(PUBLIC, environment))
    return found


def check_mirror(text: str) -> str | Refused:
    """Return a mirror as it is written in settings, if it means something."""
    if text.startswith(("/", "~", ".")):
        return text
    if address(text.replace("{owner}", "owner").replace("{repo}", "repo")) is None:
        return Refused(
            "action_mirror",
            f"`{text[:200]}` is no source of actions: write a folder, or an address of a git server such as "
            "`https://git.example/{owner}/{repo}`.",
        )
    return text
