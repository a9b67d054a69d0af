"""What a step says to the runner through its output and its files, and what comes of it.

One conversation belongs to one running step. Masks reach the log's masker before anything more is written; variables,
outputs and state are taken when the step has ended, as its files are.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Final

from ostler.actions.engine.commands import NAMES, Command, parse
from ostler.actions.engine.file_commands import BadFile, Files, pairs, read
from ostler.actions.engine.matchers import BadMatcher, Problem, TooSlow, in_time
from ostler.actions.engine.remarks import LARGEST_SUMMARY, annotation, relative
from ostler.actions.engine.scope import JobState
from ostler.actions.engine.track import Track
from ostler.domain.machine import Refused
from ostler.protocol.v1.runner_messages import Annotation

_ALLOW_UNSECURE: Final = "ACTIONS_ALLOW_UNSECURE_COMMANDS"
_LONGEST_OUTPUT: Final = 1 << 20
_LARGEST_MATCHERS: Final = 1 << 20
_COLOUR_END: Final = "\x1b[0m"
_SHORTEST_MASKED_TOKEN: Final = 6


class BadCommand(Exception):
    """A workflow command cannot be carried out; the step that printed it fails."""

    code = "workflow_command"


class Conversation:
    """See the module. It listens to an ``output.Output``."""

    def __init__(self, job: JobState, track: Track, env: Mapping[str, str], state: dict[str, str]) -> None:
        self._job = job
        self._track = track
        self._env = env
        self._stop_token = ""
        self._known = NAMES
        self._echo = job.debug
        self._slow = 0
        self._handlers: Mapping[str, Callable[[Command], None]] = {
            "add-mask": self._add_mask,
            "add-matcher": self._add_matcher,
            "add-path": self._add_path,
            "debug": self._debug_command,
            "echo": self._echo_command,
            "endgroup": self._group,
            "error": self._annotate,
            "group": self._group,
            "notice": self._annotate,
            "remove-matcher": self._remove_matcher,
            "save-state": self._save_state,
            "set-env": self._set_env,
            "set-output": self._set_output,
            "stop-commands": self._stop_commands,
            "warning": self._annotate,
        }
        self.state = state
        self.outputs: dict[str, str] = {}
        self.failed = False
        """Whether a command or file made the step fail, whatever its program says."""

    # What is written.

    @property
    def every_line(self) -> bool:
        return bool(self._job.matchers)

    def text(self, data: bytes) -> None:
        self._job.machine.write(self._track.number, data)

    def line(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace").rstrip("\r\n")
        if ("::" in text or "##[" in text) and self._command(text):
            return
        if self._job.matchers and self._problem(text):
            return
        self.text(data)

    def say(self, text: str) -> None:
        """Add a line of the runner's own."""
        self.text(f"{text}\n".encode("utf-8", "replace"))

    def debug(self, text: str) -> None:
        """Add a line that only a debugged job shows."""
        if self._job.debug:
            for line in text.split("\n"):
                self.say(f"##[debug]{line}")

    def remark(self, one: Annotation, shown: str | None = None) -> None:
        """Keep an annotation, and show it in the log."""
        self._track.remarks.add(one)
        self.say(f"##[{one.level}]{one.message if shown is None else shown}")

    def error(self, message: str) -> None:
        self.remark(Annotation(level="error", message=message))

    def warning(self, message: str) -> None:
        self.remark(Annotation(level="warning", message=message))

    def mask(self, secret: str) -> None:
        """Mask a value, and each of its lines by itself."""
        self._job.machine.mask(secret)
        lines = secret.splitlines()
        if len(lines) > 1:
            for line in lines:
                if line.strip():
                    self._job.machine.mask(line)

    # Commands.

    def _command(self, text: str) -> bool:
        """Carry out the command that a line is; say whether it was one."""
        command = parse(text, self._known)
        if command is None:
            return False
        if self._stop_token:
            if command.name != self._stop_token:
                return False
            self.say(text)
            self._stop_token, self._known = "", NAMES
            return True
        handle = self._handlers[command.name]
        if self._echo and command.name not in _SILENT:
            self.say(text)
        try:
            handle(command)
        except (BadCommand, BadFile, BadMatcher) as reason:
            shown = command.name if command.name == "add-mask" else text
            self.error(f"Unable to process command '{shown}' successfully.")
            self.error(str(reason))
            self.failed = True
        return True

    def _stop_commands(self, command: Command) -> None:
        token = command.data
        if (not token or token.lower() in NAMES or token.lower() == "pause-logging") and not self._allowed(
            "ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS"
        ):
            raise BadCommand(f"`{token}` cannot be the token that lets commands go on: choose a long random one")
        if not self._echo:
            self.say(f"::stop-commands::{token}")
        if len(token) > _SHORTEST_MASKED_TOKEN:
            self.mask(token)
        self._stop_token = token.lower()
        self._known = frozenset({self._stop_token, *NAMES})

    def _add_mask(self, command: Command) -> None:
        if not command.data.strip():
            self.warning("Can't add secret mask for empty string in ##[add-mask] command.")
            return
        if self._echo:
            self.say("::add-mask::***")
        self.mask(command.data)

    def _annotate(self, command: Command) -> None:
        workspace = self._job.machine.layout.workspace
        self.remark(annotation(command.name, command.data, command.properties, workspace), command.data)

    def _debug_command(self, command: Command) -> None:
        self.debug(command.data)

    def _group(self, command: Command) -> None:
        self.say(f"##[{command.name}]{command.data}")

    def _echo_command(self, command: Command) -> None:
        wanted = command.data.strip().upper()
        if wanted not in ("ON", "OFF"):
            raise BadCommand(f"`echo` is switched `on` or `off`, not `{command.data}`")
        self._echo = wanted == "ON"

    def _set_output(self, command: Command) -> None:
        self._deprecated(command.name, "GITHUB_OUTPUT")
        self._output(_name(command), command.data)

    def _save_state(self, command: Command) -> None:
        self._deprecated(command.name, "GITHUB_STATE")
        self.state[_name(command)] = command.data

    def _set_env(self, command: Command) -> None:
        self._secure(command.name, "GITHUB_ENV")
        self._variable(_name(command), command.data)

    def _add_path(self, command: Command) -> None:
        self._secure(command.name, "GITHUB_PATH")
        if not command.data:
            raise BadCommand("`add-path` names no folder")
        self._track.environment.prepend(command.data)

    def _add_matcher(self, command: Command) -> None:
        if not command.data:
            raise BadCommand("`add-matcher` names no file")
        path = os.path.join(self._job.machine.layout.workspace, command.data)
        try:
            with open(path, "rb") as file:
                content = file.read(_LARGEST_MATCHERS)
        except (OSError, ValueError) as reason:
            raise BadCommand(f"the problem matchers in {command.data} cannot be read: {reason}") from reason
        self._job.matchers.add(content)

    def _remove_matcher(self, command: Command) -> None:
        owner = command.properties.get("owner", "")
        if not owner and command.data:
            raise BadCommand("`remove-matcher` needs an `owner`, as in `::remove-matcher owner=eslint::`")
        if not owner:
            raise BadCommand("`remove-matcher` needs an `owner`")
        self._job.matchers.remove(owner)

    def _deprecated(self, name: str, file: str) -> None:
        self.warning(
            f"The `{name}` command is deprecated and will be disabled soon. Please upgrade to using Environment Files: "
            f"write to the file that `{file}` names."
        )

    def _secure(self, name: str, file: str) -> None:
        if not self._allowed(_ALLOW_UNSECURE):
            raise BadCommand(
                f"The `{name}` command is disabled, because whatever a step prints could use it. Write to the file "
                f"that `{file}` names, or allow it by setting `{_ALLOW_UNSECURE}` to `true`."
            )

    def _allowed(self, name: str) -> bool:
        return self._env.get(name, self._job.base.get(name, "")).lower() == "true"

    # Problems.

    def _problem(self, text: str) -> bool:
        try:
            with in_time():
                problem = self._job.matchers.match(text)
        except TooSlow as reason:
            for owner in self._job.matchers.owners:
                self._job.matchers.remove(owner)
            self.warning(f"{reason}; all problem matchers are off from here on")
            return False
        if problem is None:
            return False
        self.remark(self._placed(problem), text)
        return True

    def _placed(self, problem: Problem) -> Annotation:
        """Return the annotation with the file as the workspace names it."""
        found = problem.annotation
        if not found.file:
            return found
        workspace = self._job.machine.layout.workspace
        folder = os.path.dirname(os.path.join(workspace, problem.from_path)) if problem.from_path else workspace
        file = os.path.normpath(os.path.join(folder, found.file))
        return Annotation(
            level=found.level,
            message=found.message,
            file=relative(file, workspace),
            line=found.line,
            column=found.column,
        )

    # Files.

    def take_files(self, files: Files) -> None:
        """Do what the step wrote into its files."""
        readers: tuple[tuple[str, str, Callable[[str], None]], ...] = (
            ("env", files.env, self._take_variables),
            ("output", files.output, self._take_outputs),
            ("path", files.path, self._take_folders),
            ("state", files.state, self._take_state),
        )
        for name, path, take in readers:
            try:
                text = read(path)
                if text:
                    take(text)
            except BadFile as reason:
                self.error(f"Unable to process file command '{name}' successfully.")
                self.error(str(reason))
                self.failed = True
        self._take_summary(files.summary)
        for path in files:
            with contextlib.suppress(OSError):  # deleted, or replaced by what goes with the job's directory
                os.unlink(path)

    def _take_variables(self, text: str) -> None:
        for name, value in pairs(text):
            self._variable(name, value)

    def _take_outputs(self, text: str) -> None:
        for name, value in pairs(text):
            self._output(name, value)

    def _take_state(self, text: str) -> None:
        self.state.update(pairs(text))

    def _take_folders(self, text: str) -> None:
        for folder in text.splitlines():
            if folder:
                self._track.environment.prepend(folder)

    def _take_summary(self, path: str) -> None:
        try:
            text = read(path, LARGEST_SUMMARY)
        except BadFile as reason:
            self.error(f"$GITHUB_STEP_SUMMARY is left out: {reason}")
            return
        if text and not self._track.remarks.summarize(text):
            self.error(f"$GITHUB_STEP_SUMMARY is left out: a step's summaries may hold {LARGEST_SUMMARY} bytes")

    def _variable(self, name: str, value: str) -> None:
        refused = self._track.environment.set(name, value)
        if isinstance(refused, Refused):
            self.error(refused.reason)
        else:
            self.debug(f"{name}='{value}'")

    def _output(self, name: str, value: str) -> None:
        if len(value) > _LONGEST_OUTPUT:
            raise BadFile(f"the output `{name}` has {len(value)} characters and may have {_LONGEST_OUTPUT}")
        self.outputs[name] = value


def _name(command: Command) -> str:
    name = command.properties.get("name", "")
    if not name:
        raise BadCommand(f"Required field 'name' is missing in ##[{command.name}] command.")
    return name


_SILENT: Final = frozenset({"add-mask", "debug", "error", "warning", "notice", "group", "endgroup", "echo"})
"""What they say is shown anyway, or must not be."""
