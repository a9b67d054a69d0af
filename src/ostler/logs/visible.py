"""Makes a line of output safe to show: what a terminal would obey becomes something that a reader sees.

Why: output is written by strangers. A title that moves the cursor, a link that hides its address, or a letter that
turns the reading direction can make a log or an audit record say what never happened. Nothing is lost by showing:
the stored log and its raw download keep every byte.

- Colours and styles (SGR) may be kept, for the page turns them into styles of its own. All other control sequences,
  titles and links are dropped; a link's text stays.
- A carriage return inside a line is a progress bar: a terminal shows what was written last, so `for_page` and `plain`
  show the last part that is not empty. A record is no terminal: `for_record` shows the return itself.
- Other control characters become their pictures (`␀`), and characters that change the direction or break a line without
  being newlines become their number (`⟨U+202E⟩`).

Escaping for HTML is the template's business, and text nodes' in the browser.
"""

from __future__ import annotations

import re

_CSI = r"\x1b\[[0-?]{0,61}[ -/]{0,61}[@-~]"
_STRING = r"\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"
_SHORT = r"\x1b[ -/]{1,3}[0-~]|\x1b[78=>cDEHMNOZ]"
_SEQUENCE = re.compile(f"{_CSI}|{_STRING}|{_SHORT}|\x1b")
_SEQUENCE_IN_BYTES = re.compile(f"{_CSI}|{_STRING}|{_SHORT}".encode("ascii"))
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_UNSAFE = (
    "\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f"
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"
)
_UNSAFE_CHARACTER = re.compile(f"[{_UNSAFE}]")
_ANYTHING_UNSAFE = re.compile(f"[\x1b{_UNSAFE}]")
_ESCAPE_PICTURE = "\u241b"


def for_page(line: bytes) -> str:
    """A log line for a page: as a terminal would leave it, colours kept."""
    return _show(_settle(line.decode("utf-8", "replace")), styles=True)


def plain(line: bytes) -> str:
    """A log line as text only."""
    return _show(_settle(line.decode("utf-8", "replace")), styles=False)


def for_record(text: str) -> str:
    """A value from outside in a structured record or a message: one line, nothing hidden, nothing obeyed."""
    return _show(text, styles=False)


def without_sequences(text: bytes) -> bytes:
    """Many lines without any control sequence; newlines are never part of one."""
    return _SEQUENCE_IN_BYTES.sub(b"", text) if b"\x1b" in text else text


def _settle(line: str) -> str:
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")


def _show(text: str, *, styles: bool) -> str:
    if not _ANYTHING_UNSAFE.search(text):
        return text
    if "\x1b" in text:
        # One pass, so that what stands around a dropped sequence cannot become a new one.
        text = _SEQUENCE.sub(_kept_style if styles else _no_style, text)
    return _UNSAFE_CHARACTER.sub(_number_or_picture, text)


def _kept_style(found: re.Match[str]) -> str:
    sequence = found[0]
    return sequence if _STYLE.fullmatch(sequence) else _no_style(found)


def _no_style(found: re.Match[str]) -> str:
    return _ESCAPE_PICTURE if found[0] == "\x1b" else ""


def _number_or_picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u27e8U+{code:04X}\u27e9"
