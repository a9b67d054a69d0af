"""Which program runs a script, and how: the shells that the language names, and templates of one's own.

The flags are those of GitHub's documentation. Where ``shell`` is missing it is bash without ``pipefail``, or sh where
there is no bash.
"""

import os
import shlex
import sys
from typing import Final, NamedTuple

from ostler.domain.machine import Refused

_TEMPLATES: Final = {
    "bash": "bash --noprofile --norc -e -o pipefail {0}",
    "sh": "sh -e {0}",
    "pwsh": "pwsh -command \". '{0}'\"",
    "python": "python {0}",
    "node": "node {0}",
}
_ONLY_ON_WINDOWS: Final = ("cmd", "powershell")
_EXTENSIONS: Final = {"bash": ".sh", "sh": ".sh", "pwsh": ".ps1", "python": ".py", "python3": ".py", "node": ".js"}
_POWERSHELL_BEGIN: Final = "$ErrorActionPreference = 'stop'\n"
_POWERSHELL_END: Final = "\nif ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) { exit $LASTEXITCODE }\n"


class Shell(NamedTuple):
    """How a script is run: the words of the command, the script's file being ``{0}``."""

    words: tuple[str, ...]
    extension: str
    prologue: str = ""
    epilogue: str = ""

    @property
    def shown(self) -> str:
        """What people read in the log."""
        return " ".join(self.words)

    def argv(self, script: str) -> tuple[str, ...]:
        """Return the command for a script."""
        return tuple(word.replace("{0}", script) for word in self.words)

    def content(self, script: str) -> str:
        """Return what is written to the script's file."""
        return f"{self.prologue}{script}{self.epilogue}".replace("\r\n", "\n")


def find_shell(named: str, path: str, directory: str) -> Shell | Refused:
    """Return the shell of a name or template; nothing named means the default."""
    if not named:
        bash = which("bash", path, directory)
        words = (bash, "-e", "{0}") if bash else (which("sh", path, directory) or "sh", "-e", "{0}")
        return Shell(words, ".sh")
    if named in _ONLY_ON_WINDOWS and sys.platform != "win32":
        return Refused("shell_unavailable", f"`shell: {named}` needs Windows; use bash or pwsh")
    if "\0" in named:
        return Refused("shell_invalid", "`shell` holds a NUL")
    try:
        words = shlex.split(_TEMPLATES.get(named, named))
    except ValueError as reason:
        return Refused("shell_invalid", f"`shell: {named}` cannot be split into words: {reason}")
    if not any("{0}" in word for word in words):
        return Refused(
            "shell_invalid",
            f"`shell: {named}` is no shell: write bash, sh, pwsh, python, node, or a command line in which {{0}} "
            "stands for the script",
        )
    program = which(words[0], path, directory)
    if not program and named == "python":
        program = which("python3", path, directory)
    if not program:
        return Refused("shell_unavailable", f"`shell: {named}`: {words[0]} is not installed on this runner")
    name = os.path.basename(words[0])
    powershell = name == "pwsh"
    return Shell(
        (program, *words[1:]),
        _EXTENSIONS.get(name, ""),
        _POWERSHELL_BEGIN if powershell else "",
        _POWERSHELL_END if powershell else "",
    )


def which(program: str, path: str, directory: str) -> str:
    """Return the file of a program, searched as a shell would; nothing if there is none."""
    folders = [directory] if "/" in program else [os.path.join(directory, one) for one in path.split(os.pathsep)]
    for folder in folders:
        candidate = f"{folder}/{program}" if not program.startswith("/") else program
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    return ""
