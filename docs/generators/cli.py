"""The page of the command line: every command with its arguments and options, as ``--help`` tells them."""

import inspect
from collections.abc import Iterator
from typing import Any, cast

import click

from ostler.agent.settings import SETTINGS
from ostler.cli.main import ostler
from ostler.cli.run import RunGroup

_HEAD = """\
# Command line

One program, `ostler`, is the server, the agent and the client. `-h` after any command shows what is on this page.

- Data goes to standard output, everything else to standard error. `--json` prints data for programs. `NO_COLOR` is
  honoured.
- A command that talks to a server finds it in `OSTLER_URL` and `OSTLER_TOKEN`, or in the file that `ostler up` and
  `ostler login` write; see [environment variables](environment.md).
- Durations are written as in `300ms`, `90s` or `1h30m`.

| Exit code | Meaning |
| --- | --- |
| 0 | done; of a command that waits for a job: it succeeded |
| 1 | failed |
| 2 | wrong usage |
| 4 | not signed in, or not allowed |
| 8 | not ended yet |
| 130 | interrupted, or nobody reads the output of a job any more; `ostler job submit` cancels its job |
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name, groups before their members."""
    return _members("ostler", ostler, click.Context(ostler, info_name="ostler"))


def _members(name: str, group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for member in group.list_commands(context):
        command = group.get_command(context, member)
        if command is None:
            raise LookupError(f"{name} lists {member} and does not have it")
        yield f"{name} {member}", command
        if isinstance(command, click.Group):
            yield from _members(f"{name} {member}", command, click.Context(command, info_name=member, parent=context))


def page() -> str:
    """The whole page."""
    lines = [_HEAD]
    for name, command in commands():
        lines += [f"{'#' * (name.count(' ') + 1)} {name}", ""]
        lines += [*_prose(command), ""]
        own = command.local() if isinstance(command, RunGroup) else command
        if not isinstance(own, click.Group):
            lines += ["```text", _usage(name, own), "```", "", *_parameters(own)]
    return "\n".join(lines).rstrip() + "\n"


def _prose(command: click.Command) -> list[str]:
    text = inspect.cleandoc(command.help or command.short_help or "")
    return "\n\n".join(_paragraph(paragraph) for paragraph in text.split("\n\n")).split("\n")


def _paragraph(text: str) -> str:
    """Lines that click keeps as they are (marked with a backspace) are examples."""
    if text.startswith("\b\n"):
        return f"```text\n{text[2:]}\n```"
    return " ".join(text.split())


def _usage(name: str, command: click.Command) -> str:
    return " ".join([name, *command.collect_usage_pieces(click.Context(command, info_name=name))])


def _parameters(command: click.Command) -> list[str]:
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if not options:
        return []
    lines: list[str] = []
    keys = {setting.key for setting in SETTINGS}
    if keys <= {option.name for option in options}:
        options = [option for option in options if option.name not in keys]
        lines += ["Every [setting of the agent](settings.md) is an option too: its key with hyphens.", ""]
    lines += ["| Option | Default | Meaning |", "| --- | --- | --- |"]
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        lines.append(f"| {names}{_value(option)} | {_default(option)} | {_meaning(option)} |")
    return [*lines, ""]


def _value(option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    metavar = option.make_metavar(click.Context(click.Command("x"))).replace("|", "\\|")
    return f" `{metavar}`"


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return f"`{option.show_default}`"
    default = cast("Any", option).default
    if option.is_flag or option.multiple or default is None or not isinstance(default, str | int | float):
        return ""
    return f"`{default}`" if default != "" else ""


def _meaning(option: click.Option) -> str:
    text = (option.help or "").replace("|", "\\|")
    variable = option.envvar
    return f"{text} Environment: `{variable}`.".strip() if isinstance(variable, str) else text
