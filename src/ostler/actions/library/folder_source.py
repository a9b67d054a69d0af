"""A folder of actions: somebody copied them there, or a share is mounted."""

from pathlib import Path

from ostler.actions.errors import UnsafeTree
from ostler.actions.library.references import Remote
from ostler.actions.library.source import Version
from ostler.actions.tree import copy_tree
from ostler.domain.machine import Refused

LAYOUT = "{owner}/{repo}@{ref}"


class FolderSource:
    """A path with ``{owner}``, ``{repo}`` and ``{ref}``; without them it is searched for ``{owner}/{repo}@{ref}``."""

    def __init__(self, template: str) -> None:
        self.name = template
        self._template = template if "{repo}" in template else f"{template.rstrip('/')}/{LAYOUT}"

    def resolve(self, remote: Remote) -> Version | Refused:
        """Return a version without a name: what lies in a folder is only known by reading it."""
        return Version() if self._folder(remote).is_dir() else self._missing(remote)

    def fetch(self, remote: Remote, version: Version, into: Path) -> str | Refused:
        """Copy the folder."""
        try:
            return copy_tree(self._folder(remote), into)
        except FileNotFoundError:
            return self._missing(remote)
        except OSError as reason:
            return Refused("action_unreachable", f"{self.name}: {reason.strerror}")
        except UnsafeTree as reason:
            return Refused("action_unsafe", f"{self._folder(remote)} cannot be used: {reason.reason}.")

    def _folder(self, remote: Remote) -> Path:
        filled = self._template.replace("{owner}", remote.owner).replace("{repo}", remote.repo)
        return Path(filled.replace("{ref}", remote.ref))

    def _missing(self, remote: Remote) -> Refused:
        return Refused("action_not_found", f"there is no folder {self._folder(remote)}")
