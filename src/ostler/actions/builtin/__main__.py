"""``python -m ostler.actions.builtin NAME [main|post]``: start one built-in action and import no other."""

import importlib
import os
import sys
from typing import Protocol, cast

from ostler.actions.builtin.invocation import Invocation

PROGRAMS = {
    "checkout": "ostler.actions.builtin.checkout.program",
    "upload-artifact": "ostler.actions.builtin.upload_artifact",
    "upload-artifact/merge": "ostler.actions.builtin.merge_artifacts",
    "download-artifact": "ostler.actions.builtin.download_artifact",
    "cache": "ostler.actions.builtin.cache",
    "cache/restore": "ostler.actions.builtin.cache_restore",
    "cache/save": "ostler.actions.builtin.cache_save",
}
_USAGE, _INTERRUPTED = 2, 130


class _Program(Protocol):
    """What each of these modules has; ``post`` only where there is something to do at the job's end."""

    def main(self, invocation: Invocation) -> None: ...

    def post(self, invocation: Invocation) -> None: ...


def main(arguments: list[str]) -> int:
    """Run one phase of one action and return its exit code."""
    name, phase = (*arguments, "main")[:2] if arguments else ("", "main")
    if name not in PROGRAMS or phase not in ("main", "post"):
        sys.stderr.write(f"usage: python -m ostler.actions.builtin {{{','.join(PROGRAMS)}}} [main|post]\n")
        return _USAGE
    program = cast("_Program", importlib.import_module(PROGRAMS[name]))
    invocation = Invocation(os.environ)
    try:
        if phase == "main":
            program.main(invocation)
        else:
            program.post(invocation)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as failure:
        # What can be expected has a code and reads as a message; anything else is a defect and shows where it is.
        if not isinstance(getattr(failure, "code", None), str) and not isinstance(failure, OSError):
            raise
        invocation.error(str(failure))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
