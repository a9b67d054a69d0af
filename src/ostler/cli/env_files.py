"""Files of ``NAME=VALUE`` lines, as many tools know them: comments, quotes, ``export``."""

import re
from pathlib import Path
from typing import Final

import click

_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def read_pairs(path: Path, option: str) -> dict[str, str]:
    """Return what a file sets. Double quotes may go over lines and know escapes, single ones take all as it is."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise click.UsageError(f"{option} {path}: {reason}") from error
    values: dict[str, str] = {}
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        number, line = at + 1, lines[at].strip()
        at += 1
        if not line or line.startswith("#"):
            continue
        matched = _LINE.fullmatch(line)
        if matched is None:
            raise click.UsageError(f"{option} {path}:{number}: write NAME=VALUE")
        name, written = matched.groups()
        quote = written[:1]
        if quote in ('"', "'"):
            while not _closed(written, quote) and at < len(lines):
                written += "\n" + lines[at]
                at += 1
            if not _closed(written, quote):
                raise click.UsageError(f"{option} {path}:{number}: the quote is never closed")
            values[name] = _unquoted(written, quote)
        else:
            values[name] = re.split(r"\s#", written, maxsplit=1)[0].strip()
    return values


def _closed(written: str, quote: str) -> bool:
    return _end(written, quote) > 0


def _end(written: str, quote: str) -> int:
    at = 1
    while at < len(written):
        if written[at] == "\\" and quote == '"':
            at += 2
            continue
        if written[at] == quote:
            return at
        at += 1
    return 0


def _unquoted(written: str, quote: str) -> str:
    inside = written[1 : _end(written, quote)]
    if quote == "'":
        return inside
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), inside, flags=re.DOTALL)
