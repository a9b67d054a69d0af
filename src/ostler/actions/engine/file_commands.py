"""The files through which a step tells the runner something: variables, outputs, state, search path, summary.

Each step gets fresh, empty files. ``NAME=value`` is a line; ``NAME<<DELIMITER`` begins a value of several lines that
ends at the line which is exactly the delimiter. Lines end with LF; a CR before it belongs to the value or to the
delimiter, as with GitHub on Linux and macOS.
"""

import os
import stat
from typing import Final, NamedTuple

LARGEST_FILE: Final = 16 << 20
LARGEST_SUMMARY: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"


class BadFile(Exception):
    """A file that a step wrote for the runner cannot be understood; the step fails, and the log says which line."""

    code = "file_command"


class Files(NamedTuple):
    """The paths of one step's files, by the names of their variables."""

    env: str
    output: str
    path: str
    state: str
    summary: str

    def variables(self) -> dict[str, str]:
        """Return the variables that name the files."""
        return {
            "GITHUB_ENV": self.env,
            "GITHUB_OUTPUT": self.output,
            "GITHUB_PATH": self.path,
            "GITHUB_STATE": self.state,
            "GITHUB_STEP_SUMMARY": self.summary,
        }


def make_files(folder: str, key: str) -> Files:
    """Make the files of one step, empty: clients refuse to write where there is none.

    The folder is made again if an earlier step deleted it.
    """
    os.makedirs(folder, 0o700, exist_ok=True)
    files = Files(*(f"{folder}/{name}-{key}" for name in Files._fields))
    for path in files:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return files


def read(path: str, limit: int = LARGEST_FILE) -> str:
    """Return what a step wrote; nothing if it deleted the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as reason:
        raise BadFile(f"{os.path.basename(path)} cannot be read: {reason.strerror}") from reason
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadFile("something else was put in the place of the file")
        size = status.st_size
        if size == 0:
            return ""
        if size > limit:
            raise BadFile(f"it holds {size} bytes and may hold {limit}")
        content = b""
        while len(content) <= limit and (piece := os.read(descriptor, limit + 1 - len(content))):
            content += piece
    finally:
        os.close(descriptor)
    return content.removeprefix(_BOM).decode("utf-8", "replace")


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the names and values of a file, in the order in which they were written."""
    found: list[tuple[str, str]] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if line in ("", "\r"):
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, delimiter = line[:heredoc], line[heredoc + 2 :]
            if not name or not delimiter:
                raise BadFile(f"{_invalid(line, index)}: a name before `<<` and a delimiter after it are needed")
            end = _end(lines, delimiter, index)
            found.append((name, "\n".join(lines[index:end])))
            index = end + 1
        elif equals > 0:
            found.append((line[:equals], line[equals + 1 :]))
        elif equals == 0:
            raise BadFile(f"{_invalid(line, index)}: there is no name before `=`")
        else:
            raise BadFile(f"{_invalid(line, index)}: it is neither `NAME=value` nor `NAME<<DELIMITER`")
    return found


def _end(lines: list[str], delimiter: str, begin: int) -> int:
    try:
        return lines.index(delimiter, begin)
    except ValueError:
        shown = _shown(delimiter)
        raise BadFile(f"Invalid value. Matching delimiter not found '{shown}' after line {begin}") from None


def _invalid(line: str, number: int) -> str:
    """Begin like GitHub's message, which people search for, and say where."""
    return f"Invalid format '{_shown(line)}' on line {number}"


def _shown(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "…"
