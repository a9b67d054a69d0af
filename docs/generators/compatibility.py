"""The page that lists every part of the workflow language with what Ostler makes of it.

The parts come from the tables that the program runs on; what is not simply "works" is written in
docs/compatibility.toml.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ostler.actions.engine.commands import NAMES
from ostler.expr.functions import SIGNATURES
from ostler.workflow.language.contexts import CONTEXTS
from ostler.workflow.language.events import ACTIVITY_TYPES, EVENTS
from ostler.workflow.language.jobs import SCOPES_OF_PERMISSION
from ostler.workflow.language.metadata import METADATA
from ostler.workflow.language.root import ROOT
from ostler.workflow.language.shapes import Either, ListOf, Shape, Table, Variants
from ostler.workflow.language.variables import DEFAULT_VARIABLES

STATES: Final = Path(__file__).parents[1] / "compatibility.toml"
_INHERITED: Final = ("refused", "no effect")
"""What is true of all keys below one."""
_OWN_EVENTS: Final = ("workflow_dispatch", "workflow_call", "schedule", "push", "workflow_run")
"""The events whose keys are listed; those of the others are among them."""
GROUPS: Final = ("workflow", "action", "event", "context", "command")

_COMMANDS: Final = {
    "add-mask": "Hides a value in all that follows.",
    "add-matcher": "Finds problems in the output by a matcher of a file.",
    "add-path": "Adds a folder to the search path.",
    "debug": "A line that is shown when debugging is on.",
    "echo": "Whether commands are shown.",
    "endgroup": "Ends a group of lines.",
    "error": "An annotation; `file`, `line`, `endLine`, `col`, `endColumn`, `title`.",
    "group": "Begins a group of lines.",
    "notice": "An annotation, as `error`.",
    "remove-matcher": "Forgets a matcher by its owner.",
    "save-state": "Passes a value from `main` to `post`.",
    "set-env": "Sets a variable.",
    "set-output": "Sets an output.",
    "stop-commands": "Takes commands for plain lines, up to `::token::`.",
    "warning": "An annotation, as `error`.",
}
_FUNCTIONS: Final = {
    "contains": "Whether a text holds another one, or a list an item.",
    "startswith": "Whether a text begins with another one.",
    "endswith": "Whether a text ends with another one.",
    "format": "Fills values into `{0}`, `{1}` …",
    "join": "Puts the items of a list together.",
    "tojson": "A value as JSON.",
    "fromjson": "The value of JSON.",
    "hashfiles": "The SHA-256 of all files that match patterns.",
    "case": "The value behind the first condition that holds.",
    "always": "True.",
    "success": "Whether all before went well.",
    "failure": "Whether something before failed.",
    "cancelled": "Whether the run was cancelled.",
}
_FILES: Final = {
    "GITHUB_ENV": "Variables of later steps; `NODE_OPTIONS` and `LD_PRELOAD` and their like are refused.",
    "GITHUB_OUTPUT": "Outputs of the step.",
    "GITHUB_PATH": "Folders to search programs in.",
    "GITHUB_STATE": "What `main` passes on to `post`.",
    "GITHUB_STEP_SUMMARY": "Markdown, shown with the run: up to 1 MiB a step.",
}
_SHELLS: Final = {
    "bash": "`bash --noprofile --norc -e -o pipefail {0}`; where no shell is named `bash -e {0}`, or `sh -e {0}`.",
    "sh": "`sh -e {0}`",
    "pwsh": "With `$ErrorActionPreference = 'stop'`, and the last exit code.",
    "python": "`python {0}`, or `python3`.",
    "node": "`node {0}`. GitHub has no such shell.",
    "powershell, cmd": "Refused: there are no runners on Windows.",
    "any command with `{0}`": "`{0}` is the file of the script.",
}
_FURTHER: Final = (
    "Workflows may be in `.ostler/workflows` or any folder that the repository is set to, and reusable ones anywhere.",
    "A matrix may make more than 256 jobs, a workflow may have more than 25 inputs, and schedules may be denser.",
    "Timeouts may be fractions of a minute.",
    "`shell: node` is known.",
    "A job may ask for the concurrency group of its own run; it does not wait for itself.",
    "Annotations and summaries are kept without the limits on their number.",
    "`actions/checkout`, `upload-artifact`, `download-artifact` and `cache` need neither Node nor a network.",
    "A lock file pins actions by the digest of their content, and a moved tag is refused.",
    "The same engine runs workflows on a laptop, without a server: `ostler run`.",
    "What is wrong in a file is told before it runs, with its place and the way out: `ostler validate`.",
)
_DIFFERENT: Final = (
    "There are no runners on Windows, so the shells `cmd` and `powershell` are refused.",
    "`container`, `services` and Docker actions need a docker executor, and are refused clearly without one.",
    "`permissions` make no token of a forge; give the repository a secret `GITHUB_TOKEN` for steps that call its API.",
    "Environments have no protection rules and no secrets of their own.",
    "Files are at most 1 MiB, nested 100 deep, and stand for 500,000 values when aliases are written out.",
    "YAML merge keys (`<<`) are refused, as at GitHub; anchors and aliases work.",
)


class Row(NamedTuple):
    """One part of the language."""

    name: str
    state: str
    note: str


def exceptions() -> dict[str, dict[str, tuple[str, str]]]:
    """What docs/compatibility.toml says, by group and name."""
    return msgspec.convert(tomllib.loads(STATES.read_text(encoding="utf-8")), dict[str, dict[str, tuple[str, str]]])


def rows() -> dict[str, list[Row]]:
    """Every part, by group."""
    said = exceptions()
    return {
        "workflow": [_row(said["workflow"], path, doc) for path, doc in _keys(ROOT, "") if not path.startswith("on.")]
        + [_row(said["workflow"], path, doc) for path, doc in _keys(ROOT, "") if _of_own_event(path)],
        "action": [_row(said["action"], path, doc) for path, doc in _keys(METADATA, "")],
        "event": [_event(said["event"], event) for event in EVENTS],
        "context": [
            _row(said["context"], name, doc)
            for context, (about, properties) in CONTEXTS.items()
            for name, doc in (
                (context, about),
                *((_property(context, each), known.doc) for each, known in properties.items()),
            )
        ],
        "command": [_row(said["command"], name, _COMMANDS[name]) for name in sorted(NAMES)],
    }


def _row(said: dict[str, tuple[str, str]], name: str, doc: str) -> Row:
    state, note = said.get(name, ("works", ""))
    for above, (inherited, _) in said.items():
        if name.startswith(f"{above}.") and inherited in _INHERITED and name not in said:
            state = inherited
    return Row(name, state, " ".join(filter(None, (doc, note))))


def _event(said: dict[str, tuple[str, str]], event: str) -> Row:
    state, note = said.get(event, ("works", ""))
    types = ", ".join(f"`{each}`" for each in ACTIVITY_TYPES.get(event, ()))
    return Row(event, state, " ".join(filter(None, (f"Types: {types}." if types else "", note))))


def _property(context: str, name: str) -> str:
    return f"{context}.*.{name}" if context in ("steps", "needs", "jobs") else f"{context}.{name}"


def _of_own_event(path: str) -> bool:
    return path.startswith(tuple(f"on.{event}." for event in _OWN_EVENTS))


def _keys(shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    """Yield every key below a shape with what it says, each path once."""
    seen: set[str] = set()
    for name, doc in _walk(shape, path):
        if name not in seen and ".parallel.*" not in name:
            seen.add(name)
            yield name, doc


def _walk(shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    match shape:
        case Either():
            for each in shape.shapes:
                yield from _walk(each, path)
        case Variants():
            for variant in shape.variants:
                yield from _walk(variant.table, path)
            if shape.otherwise is not None:
                yield from _walk(shape.otherwise, path)
        case ListOf():
            yield from _walk(shape.item, f"{path}.*")
        case Table():
            for name, key in () if shape.noun == "`permissions`" else shape.keys.items():
                below = f"{path}.{name}".removeprefix(".")
                yield below, key.doc
                yield from _walk(key.shape, below)
            if shape.others is not None:
                yield from _walk(shape.others, f"{path}.*")
        case _:
            return


def _table(heading: str, entries: list[Row]) -> list[str]:
    lines = [f"| {heading} | State | |", "| --- | --- | --- |"]
    return [*lines, *(f"| `{row.name}` | {row.state} | {row.note} |" for row in entries)]


def _plain_table(heading: str, entries: dict[str, str]) -> list[str]:
    return _table(heading, [Row(name, "works", doc) for name, doc in entries.items()])


def page() -> str:
    """The whole page."""
    groups = rows()
    functions = {f"{signature.name}": _FUNCTIONS[key] for key, signature in SIGNATURES.items()}
    shells = [Row(name, "refused" if name.startswith("power") else "works", doc) for name, doc in _SHELLS.items()]
    shells = [row._replace(state="further") if row.name == "node" else row for row in shells]
    lines = [
        "# Compatibility",
        "",
        "Every documented part of GitHub's workflow language, and what Ostler makes of it. *Works*: as documented",
        "there. *No effect*: accepted, and nothing follows from it. *Refused*: with a clear message. *Further*: it",
        "works, and Ostler allows more. `*` stands for names that you choose and for items of lists.",
        "",
        "## Where Ostler goes further",
        "",
        *(f"- {text}" for text in _FURTHER),
        "",
        "## Where Ostler differs",
        "",
        *(f"- {text}" for text in _DIFFERENT),
        *("", "## Keys of a workflow", "", *_table("Key", groups["workflow"])),
        *("", "Scopes of `permissions`: " + ", ".join(f"`{scope}`" for scope in SCOPES_OF_PERMISSION) + "."),
        *("", "## Keys of an action", "", *_table("Key", groups["action"])),
        *("", "## Events", "", *_table("Event", groups["event"])),
        *("", "## Contexts", "", *_table("Property", groups["context"])),
        *("", "## Functions", "", *_plain_table("Function", functions)),
        *("", "## Shells", "", *_table("Shell", shells)),
        *("", "## Workflow commands", "", *_table("Command", groups["command"])),
        *("", "## Environment files", "", *_plain_table("File", _FILES)),
        *("", "## Default variables", "", *_plain_table("Variable", DEFAULT_VARIABLES)),
    ]
    return "\n".join(lines) + "\n"
