r"""Which files patterns name, as the actions and ``hashFiles`` mean it.

One pattern a line: ``*``, ``?`` and ``[…]`` within a part of a path, ``**`` for any number of parts, ``\`` before what
is meant as itself, ``~`` for the home, ``!`` in front to take files away again, ``#`` for a comment. Later lines win.
Where descendants are implied, a folder that matches brings all that is in it. Files are found in the order of a walk
that sorts each folder by bytes. Names with a leading dot match like any other unless hidden ones are left out.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ANY_PARTS = "**"
_FILE, _DIRECTORY = 1, 2
_CLASS_OF_ONE = re.compile(r"(?<!\\)\[([^]\\])\]")


class GlobInvalid(Exception):
    """A pattern means nothing: it is empty, or it leads elsewhere by ``.`` or ``..``."""

    code = "glob_invalid"


class Pattern(NamedTuple):
    """One line, or the descendants that it implies.

    Which of its parts could come next is a set of indexes, kept as bits, so that a walk carries it from folder to
    folder instead of matching whole paths again and again.
    """

    negated: bool
    kinds: int
    """What it names: files, directories or both."""
    literal: str
    """Where to begin to search: the leading path without wildcards."""
    matchers: tuple[str | re.Pattern[str] | None, ...]
    """A name, a wildcard, or ``None`` for any number of parts."""
    closures: tuple[int, ...]
    """For each index itself and those that can be reached from it without a part."""

    def begin(self) -> int:
        return self.closures[0]

    def step(self, places: int, name: str) -> int:
        """Return where a path stands after one more part; 0 is nowhere."""
        following = 0
        for index, matcher in enumerate(self.matchers):
            if not places >> index & 1:
                continue
            if matcher is None:
                following |= self.closures[index]
            elif matcher == name if isinstance(matcher, str) else matcher.fullmatch(name) is not None:
                following |= self.closures[index + 1]
        return following

    def ends(self, places: int) -> int:
        """Return as what a path is named: the kinds, or 0."""
        return self.kinds if places >> len(self.matchers) & 1 else 0


class Options(NamedTuple):
    """How to search; as the actions do unless told otherwise."""

    follow_links: bool = True
    directories: bool = True
    """Name directories too, not only what is in them."""
    hidden: bool = True
    """Whether names with a leading dot count at all."""


class _Place(NamedTuple):
    """Somewhere in a walk."""

    path: str
    places: tuple[int, ...]
    above: tuple[tuple[int, int], ...]
    """The folders on the way, by device and inode: a link back to one of them ends the walk there."""


def parse(text: str, root: str, home: str, *, descendants: bool = True) -> list[Pattern]:
    """Read patterns, one a line. Relative ones begin at the absolute path ``root``; raises ``GlobInvalid``."""
    patterns: list[Pattern] = []
    for line in text.splitlines():
        written = line.strip()
        if not written or written.startswith("#"):
            continue
        negated = False
        while written.startswith("!"):
            negated = not negated
            written = written[1:].strip()
        patterns += _patterns(written, negated, root, home, descendants=descendants)
    return patterns


def search(patterns: Sequence[Pattern], options: Options = Options()) -> Iterator[str]:  # noqa: B008 - immutable
    """Yield the absolute paths that the patterns name. Links that lead nowhere or in a circle are passed over."""
    for start in search_paths(patterns):
        places = [pattern.begin() for pattern in patterns]
        for part in _split(start):
            places = [pattern.step(place, part) for pattern, place in zip(patterns, places, strict=True)]
        yield from _walk(start, patterns, tuple(places), options)


def search_paths(patterns: Sequence[Pattern]) -> list[str]:
    """Return where to begin to search: no place is below another."""
    starts = list(dict.fromkeys(pattern.literal for pattern in patterns if not pattern.negated))
    return [start for start in starts if not any(_is_below(start, other) for other in starts)]


def _is_below(path: str, other: str) -> bool:
    return path != other and path.startswith(other.rstrip("/") + "/")


def _walk(start: str, patterns: Sequence[Pattern], places: tuple[int, ...], options: Options) -> Iterator[str]:
    stack: list[_Place] = [_Place(start, places, ())]
    while stack:
        path, places, above = stack.pop()
        named = _named(patterns, places)
        inside = any(place for pattern, place in zip(patterns, places, strict=True) if not pattern.negated)
        if not (named or inside) or (not options.hidden and path.rpartition("/")[2].startswith(".")):
            continue
        try:
            status = os.stat(path, follow_symlinks=options.follow_links)
        except OSError:
            continue
        if not stat.S_ISDIR(status.st_mode):
            if named & _FILE:
                yield path
            continue
        here = (status.st_dev, status.st_ino)
        if here in above:
            continue
        if named & _DIRECTORY and options.directories:
            yield path
        if inside:
            for name in sorted(os.listdir(path), key=os.fsencode, reverse=True):
                following = tuple(pattern.step(place, name) for pattern, place in zip(patterns, places, strict=True))
                stack.append(_Place(f"{path.rstrip('/')}/{name}", following, (*above, here)))


def _named(patterns: Sequence[Pattern], places: Sequence[int]) -> int:
    """Return as what a path is named when every line had its say."""
    named = 0
    for pattern, place in zip(patterns, places, strict=True):
        kinds = pattern.ends(place)
        named = named & ~kinds if pattern.negated else named | kinds
    return named


def _patterns(written: str, negated: bool, root: str, home: str, *, descendants: bool) -> Iterator[Pattern]:  # noqa: FBT001 - one caller
    if not written:
        raise GlobInvalid("a pattern is empty")
    parts = _split(written)
    literals = [_literal(part) for part in parts]
    if ".." in literals or "." in literals[1:] or (written.startswith("/") and "." in literals):
        raise GlobInvalid(f"the pattern {written!r} leads elsewhere by `.` or `..`, which patterns cannot")
    if written == "~" or written.startswith("~/"):
        parts = [*map(_escape, _split(home)), *parts[1:]]
    elif not written.startswith("/"):
        parts = [*map(_escape, _split(root)), *(parts[1:] if literals[:1] == ["."] else parts)]
    trailing = written.endswith("/")
    yield _pattern(parts, negated, _DIRECTORY if trailing else _FILE | _DIRECTORY)
    if descendants and (trailing or parts[-1:] != [_ANY_PARTS]):
        # One part at least: the folder itself was named by the line above.
        yield _pattern([*parts, "*", _ANY_PARTS], negated, _FILE | _DIRECTORY, search_from=parts)


def _pattern(parts: list[str], negated: bool, kinds: int, search_from: list[str] | None = None) -> Pattern:  # noqa: FBT001 - as above
    leading: list[str] = []
    for part in parts if search_from is None else search_from:
        literal = _literal(part)
        if literal is None:
            break
        leading.append(literal)
    matchers = tuple(_matcher(part) for part in parts)
    closures = [1 << len(matchers)]
    for index in range(len(matchers) - 1, -1, -1):
        closures.insert(0, 1 << index | (closures[0] if matchers[index] is None else 0))
    return Pattern(negated, kinds, "/" + "/".join(leading), matchers, tuple(closures))


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _escape(part: str) -> str:
    return re.sub(r"([*?\[\\])", r"\\\1", part)


def _literal(part: str) -> str | None:
    """Return the name that a part stands for, or nothing if it could be several; ``[x]`` is ``x``."""
    text = ""
    index = 0
    while index < len(part):
        character = part[index]
        if character in "*?":
            return None
        if character == "[":
            listed, end = _listed(part, index + 1)
            if end >= 0 and len(listed) > 1:
                return None
            if end >= 0 and listed:
                text, index = text + listed, end + 1
                continue
        elif character == "\\" and index + 1 < len(part):
            index += 1
            character = part[index]
        text += character
        index += 1
    return text


def _listed(part: str, start: int) -> tuple[str, int]:
    """Return the characters up to the next ``]`` and where that stands, -1 if nowhere."""
    listed = ""
    index = start
    while index < len(part):
        if part[index] == "]":
            return listed, index
        if part[index] == "\\" and index + 1 < len(part):
            index += 1
        listed += part[index]
        index += 1
    return listed, -1


def _matcher(part: str) -> str | re.Pattern[str] | None:
    if part == _ANY_PARTS:
        return None
    literal = None if "[" in part else _literal(part)
    return literal if literal is not None else re.compile(_expression(part), re.DOTALL)


def _expression(part: str) -> str:
    """Return the regular expression of a part with wildcards; a wildcard in front needs a character to be there."""
    pieces: list[str] = []
    index = 0
    while index < len(part):
        character = part[index]
        if character == "\\" and index + 1 < len(part):
            index += 1
            pieces.append(re.escape(part[index]))
        elif character == "*":
            pieces.append(".*?" if index else "(?=.).*?")
        elif character == "?":
            pieces.append(".")
        elif character == "[" and (end := _class_end(part, index)) > 0:
            pieces.append(_character_class(part[index + 1 : end]))
            index = end
        else:
            pieces.append(re.escape(character))
        index += 1
    return "".join(pieces)


def _class_end(part: str, start: int) -> int:
    """Return where the ``]`` of a character class stands, -1 if the ``[`` is only itself."""
    first = start + 1
    if part[first : first + 1] in ("!", "^"):
        first += 1
    return part.find("]", first + 1) if first < len(part) else -1


def _character_class(content: str) -> str:
    negated = content[:1] in ("!", "^")
    body = content[1:] if negated else content
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", body)
    try:
        expression = f"[{'^' if negated else ''}{escaped}]"
        re.compile(expression)
    except re.error:
        return re.escape(f"[{content}]")
    return expression
