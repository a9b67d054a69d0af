"""Options that several commands share, and how their texts become values."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ostler.domain.duration import parse_duration
from ostler.domain.machine import Refused
from ostler.domain.size import parse_size

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DAY_MICROS = 86_400_000_000

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def repository_option(command: F) -> F:
    """Add ``--repository``."""
    name = click.option("--repository", "-r", required=True, envvar="OSTLER_REPOSITORY", help="Which repository.")
    return name(command)


class DurationType(click.ParamType[int]):
    """A duration in Go's form; its value is milliseconds."""

    name = "duration"

    def __init__(self, longest_days: int) -> None:
        self._longest_days = longest_days

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds of a duration."""
        if isinstance(value, int):
            return value
        micros = parse_duration(str(value))
        if isinstance(micros, Refused):
            self.fail(micros.reason, param, ctx)
        if micros < 1000:
            self.fail(f"{value!r} is not a positive duration", param, ctx)
        if micros > self._longest_days * _DAY_MICROS:
            self.fail(f"{value!r} is longer than {self._longest_days} days", param, ctx)
        return micros // 1000


class SizeType(click.ParamType[int]):
    """A size with its unit; its value is bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes of a size."""
        if isinstance(value, int):
            return value
        size = parse_size(str(value))
        if isinstance(size, Refused):
            self.fail(size.reason, param, ctx)
        if size < 1:
            self.fail("a limit of nothing would let nothing run; leave it out for no limit", param, ctx)
        return size


DURATION = DurationType(longest_days=366)
TIMEOUT = DurationType(longest_days=30)
SIZE = SizeType()


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Return ``K=V`` texts as a dictionary."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} {text!r}: write NAME=VALUE")
        _check_name(name, option)
        values[name] = value
    return values


def _check_name(name: str, option: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise click.UsageError(f"{option} {name!r}: a variable's name holds letters, digits and underscores only")


def secrets(texts: Iterable[str]) -> dict[str, str]:
    """Return ``K[=V]`` texts as a dictionary; without a value it comes from the environment, not the command line."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        _check_name(name, "--secret")
        if not equals:
            found = os.environ.get(name)
            if found is None:
                raise click.UsageError(f"--secret {name}: the environment has no {name}; set it, or write {name}=VALUE")
            value = found
        values[name] = value
    return values
