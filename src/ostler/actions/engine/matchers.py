"""Problem matchers: patterns that find errors of compilers and tools in the output and turn them into annotations.

Rules as GitHub's runner has them: the patterns of a matcher match consecutive lines; the last may ``loop``, so that one
headline serves several lines; a match resets all other matchers. A pattern that takes too long is switched off: it
came from an action, and the job must stay in hand whatever it does.
"""

import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Literal, cast

import msgspec

from ostler.protocol.v1.runner_messages import Annotation

Level = Literal["notice", "warning", "error"]
LONGEST_LINE: Final = 16 << 10
SECONDS: Final = 1.0
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_NAMED_GROUP: Final = re.compile(r"\(\?<(?![=!])")


class BadMatcher(Exception):
    """A file of problem matchers cannot be used; the step that named it fails."""

    code = "problem_matcher"


class TooSlow(Exception):
    """A pattern did not answer in time."""

    code = "problem_matcher_too_slow"


class _Pattern(msgspec.Struct, frozen=True, rename="camel"):
    regexp: str
    file: int | None = None
    from_path: int | None = None
    line: int | None = None
    column: int | None = None
    severity: int | None = None
    code: int | None = None
    message: int | None = None
    loop: bool = False


class _Matcher(msgspec.Struct, frozen=True, rename="camel"):
    owner: str
    pattern: list[_Pattern]
    severity: str = ""


class _File(msgspec.Struct, frozen=True, rename="camel"):
    problem_matcher: list[_Matcher]


class Problem(msgspec.Struct, frozen=True):
    """What one matcher found: an annotation whose file is as the tool wrote it."""

    annotation: Annotation
    from_path: str = ""
    """The project file relative to which the tool names others."""


_Found = dict[str, str]


class Matcher:
    """One matcher and how far it has come in the output."""

    def __init__(self, told: _Matcher) -> None:
        self.owner = told.owner
        self._severity = told.severity
        self._patterns = [(pattern, _compiled(told.owner, pattern)) for pattern in told.pattern]
        self._running: list[_Found | None] = [None] * (len(told.pattern) - 1)

    def reset(self) -> None:
        """Forget the lines seen."""
        self._running = [None] * len(self._running)

    def match(self, line: str) -> Problem | None:
        """Take the next line; return the problem that it completes."""
        last = len(self._patterns) - 1
        for index in range(last, -1, -1):
            before = self._running[index - 1] if index else {}
            if before is None:
                continue
            pattern, expression = self._patterns[index]
            found = expression.search(line)
            if index == last:
                if found is not None:
                    self.reset()
                    if pattern.loop and index:
                        self._running[index - 1] = before
                    return self._problem({**_parts(pattern, found), **_filled(before)})
                if index:
                    self._running[index - 1] = None
            else:
                self._running[index] = None if found is None else {**_parts(pattern, found), **_filled(before)}
        return None

    def _problem(self, found: _Found) -> Problem | None:
        message = found.get("message", "")
        if not message:
            return None
        return Problem(
            Annotation(
                level=_level(found.get("severity") or self._severity),
                message=f"{message} [{code}]" if (code := found.get("code", "")) else message,
                file=found.get("file", ""),
                line=_number(found.get("line", "")),
                column=_number(found.get("column", "")),
            ),
            found.get("from_path", ""),
        )


class Matchers:
    """Those that are on, for all later output of the job; the newest is asked first."""

    def __init__(self) -> None:
        self._all: list[Matcher] = []

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def owners(self) -> list[str]:
        return [one.owner for one in self._all]

    def add(self, content: bytes) -> None:
        """Switch on what a file holds; a matcher of the same owner is replaced."""
        for told in read_matchers(content):
            self.remove(told.owner)
            self._all.insert(0, told)

    def remove(self, owner: str) -> None:
        """Switch one off."""
        self._all = [one for one in self._all if one.owner.lower() != owner.lower()]

    def match(self, line: str) -> Problem | None:
        """Ask all of them about a line."""
        if len(line) > LONGEST_LINE:
            return None
        plain = _COLOURS.sub("", line)
        for one in self._all:
            problem = one.match(plain)
            if problem is not None:
                for other in self._all:
                    if other is not one:
                        other.reset()
                return problem
        return None


def read_matchers(content: bytes) -> list[Matcher]:
    """Return the matchers of a file."""
    try:
        told = msgspec.json.decode(_listed(content), type=_File)
    except (msgspec.MsgspecError, ValueError) as reason:
        raise BadMatcher(f"the file holds no problem matchers: {reason}") from reason
    for one in told.problem_matcher:
        if not one.owner or not one.pattern:
            raise BadMatcher("a problem matcher needs an `owner` and at least one `pattern`")
        if any(pattern.loop for pattern in one.pattern[:-1]) or (one.pattern[-1].loop and len(one.pattern) == 1):
            raise BadMatcher(f"`{one.owner}`: only the last of several patterns may have `loop`")
        if all(pattern.message is None for pattern in one.pattern):
            raise BadMatcher(f"`{one.owner}`: no pattern says which group is the `message`")
        _level(one.severity)
    return [Matcher(one) for one in told.problem_matcher]


@contextmanager
def in_time(seconds: float = SECONDS) -> Generator[None]:
    """Raise ``TooSlow`` out of a pattern that goes on for too long; only for the main thread of a process."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"a problem matcher took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _listed(content: bytes) -> bytes:
    """Return the file with single objects as lists of one: both forms are common."""
    decoded: Any = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    if isinstance(decoded, dict):
        file = cast("dict[str, Any]", decoded)
        for one in cast("list[Any]", file.get("problemMatcher") or []):
            matcher = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
            if isinstance(matcher.get("pattern"), dict):
                matcher["pattern"] = [matcher["pattern"]]
    return msgspec.json.encode(decoded)


def _compiled(owner: str, pattern: _Pattern) -> re.Pattern[str]:
    try:
        return re.compile(_NAMED_GROUP.sub("(?P<", pattern.regexp), re.ASCII)
    except (re.error, RecursionError, OverflowError) as reason:
        raise BadMatcher(f"`{owner}`: `{pattern.regexp}` is no regular expression: {reason}") from reason


def _parts(pattern: _Pattern, found: re.Match[str]) -> _Found:
    parts: _Found = {}
    for name in ("file", "from_path", "line", "column", "severity", "code", "message"):
        group = getattr(pattern, name)
        if group is not None and 0 <= group <= len(found.groups()) and found[group]:
            parts[name] = found[group].strip()
    return parts


def _filled(found: _Found) -> _Found:
    return {name: value for name, value in found.items() if value}


def _level(severity: str) -> Level:
    match severity.lower():
        case "warning":
            return "warning"
        case "notice" | "info":
            return "notice"
        case _:
            return "error"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0
