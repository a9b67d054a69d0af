"""``ostler agent``: write a runner's configuration, run it, and find out why it does not work.

The flags of ``run`` derive from the table of settings, so every key of the file is one of them.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click

from ostler.agent.capabilities import LocalTools
from ostler.agent.configuration import Loaded, load, token_source
from ostler.agent.configuration_file import NAMES, search
from ostler.agent.disk import LocalDisk
from ostler.agent.doctor import Check, Patient, examine
from ostler.agent.settings import BY_KEY, SETTINGS, Form, Setting
from ostler.agent.values import Raw
from ostler.agent.wiring import directories, make_program, runner_name
from ostler.cli import output
from ostler.cli.errors import CommandFailed
from ostler.client.http_transport import HttpTransport
from ostler.effects import system_effects

_MARKS = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "·"}


@click.group()
def agent() -> None:
    """Configure, run and diagnose a runner."""


def _setting_flags(command: Callable[..., None]) -> Callable[..., None]:
    for setting in reversed(SETTINGS):
        command = _flag(setting)(command)
    return click.option(
        "--config", type=click.Path(dir_okay=False, path_type=Path), help=f"Configuration file ({NAMES[0]})."
    )(command)


def _flag(setting: Setting) -> Callable[[Callable[..., None]], Callable[..., None]]:
    default = f"  [default: {setting.default}]" if setting.default else ""
    text = f"{setting.summary} ({setting.variable}){default}"
    if setting.form is Form.FLAG:
        return click.option(f"{setting.flag}/--no-{setting.flag[2:]}", setting.key, default=None, help=text)
    if setting.form in {Form.LIST, Form.PAIRS}:
        return click.option(setting.flag, setting.key, multiple=True, help=text)
    return click.option(setting.flag, setting.key, default=None, help=text)


@agent.command()
@_setting_flags
@click.option("--runners", type=click.IntRange(1, 256), help="Host so many independent runners, NAME-1, NAME-2 …")
@click.option("--token-fd", type=click.IntRange(0), help="Read the token from this inherited descriptor.")
@click.option("--parent-fd", type=click.IntRange(0), hidden=True)
def run(
    *,
    config: Path | None,
    runners: int | None,
    token_fd: int | None,
    parent_fd: int | None,
    **given: str | bool | tuple[str, ...] | None,
) -> None:
    """Run a runner until it is stopped.

    Stop it with Ctrl-C or SIGTERM: it finishes its job first; a second time cancels the job; SIGHUP leaves the job to
    the next agent.
    """
    flags = _flags(given)
    if token_fd is not None:
        with os.fdopen(token_fd, encoding="utf-8") as file:
            flags["token"] = file.read().strip()
    if parent_fd is not None:
        threading.Thread(target=_leave_with_parent, args=(parent_fd,), daemon=True).start()
    _run(_load(config, flags), flags, runners)


@agent.command(short_help="Run a runner from its arguments alone.")
@click.argument("api_url")
@click.argument("registration_token")
@click.argument("runner_name")
@click.argument("description", default="")
@click.argument("labels", nargs=-1)
def join(*, api_url: str, registration_token: str, runner_name: str, description: str, labels: tuple[str, ...]) -> None:
    """Run a runner from its arguments alone: address, token, name, then a description and labels."""
    flags: dict[str, Raw] = {"service_url": api_url, "token": registration_token, "name": runner_name}
    if description:
        flags["description"] = description
    if labels:
        flags["labels"] = tuple(part for label in labels for part in label.replace(",", " ").split())
    _run(_load(None, flags), flags, None)


@agent.command(short_help="Write a configuration file from the flags.")
@_setting_flags
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def configure(*, config: Path | None, force: bool, **given: str | bool | tuple[str, ...] | None) -> None:
    """Write a configuration file from the flags; asks for the token if it is missing."""
    flags = _flags(given)
    path = config or Path(NAMES[0])
    if path.exists() and not force:
        raise CommandFailed(f"{path} exists", fix="Add --force to replace it.", exit_code=2)
    if not flags.get("token") and not flags.get("oidc_token_file") and sys.stdin.isatty():
        flags["token"] = click.prompt("Registration token", hide_input=True)
    load(None, {}, flags)
    lines = ["# See `ostler agent run --help` for every key."]
    lines += [f"{setting.key}: {_written(flags[setting.key])}" for setting in SETTINGS if setting.key in flags]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        file.write("\n".join(lines) + "\n")
    output.say(f"wrote {path}; next: ostler agent run")
    if not flags.get("token") and not flags.get("oidc_token_file"):
        output.say("it holds no token: add `token: …` to it, or set OSTLER_AGENT_TOKEN, for the first start")


@agent.command(short_help="Check everything that a runner needs.")
@_setting_flags
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def doctor(
    context: click.Context, *, config: Path | None, as_json: bool, **given: str | bool | tuple[str, ...] | None
) -> None:
    """Check everything that a runner needs; each failing check says what would mend it."""
    checks = asyncio.run(_examine(_load(config, _flags(given)), as_json=as_json))
    if as_json:
        output.print_json([check._asdict() for check in checks])
    context.exit(1 if any(check.verdict == "failed" for check in checks) else 0)


async def _examine(loaded: Loaded, *, as_json: bool) -> list[Check]:
    configuration = loaded.configuration
    paths = directories(runner_name(configuration), configuration, os.environ)
    opened: list[HttpTransport] = []

    def connect() -> HttpTransport:
        opened.append(HttpTransport(configuration.service_url, os.environ))
        return opened[-1]

    patient = Patient(
        configuration,
        os.environ,
        paths.state,
        connect,
        LocalTools(LocalDisk(paths.state), os.environ, str(paths.binaries)),
        system_effects(),
    )
    checks: list[Check] = []
    async for check in examine(patient):
        checks.append(check)
        if not as_json:
            output.print_line(f"{_MARKS[check.verdict]} {check.name:<11} {check.finding}")
            if check.fix:
                output.print_line(f"  fix: {check.fix}")
    for transport in opened:
        await transport.close()
    return checks


def _run(loaded: Loaded, flags: dict[str, Raw], runners: int | None) -> None:
    token = token_source(loaded, dict(os.environ), flags)
    program = make_program(loaded.configuration, token, system_effects(), os.environ, runners)
    asyncio.run(program.run())


def _leave_with_parent(descriptor: int) -> None:
    """Make room for the next `ostler up` when this one was killed: its agent has to have the state directory."""
    os.set_inheritable(descriptor, False)
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGHUP)


def _load(config: Path | None, flags: dict[str, Raw]) -> Loaded:
    path = config or search(Path.cwd(), Path.home(), Path(sys.argv[0]).resolve().parent)
    loaded = load(path, os.environ, flags)
    for warning in loaded.warnings:
        output.say(f"warning: {warning}")
    return loaded


def _flags(given: dict[str, str | bool | tuple[str, ...] | None]) -> dict[str, Raw]:
    flags: dict[str, Raw] = {}
    for key, value in given.items():
        if value is None or value == ():
            continue
        if isinstance(value, bool):
            flags[key] = "true" if value else "false"
        elif isinstance(value, tuple) and BY_KEY[key].form is Form.LIST:
            flags[key] = tuple(part for text in value for part in text.replace(",", " ").split())
        else:
            flags[key] = value
    return flags


def _written(value: Raw) -> str:
    if isinstance(value, str):
        return _quoted(value)
    items = value if isinstance(value, tuple) else tuple(f"{name}={text}" for name, text in value.items())
    return "[" + ", ".join(_quoted(item) for item in items) + "]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
