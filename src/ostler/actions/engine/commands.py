"""Workflow commands: lines of a step's output that are meant for the runner, ``::name key=value,…::data``.

The older form ``##[name key=value;…]data`` is understood too, anywhere in a line. What is no command with a known name
is ordinary output, never an error.
"""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

NAMES: Final = frozenset(
    {
        "add-mask",
        "add-matcher",
        "add-path",
        "debug",
        "echo",
        "endgroup",
        "error",
        "group",
        "notice",
        "remove-matcher",
        "save-state",
        "set-env",
        "set-output",
        "stop-commands",
        "warning",
    }
)

_MARK, _OLD_MARK = "::", "##["
_DATA: Final = re.compile("%25|%0D|%0A")
_PROPERTY: Final = re.compile("%25|%0D|%0A|%3A|%2C")
_OLD: Final = re.compile("%25|%0D|%0A|%3B|%5D")
_MEANINGS: Final = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%3B": ";", "%5D": "]"}


class Command(NamedTuple):
    """One command; its name is in lower case."""

    name: str
    data: str
    properties: dict[str, str]


def parse(line: str, known: Collection[str] = NAMES) -> Command | None:
    """Return the command that a line is, if it is one of the ``known``."""
    return _parse_new(line, known) or _parse_old(line, known)


def _parse_new(line: str, known: Collection[str]) -> Command | None:
    text = line.lstrip()
    if not text.startswith(_MARK):
        return None
    head, mark, data = text[len(_MARK) :].partition(_MARK)
    name, _, properties = head.partition(" ")
    if not mark or name.lower() not in known:
        return None
    return Command(name.lower(), _unescaped(data, _DATA), _properties(properties.strip(), ",", _PROPERTY))


def _parse_old(line: str, known: Collection[str]) -> Command | None:
    _, mark, rest = line.partition(_OLD_MARK)
    head, bracket, data = rest.partition("]")
    name, _, properties = head.partition(" ")
    if not mark or not bracket or name.lower() not in known:
        return None
    return Command(name.lower(), _unescaped(data, _OLD), _properties(properties, ";", _OLD))


def _properties(text: str, separator: str, escapes: re.Pattern[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in text.split(separator):
        key, equals, value = item.partition("=")
        if equals:
            found[key.strip()] = _unescaped(value, escapes)
    return found


def _unescaped(text: str, escapes: re.Pattern[str]) -> str:
    return escapes.sub(lambda found: _MEANINGS[found[0]], text) if "%" in text else text
