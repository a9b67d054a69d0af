"""``action.yml``: ``using`` fits what is below ``runs``, and outputs of composite actions have a value."""

from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.findings import Finding

_NEEDS: Final = {"composite": "steps", "docker": "image"}
_RETIRED: Final = ("node12", "node16")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the metadata of an action."""
    if sheet.kind != "action" or not sheet.root.entries:
        return
    missing = [key for key in ("name", "description") if sheet.root.get(key) is None]
    if missing:
        message = f"this action has no {' and no '.join(map(repr, missing))}"
        fix = "Add it: people and other tools look for it."
        yield Finding("action-description", message, sheet.root.entries[0].key.span, fix, "warning")
    runs = sheet.root.get("runs")
    node = plain.get(runs, "using")
    using = literal(node)
    if node is None or not using:
        return
    needed = _NEEDS.get(using, "main")
    if plain.get(runs, needed) is None:
        message = f"`using: {using}` needs the key {needed!r} beside it"
        yield Finding("action-using", message, node.span, f"Add `{needed}:`, or change `using`.")
    if using in _RETIRED:
        message = f"{using} is no longer supported at GitHub, which takes a newer Node instead"
        yield Finding("action-node", message, node.span, "Write 'node24'.", "hint")
    if using != "composite":
        return
    for entry in plain.entries(sheet.root.get("outputs")):
        if plain.get(entry.value, "value") is None:
            message = f"the output {entry.key.text!r} of a composite action has no value"
            fix = "Add `value: ${{ steps.<id>.outputs.<name> }}`."
            yield Finding("action-output", message, entry.key.span, fix)
