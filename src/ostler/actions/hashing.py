"""``hashFiles()``: one digest for all files that some patterns name.

It is the SHA-256 of the files' own SHA-256 digests, in the order in which the files are found, as GitHub's runner makes
it; so a key made of it changes with the content and with the order of files, but not with their names alone.
"""

import hashlib
import os
import stat
from collections.abc import Sequence

from ostler.actions.globbing import GlobInvalid, Options, parse, search
from ostler.expr.errors import WrongArgument
from ostler.expr.functions import Function
from ostler.expr.values import Value, as_text

_FOLLOW = "--follow-symbolic-links"


def hash_files_below(workspace: str, home: str) -> Function:
    """Return the function ``hashFiles`` for the files below an absolute path; ``~`` in a pattern is `home`."""

    def hash_files(arguments: Sequence[Value]) -> str:
        patterns = [as_text(argument) for argument in arguments]
        follow = patterns[0].startswith("--")
        if follow and patterns.pop(0).lower() != _FOLLOW:
            raise WrongArgument("hashFiles does not know this option", expected=f"{_FOLLOW} or a pattern")
        try:
            return _digest(workspace, home, "\n".join(patterns), follow_links=follow)
        except GlobInvalid as error:
            raise WrongArgument(f"hashFiles: {error}", expected="patterns of files below the workspace") from error
        except OSError as error:
            raise WrongArgument(f"hashFiles cannot read {error.filename!r}: {error.strerror}") from error

    return hash_files


def _digest(workspace: str, home: str, patterns: str, *, follow_links: bool) -> str:
    below = workspace.rstrip("/") + "/"
    whole = hashlib.sha256()
    found = False
    for path in search(parse(patterns, workspace, home), Options(follow_links=follow_links, directories=False)):
        # A link to a directory was not descended into; it has no content of its own.
        if path.startswith(below) and stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
            found = True
    return whole.hexdigest() if found else ""
