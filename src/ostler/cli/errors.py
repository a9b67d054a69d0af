"""How errors look on the command line: cause, evidence, fix and code, never a traceback for what can be expected.

Nothing heavy is imported here: an error is recognised by the attributes that every package's errors carry
(``code``, ``fix``) and a problem by its ``problem``.
"""

from typing import Final

USAGE: Final = 2
NOT_AUTHORISED: Final = 4
FAILED: Final = 1
INTERRUPTED: Final = 130

_UNAUTHORISED_STATUSES = (401, 403)


class CommandFailed(Exception):
    """A command could not do what it was asked; carries its own fix and exit code."""

    code = "command_failed"

    def __init__(self, cause: str, *, fix: str = "", exit_code: int = FAILED, code: str = "command_failed") -> None:
        super().__init__(cause)
        self.fix = fix
        self.exit_code = exit_code
        self.code = code


class ContextUnreadable(CommandFailed):
    """A file of contexts is neither JSON nor YAML, or holds no object."""

    code = "context_unreadable"

    def __init__(self, cause: str, *, fix: str = "") -> None:
        super().__init__(cause, fix=fix, exit_code=USAGE, code=self.code)


def explain(error: BaseException) -> str | None:
    """Return what a person should read, or ``None`` if the error is a surprise that deserves its traceback."""
    problem = getattr(error, "problem", None)
    if problem is not None:
        lines = [f"error: {problem.title}"]
        if problem.detail:
            lines.append(f"  {problem.detail}")
        if problem.fix:
            lines.append(f"  fix: {problem.fix}")
        suffix = f", request {problem.request_id}" if problem.request_id else ""
        lines.append(f"  code: {problem.code}{suffix}")
        return "\n".join(lines) + "\n"
    if isinstance(error, UnicodeEncodeError):
        shown = error.object.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return f"error: {shown[:80]!r} is not UTF-8\n  fix: write it in UTF-8\n  code: not_utf8\n"
    code = getattr(error, "code", None)
    if not isinstance(code, str):
        return None
    lines = [f"error: {getattr(error, 'cause', None) or error}"]
    fix = getattr(error, "fix", "")
    if fix:
        lines.append(f"  fix: {fix}")
    lines.append(f"  code: {code}")
    return "\n".join(lines) + "\n"


def exit_code(error: BaseException) -> int:
    """Return the exit code that an error deserves."""
    if isinstance(error, UnicodeEncodeError):
        return USAGE
    problem = getattr(error, "problem", None)
    if problem is not None and problem.status in _UNAUTHORISED_STATUSES:
        return NOT_AUTHORISED
    code = getattr(error, "exit_code", FAILED)
    return code if isinstance(code, int) else FAILED
