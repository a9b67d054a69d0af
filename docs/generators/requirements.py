"""The page of requirements: each row of the acceptance table with the tests or pages that prove it.

The rows are in ``docs/requirements.toml``, where a proof is added together with the test that is one.
"""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

SOURCE: Final = Path(__file__).parents[1] / "requirements.toml"

_HEAD = """\
# Requirements

What is required of the runner platform so far, and what proves it. A proof is a test, as pytest names it, or a page. †
marks a part that was derived so that a stated rule can be tested; `...` in the name of a variable stands for
`OSTLER_AGENT`. A note of ours is in italics. Where operations of an infrastructure engine are named, they are proven as
far as jobs carry them.

"""


class Row(msgspec.Struct, frozen=True):
    """One requirement."""

    number: int
    text: str
    proofs: list[str]
    note: str = ""
    """What it does not cover yet, or means here."""


class Section(msgspec.Struct, frozen=True):
    """Requirements about one thing."""

    title: str
    row: list[Row]


def sections() -> list[Section]:
    """Everything in the file."""
    return msgspec.convert(tomllib.loads(SOURCE.read_text(encoding="utf-8"))["section"], list[Section])


def page() -> str:
    """The whole page."""
    lines: list[str] = []
    for section in sections():
        lines += [f"## {section.title}", "", "| # | Requirement | Proof |", "| ---: | --- | --- |"]
        lines += [f"| {row.number} | {_cell(_text(row))} | {_proofs(row)} |" for row in section.row]
        lines.append("")
    return _HEAD + "\n".join(lines).rstrip() + "\n"


def _text(row: Row) -> str:
    return f"{row.text} *{row.note}*" if row.note else row.text


def _proofs(row: Row) -> str:
    return "<br>".join(_proof(proof) for proof in row.proofs) or "none yet"


def _proof(proof: str) -> str:
    if proof.endswith(".md"):
        return f"[{proof}](../{proof.removeprefix('docs/')})"
    return f"`{proof}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
