"""Where actions come from: references, sources, the cache of this machine, the lock file, and the built-in ones."""

from ostler.actions.library.builtins import USING, builtin, command, metadata
from ostler.actions.library.library import Found, Library
from ostler.actions.library.metadata import read_action
from ostler.actions.library.references import DockerImage, Local, Reference, Remote, parse_uses
from ostler.actions.library.source import Source
from ostler.actions.library.sources import check_mirror, open_sources

__all__ = [
    "USING",
    "DockerImage",
    "Found",
    "Library",
    "Local",
    "Reference",
    "Remote",
    "Source",
    "builtin",
    "check_mirror",
    "command",
    "metadata",
    "open_sources",
    "parse_uses",
    "read_action",
]
