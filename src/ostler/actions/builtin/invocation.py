"""One run of a built-in action: its inputs and state, and the files and lines by which it answers.

The same files and commands that every action uses; whoever runs it need not know that it is ours.
"""

import os
import sys
from collections.abc import Mapping
from hashlib import sha256

from ostler.actions.builtin.services import Services, from_environment


class ActionFailed(Exception):
    """A built-in action cannot do what its inputs ask for; the message is for the author of the workflow."""

    code = "action_failed"


class Invocation:
    """What an action is given and how it speaks."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.services: Services = from_environment(environment)
        self.environment = {**self.services.reach, **environment}

    @property
    def workspace(self) -> str:
        return os.path.abspath(self.variable("GITHUB_WORKSPACE") or os.getcwd())

    @property
    def temporary(self) -> str:
        return self.variable("RUNNER_TEMP") or self.variable("TMPDIR") or "/tmp"  # noqa: S108 - where there is nothing else

    @property
    def home(self) -> str:
        return self.variable("HOME") or "/"

    def variable(self, name: str) -> str:
        return self.environment.get(name, "")

    def text(self, name: str) -> str:
        """Return an input without the blanks around it."""
        return self.environment.get(f"INPUT_{name.replace(' ', '_').upper()}", "").strip()

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def number(self, name: str, default: int) -> int:
        """Return an input that is a whole number of at least 0."""
        text = self.text(name)
        if not text:
            return default
        if not text.isdecimal() or len(text) > 9:
            raise ActionFailed(f"{name}: {text[:50]!r} is no whole number")
        return int(text)

    def required(self, name: str) -> str:
        text = self.text(name)
        if not text:
            raise ActionFailed(f"Input required and not supplied: {name}")
        return text

    def lines(self, name: str) -> list[str]:
        return [line.strip() for line in self.text(name).splitlines() if line.strip()]

    def state(self, name: str) -> str:
        """Return what an earlier phase saved."""
        return self.environment.get(f"STATE_{name}", "")

    def save_state(self, name: str, value: str) -> None:
        self._append("GITHUB_STATE", name, value)

    def output(self, name: str, value: str) -> None:
        self._append("GITHUB_OUTPUT", name, value)

    def say(self, text: str) -> None:
        """Print a line that is no command, whatever it says."""
        shown = " ".join(text.splitlines())
        sys.stdout.write(f"{shown if not shown.lstrip().startswith(('::', '##[')) else '> ' + shown}\n")
        sys.stdout.flush()

    def debug(self, text: str) -> None:
        self._command("debug", text)

    def notice(self, text: str) -> None:
        self._command("notice", text)

    def warn(self, text: str) -> None:
        self._command("warning", text)

    def error(self, text: str) -> None:
        self._command("error", text)

    def mask(self, value: str) -> None:
        if value:
            self._command("add-mask", value)

    def _command(self, name: str, text: str) -> None:
        escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        sys.stdout.write(f"::{name}::{escaped}\n")
        sys.stdout.flush()

    def _append(self, file: str, name: str, value: str) -> None:
        """Write a value in the form with a delimiter, which is one that the value cannot hold."""
        path = self.variable(file)
        if not path:
            return
        delimiter = f"ostler_{sha256(value.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
