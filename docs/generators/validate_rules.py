"""The page of the checker's rules: each with what it says, and an example that the tests run."""

import textwrap
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from ostler.workflow.rules import RULES

EXAMPLES: Final = Path(__file__).parents[1] / "validate-rules.toml"
_STEP: Final = "build:\n  runs-on: ubuntu-latest\n  steps:\n    - run: make\n"


class Example(msgspec.Struct, forbid_unknown_fields=True):
    """What breaks a rule: a whole file or a part of one."""

    file: str = ""
    on: str = ""
    jobs: str = ""
    job: str = ""
    steps: str = ""
    action: str = ""
    other: str = ""
    encoding: str = "utf-8"
    long: int = 0
    count: int = 0

    @property
    def shown(self) -> str:
        """The part that matters."""
        return self.file or self.on or self.jobs or self.job or self.steps or self.action

    def content(self) -> bytes:
        """The whole file, with LONG and COUNT filled in."""
        steps = f"build:\n  runs-on: ubuntu-latest\n  steps:\n{_below(self.steps, 4)}" if self.steps else _STEP
        jobs = self.jobs or (f"build:\n{_below(self.job, 2)}" if self.job else steps)
        on = f"on:\n{_below(self.on, 2)}" if self.on else "on: push\n"
        text = self.file or self.action or f"{on}jobs:\n{_below(jobs, 2)}"
        if self.count:
            line = next(line for line in text.splitlines(keepends=True) if "COUNT" in line)
            text = text.replace(line, "".join(line.replace("COUNT", str(at)) for at in range(self.count)))
        return text.replace("LONG", "x" * self.long).encode(self.encoding)


def _below(text: str, columns: int) -> str:
    return textwrap.indent(text, " " * columns)


def examples() -> dict[str, Example]:
    """Every example by the name of its rule."""
    return msgspec.convert(tomllib.loads(EXAMPLES.read_text(encoding="utf-8")), dict[str, Example])


def page() -> str:
    """The whole page."""
    lines = [
        "# Rules of validate",
        "",
        "What [`ostler validate`](../how-to/check-workflows.md) can find, by the name that stands in brackets after",
        "each finding. An *error* is what GitHub refuses too, or what cannot work; a *warning* is a mistake that does",
        "not keep the file from running; a *hint* may be meant as it is. Errors and warnings make `ostler validate`",
        "exit with 1; hints do so with `--strict` only.",
    ]
    for name, example in examples().items():
        lines += ["", f"## {name}", "", RULES[name]]
        if example.long or example.encoding != "utf-8":
            continue
        lines += ["", "```yaml", example.shown.strip("\n"), "```"]
        if example.other:
            lines += ["", "where `.github/workflows/other.yml` is", "", "```yaml", example.other.strip("\n"), "```"]
    return "\n".join(lines) + "\n"
