"""What of a run on this machine begins before its modules are loaded: the process that will supervise the first job.

It takes as long to get ready as this program takes to find out what to do, so both happen at the same time.
"""

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ostler.agent.supervisor_start import WORKFLOW, Started, start

KEY: Final = "ostler.early"
"""Where the commands find it in what click keeps for them."""
_DAY: Final = 86_400.0
_NOTHING_RUNS: Final = {"--list", "--dry-run", "-h", "--help"}


class Early(NamedTuple):
    """A supervisor that gets ready, and the folder below which it will work."""

    attempts: Path
    started: Started


def begin(arguments: Sequence[str], environment: Mapping[str, str]) -> Early | None:
    """Start a supervisor, unless the arguments say that nothing will run."""
    if _NOTHING_RUNS & set(arguments):
        return None
    attempts = new_attempts(cache_folder(environment))
    return Early(attempts, start(str(attempts), WORKFLOW))


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the person's caches."""
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(environment.get("HOME") or Path.home()) / ".cache") / "ostler"


def new_attempts(cache: Path) -> Path:
    """Make a folder in which jobs work: away from the repository, so that they find nothing they did not check out."""
    place = cache / "attempts"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    number = 0
    while True:
        attempts = place / f"{os.getpid()}-{number}"
        try:
            attempts.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        _remove_left_over(place, attempts.stat().st_mtime)
        return attempts


def _remove_left_over(place: Path, now: float) -> None:
    """Remove what runs left that were killed, when nothing of them can be running any more."""
    for old in place.iterdir():
        process = old.name.partition("-")[0]
        with contextlib.suppress(OSError):
            if now - old.stat().st_mtime > _DAY and not (process.isdigit() and _lives(int(process))):
                shutil.rmtree(old, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
