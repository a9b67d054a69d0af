"""Starting git so that neither an address, nor a reference, nor what a repository holds can make it run anything.

No configuration but ours, no hooks, no transports but the listed ones, no questions, no redirects, objects checked as
they arrive (threats 22, 23). Credentials travel in the environment, which other users cannot read, and are gone with
the process. A command that takes too long, or prints or stores too much, is ended with everything that it started.
"""

import asyncio
import base64
import contextlib
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ostler.domain.machine import Refused
from ostler.server.git.addresses import Held

FETCH_SECONDS: Final = 300.0
READ_SECONDS: Final = 60.0
_MOST_OUTPUT: Final = 16 << 20
_MOST_FILE_BLOCKS: Final = (4 << 30) // 512
"""The largest file that git may write, in the blocks of ``ulimit``: no pack may fill the disk."""
_PROTOCOLS: Final = "https:http:ssh:git:file"
_CONFIG: Final = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("protocol.ext.allow", "never"),
    ("http.followRedirects", "false"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsck.zeroPaddedFilemode", "warn"),
    ("fetch.fsck.missingSpaceBeforeDate", "warn"),
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
)
_PASSED_ON: Final = (
    "PATH",
    "HOME",
    "SSH_AUTH_SOCK",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
)
_LIMITED: Final = ("/bin/sh", "-c", 'ulimit -f "$0" && exec "$@"', str(_MOST_FILE_BLOCKS))


class Credentials(NamedTuple):
    """What to say to be let in; ssh finds its keys by itself."""

    username: str = ""
    password: str = ""


class Git:
    """See the module."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._base = {name: environment[name] for name in _PASSED_ON if name in environment}

    async def run(
        self,
        *arguments: str,
        folder: Path | None = None,
        held: Held | None = None,
        credentials: Credentials | None = None,
        stdin: bytes = b"",
        seconds: float = READ_SECONDS,
    ) -> bytes | Refused:
        """Run one command to its end and return what it printed, or the last lines of what it complained about."""
        where = ("--git-dir", str(folder)) if folder is not None else ()
        process = await asyncio.create_subprocess_exec(
            *_LIMITED,
            "git",
            *where,
            *arguments,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment(held or Held(), credentials or Credentials()),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(seconds):
                out, complaint = await _spoken(process, stdin)
                status = await process.wait()
        except TimeoutError:
            return Refused("fetch_failed", f"git {arguments[0]} did not end within {seconds:g} seconds")
        finally:
            _end(process)
        if out is None:
            return Refused("fetch_failed", f"git {arguments[0]} printed more than {_MOST_OUTPUT} bytes")
        if status:
            return Refused("fetch_failed", _reason(arguments[0], status, complaint))
        return out

    def _environment(self, held: Held, credentials: Credentials) -> dict[str, str]:
        config = [*_CONFIG, *held.config]
        if credentials.password:
            pair = f"{credentials.username or 'git'}:{credentials.password}".encode()
            config.append(("http.extraHeader", f"Authorization: Basic {base64.b64encode(pair).decode()}"))
        ssh = ("ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new", *held.ssh_options)
        return {
            **self._base,
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
            "GIT_SSH_COMMAND": shlex.join(ssh),
            "GIT_CONFIG_COUNT": str(len(config)),
            **{f"GIT_CONFIG_KEY_{index}": key for index, (key, _) in enumerate(config)},
            **{f"GIT_CONFIG_VALUE_{index}": value for index, (_, value) in enumerate(config)},
        }


async def _spoken(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[bytes | None, bytes]:
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("git was started without its pipes")
    out, complaint, _ = await asyncio.gather(_read(process.stdout), _read(process.stderr), _write(process.stdin, stdin))
    if out is None:
        _end(process)
    return out, complaint or b""


async def _read(stream: asyncio.StreamReader) -> bytes | None:
    pieces: list[bytes] = []
    size = 0
    while piece := await stream.read(1 << 16):
        size += len(piece)
        if size > _MOST_OUTPUT:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def _write(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is None:
        return
    # A command that has ended reads no more, which uvloop calls a RuntimeError; why it ended is said elsewhere.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        stream.write(data)
        await stream.drain()
        stream.close()


def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _reason(command: str, status: int, complaint: bytes) -> str:
    lines: Sequence[str] = [line for line in complaint.decode("utf-8", "replace").splitlines() if line.strip()]
    said = "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in lines[-3:])
    return f"git {command}: {said[:500] or f'ended with status {status}'}"
