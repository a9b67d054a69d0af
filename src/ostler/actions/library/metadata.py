"""Finding what an action says of itself in its folder: ``action.yml``, ``action.yaml`` or a ``Dockerfile``."""

import importlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from ostler.domain.machine import Refused
from ostler.workflow.action_model import Action, DockerRuns

if TYPE_CHECKING:
    from ostler.workflow.check import CheckedAction

_FILES = ("action.yml", "action.yaml")
_DOCKERFILES = ("Dockerfile", "dockerfile")
_LARGEST = 10 << 20
_SHOWN = 5


class _Checker(Protocol):
    """What is used of ``ostler.workflow.check``."""

    def check_action(self, path: str, text: str | bytes) -> "CheckedAction": ...


def read_action(root: Path, path: str, uses: str) -> Action | Refused:
    """Return the action in the folder ``path`` below ``root``; no link may lead out of the root.

    ``uses`` is how people call it, for the messages.
    """
    top = root.resolve()
    folder = (root / path).resolve()
    if not folder.is_relative_to(top):
        return Refused("action_not_found", f"`{uses}` leads out of its repository.")
    for name in _FILES:
        content = _content(top, folder / name)
        if content is not None:
            return _checked(uses, name, content)
    for name in _DOCKERFILES:
        if _content(top, folder / name) is not None:
            return Action(path=f"{uses}/{name}", name=uses, runs=DockerRuns(image=name))
    if not folder.is_dir():
        reason = f"`{uses}` does not exist: there is no folder `{path or '.'}`"
    else:
        reason = f"`{uses}` is no action: there is no action.yml, action.yaml or Dockerfile in it"
    fix = (
        ". A local action must be checked out first: put `actions/checkout` before it."
        if uses.startswith("./")
        else "."
    )
    return Refused("action_not_found", reason + fix)


def _content(top: Path, file: Path) -> bytes | None:
    """Return what a file holds if it is a regular one inside the tree."""
    real = file.resolve()
    if not real.is_relative_to(top):
        return None
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        return opened.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _checked(uses: str, name: str, content: bytes) -> Action | Refused:
    if len(content) > _LARGEST:
        return Refused("action_malformed", f"{name} of `{uses}` is larger than {_LARGEST} bytes.")
    # The checker and its YAML take half of a supervisor's start, and most jobs read no action: loaded with the first.
    checker = cast("_Checker", importlib.import_module("ostler.workflow.check"))
    checked = checker.check_action(f"{uses}/{name}", content)
    if checked.action is not None:
        return checked.action
    found = [
        f"{name}:{finding.span.line}:{finding.span.column}: {finding.message}" for finding in checked.errors[:_SHOWN]
    ]
    more = len(checked.errors) - len(found)
    return Refused(
        "action_malformed",
        f"{name} of `{uses}` cannot be used: {'; '.join(found)}{f'; and {more} more' if more else ''}.",
    )
