"""Running the `git` program on repositories of strangers.

Addresses and credentials travel in the environment as configuration, never as arguments: they cannot be taken for
options, and other users' processes do not read them. No hook runs, nothing is asked of a terminal, what arrives is
checked, and only the transports that were allowed are used.
"""

import os
import re
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple
from urllib.parse import urlsplit

REMOTE = "source"
"""How commands name the address that was handed in."""

_OLDEST = (2, 31)
_LAST_WORDS = 800
_CHECKED: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.askPass": "",
    "advice.detachedHead": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # A pack arrives as a whole or not at all; loose objects could be left incomplete by a kill.
    "fetch.unpackLimit": "1",
    "fetch.fsckObjects": "true",
    # Harmless traces of old programs, which are in the history of many repositories.
    "fetch.fsck.badDate": "warn",
    "fetch.fsck.badEmail": "warn",
    "fetch.fsck.badTimezone": "warn",
    "fetch.fsck.missingEmail": "warn",
    "fetch.fsck.missingSpaceBeforeDate": "warn",
    "fetch.fsck.missingSpaceBeforeEmail": "warn",
    "fetch.fsck.zeroPaddedDate": "warn",
    "fetch.fsck.zeroPaddedFilemode": "warn",
    "submodule.recurse": "false",
}


class GitFailed(Exception):
    """The `git` program is missing or too old, or it ended with an error."""

    code = "git_failed"

    def __init__(self, command: str, said: str) -> None:
        super().__init__(f"git {command}: {said}")
        self.said = said


class Address(NamedTuple):
    """Where a repository is fetched from, its credentials apart."""

    url: str
    user: str = ""
    password: str = ""

    @property
    def scheme(self) -> str:
        scheme, colon, _ = self.url.partition("://")
        return scheme.lower() if colon else ("file" if self.url.startswith("/") else "ssh")

    @property
    def origin(self) -> str:
        """Scheme, host and port: what credentials are for."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/"


SCHEMES = frozenset({"https", "http", "ssh", "git", "file"})


def address(url: str) -> Address | None:
    """Take an address apart; nothing if its transport is none that is allowed."""
    if any(ord(character) < 33 for character in url) or url.startswith("-"):
        return None
    if "://" not in url:
        plain = Address(url)
        return plain if url.startswith("/") or re.fullmatch(r"[\w.-]+@[\w.-]+:[^:].*", url) else None
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        return None
    if parts.scheme not in SCHEMES or (not parts.hostname and parts.scheme != "file"):
        return None
    if (parts.hostname or "").startswith("-"):
        return None
    if parts.scheme in ("http", "https"):
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return Address(url, user, password)
    return Address(url)


class Git:
    """The program in one folder, with one remote and its configuration."""

    def __init__(
        self,
        folder: str,
        *,
        environment: Mapping[str, str] | None = None,
        remote: Address | None = None,
        config: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> None:
        self.folder = folder
        self._timeout = timeout
        settings = {**_CHECKED, **(config or {})}
        schemes = {"https", "http", "ssh"}  # which an operator's insteadOf may lead to
        if remote is not None:
            settings[f"remote.{REMOTE}.url"] = remote.url
            schemes.add(remote.scheme)
        self._environment = {
            **{key: value for key, value in (environment or os.environ).items() if not key.startswith("GIT_")},
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(schemes)),
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
            "LC_ALL": "C",
        }
        for index, (key, value) in enumerate(settings.items()):
            self._environment[f"GIT_CONFIG_KEY_{index}"] = key
            self._environment[f"GIT_CONFIG_VALUE_{index}"] = value

    def output(self, *arguments: str, given: bytes = b"") -> bytes:
        """Run a command and return what it printed; raises ``GitFailed``."""
        ended = self._run(arguments, given)
        if ended.returncode:
            raise GitFailed(arguments[0], _last_words(ended.stderr) or f"it ended with {ended.returncode}")
        return ended.stdout

    def attempt(self, *arguments: str) -> bytes | None:
        """Run a command whose failure is an answer too."""
        ended = self._run(arguments, b"")
        return None if ended.returncode else ended.stdout

    def show(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        """Run a command whose output people should see."""
        try:
            code = subprocess.call(
                self._command(arguments),
                env={**self._environment, **(environment or {})},
                stdin=subprocess.DEVNULL,
                timeout=self._timeout,
            )
        except (OSError, subprocess.TimeoutExpired) as reason:
            raise GitFailed(arguments[0], _why(reason)) from reason
        if code:
            raise GitFailed(arguments[0], f"it ended with {code}")

    @contextmanager
    def reading(self, *arguments: str, given: IO[bytes]) -> Generator[IO[bytes]]:
        """Run a command whose output is read piece by piece; what is left unread ends it."""
        try:
            running = subprocess.Popen(
                self._command(arguments),
                env=self._environment,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as reason:
            raise GitFailed(arguments[0], _why(reason)) from reason
        with running:
            try:
                if running.stdout is not None:
                    yield running.stdout
            finally:
                running.kill()

    def check_version(self) -> None:
        """Raise ``GitFailed`` for a program that cannot do this safely."""
        said = self.output("version").decode(errors="replace")
        found = re.search(r"(\d+)\.(\d+)", said)
        if found is None or (int(found[1]), int(found[2])) < _OLDEST:
            raise GitFailed("version", f"{said.strip()} is too old: install git {_OLDEST[0]}.{_OLDEST[1]} or later")

    def _run(self, arguments: Sequence[str], given: bytes) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                self._command(arguments),
                env=self._environment,
                input=given,
                capture_output=True,
                check=False,
                timeout=self._timeout,
            )
        except (OSError, subprocess.TimeoutExpired) as reason:
            raise GitFailed(arguments[0], _why(reason)) from reason

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return ["git", "-C", self.folder, *arguments]


def _why(reason: OSError | subprocess.TimeoutExpired) -> str:
    if isinstance(reason, subprocess.TimeoutExpired):
        return f"it did not end within {reason.timeout:.0f} s"
    if isinstance(reason, FileNotFoundError) and reason.filename == "git":
        return "there is no program `git` in PATH: install it"
    return reason.strerror or str(reason)


def _last_words(said: bytes) -> str:
    """Return the end of what was said, without passwords in addresses."""
    text = said.decode(errors="replace").strip()[-_LAST_WORDS:]
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)
