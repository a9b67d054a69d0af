r"""Patterns for the names of branches, tags and files, as the filters of an event write them.

``*`` stands for anything but ``/``, ``**`` for anything, ``?`` and ``+`` repeat the character before them, ``[a-z_]``
is one character of a set, ``\`` takes the meaning from what follows. ``**/`` may also stand for no folder at all. A
pattern is compiled to positions that are all tried at once, so no pattern and no name can make a match slow.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from ostler.domain.machine import Refused

LONGEST: Final = 1_000
_RANGES = (("0", "9"), ("A", "Z"), ("a", "z"))


class _Position(NamedTuple):
    """One place in a pattern: the characters it takes, and how many of them."""

    characters: frozenset[str]
    others: bool
    """Whether it takes the characters that are not listed, instead of those that are."""
    skippable: bool = False
    repeats: bool = False
    leaps: int = 1
    """How many positions are passed over when this one is skipped."""


_ANYTHING = _Position(frozenset(), others=True, skippable=True, repeats=True)
_WITHIN_FOLDER = _Position(frozenset("/"), others=True, skippable=True, repeats=True)
_FOLDERS = _ANYTHING._replace(leaps=2)
_SLASH = _Position(frozenset("/"), others=False)


class Pattern:
    """One compiled pattern; ``excludes`` says that it began with ``!``."""

    __slots__ = ("_closures", "_positions", "_steps", "excludes", "text")

    def __init__(self, text: str, positions: tuple[_Position, ...], *, excludes: bool) -> None:
        self.text = text
        self.excludes = excludes
        self._positions = positions
        self._closures = _closures(positions)
        self._steps: dict[tuple[int, str], int] = {}

    def matches(self, name: str) -> bool:
        """Whether the pattern, without its ``!``, stands for the whole name."""
        active = self._closures[0]
        for character in name:
            active = self._step(active, character)
            if not active:
                return False
        return bool(active >> len(self._positions))

    def _step(self, active: int, character: str) -> int:
        step = self._steps.get((active, character))
        if step is None:
            step = self._after(active, character)
            if len(self._steps) < _REMEMBERED:
                self._steps[active, character] = step
        return step

    def _after(self, active: int, character: str) -> int:
        after = 0
        for at, position in enumerate(self._positions):
            if active >> at & 1 and (character in position.characters) is not position.others:
                after |= self._closures[at + 1]
                if position.repeats:
                    after |= 1 << at
        return after


_REMEMBERED = 4_096


def _closures(positions: tuple[_Position, ...]) -> tuple[int, ...]:
    """Return for each position the set of positions that are reached from it without a character."""
    closures = [0] * len(positions) + [1 << len(positions)]
    for at in range(len(positions) - 1, -1, -1):
        closures[at] = 1 << at
        if positions[at].skippable:
            closures[at] |= closures[at + positions[at].leaps]
            if positions[at].leaps > 1:
                closures[at] |= closures[at + 1]
    return tuple(closures)


@lru_cache(maxsize=1_024)
def compile_pattern(text: str) -> Pattern | Refused:
    """Return the compiled pattern, or what is wrong with it."""
    if len(text) > LONGEST:
        return _refusal(text, f"it has {len(text)} characters, at most {LONGEST} are allowed")
    excludes = text.startswith("!")
    body = text.removeprefix("!")
    if not body:
        return _refusal(text, "it is empty")
    positions: list[_Position] = []
    at = 0
    while at < len(body):
        taken = _take(body, at, positions)
        if isinstance(taken, Refused):
            return taken
        at = taken
    return Pattern(text, tuple(positions), excludes=excludes)


def _take(body: str, at: int, positions: list[_Position]) -> int | Refused:
    """Append what stands at a place of the pattern; return the place after it."""
    character = body[at]
    if character == "*":
        return _take_stars(body, at, positions)
    if character in "?+":
        if not positions or positions[-1].repeats or positions[-1].skippable:
            return _refusal(body, f"{character!r} at {at + 1} repeats the character before it, and there is none")
        positions[-1] = positions[-1]._replace(skippable=character == "?", repeats=character == "+")
        return at + 1
    if character == "[":
        return _take_set(body, at, positions)
    if character == "\\":
        at += 1
        if at == len(body):
            return _refusal(body, "it ends with a lone backslash")
    positions.append(_Position(frozenset(body[at]), others=False))
    return at + 1


def _take_stars(body: str, at: int, positions: list[_Position]) -> int:
    end = at
    while body.startswith("*", end):
        end += 1
    if end - at == 1:
        positions.append(_WITHIN_FOLDER)
    elif body.startswith("/", end) and (at == 0 or body[at - 1] == "/"):
        positions += (_FOLDERS, _SLASH)
        end += 1
    else:
        positions.append(_ANYTHING)
    return end


def _take_set(body: str, at: int, positions: list[_Position]) -> int | Refused:
    end = body.find("]", at + 1)
    if end < 0:
        return _refusal(body, f"the '[' at {at + 1} is never closed")
    inside = body[at + 1 : end]
    if not inside:
        return _refusal(body, f"the set at {at + 1} is empty")
    characters: set[str] = set()
    rest = inside
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            first, last, rest = rest[0], rest[2], rest[3:]
            if not any(low <= first <= last <= high for low, high in _RANGES):
                return _refusal(body, f"the range {first}-{last} must go upwards within a-z, A-Z or 0-9")
            characters.update(map(chr, range(ord(first), ord(last) + 1)))
        else:
            characters.add(rest[0])
            rest = rest[1:]
    positions.append(_Position(frozenset(characters), others=False))
    return end + 1


def _refusal(text: str, why: str) -> Refused:
    return Refused("pattern_malformed", f"{text[:80]!r} is not a pattern: {why}")


class Patterns:
    """Patterns in their order: the last one that stands for a name decides, and ``!`` takes the name out again."""

    __slots__ = ("_patterns",)

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._patterns = tuple(patterns)

    def match(self, name: str) -> bool:
        """Whether the name is in after all patterns were tried in their order."""
        for pattern in reversed(self._patterns):
            if pattern.matches(name):
                return not pattern.excludes
        return False


def compile_patterns(texts: Iterable[str]) -> Patterns | Refused:
    """Return the patterns, or what is wrong with the first malformed one."""
    compiled: list[Pattern] = []
    for text in texts:
        pattern = compile_pattern(text)
        if isinstance(pattern, Refused):
            return pattern
        compiled.append(pattern)
    if compiled and all(pattern.excludes for pattern in compiled):
        return Refused(
            "patterns_only_exclude",
            f"{compiled[0].text!r} takes out of nothing: at least one pattern without '!' must come before it",
        )
    return Patterns(compiled)
