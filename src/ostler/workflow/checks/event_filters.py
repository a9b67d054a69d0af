"""The filters below events: patterns that are well-formed and can match, and no two that exclude each other."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.domain.machine import Refused
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, singles
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import Entry, ScalarNode
from ostler.workflow.patterns import compile_pattern

_PAIRS: Final = ("branches", "tags", "paths")
_PREFIXES: Final = {"branches": "refs/heads/", "tags": "refs/tags/"}
_NEVER_IN_A_REFERENCE: Final = re.compile(r"[ ~^:]|\.\.|//|@\{")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the filters of every event."""
    for event in plain.entries(sheet.root.get("on")):
        for kind in _PAIRS:
            take, ignore = plain.get(event.value, kind), _entry(event, f"{kind}-ignore")
            for entry in (_entry(event, kind), ignore):
                if entry is not None and not singles(entry.value):
                    message = f"{entry.key.text!r} lists nothing, as if it were not there"
                    yield Finding("filter-empty", message, entry.key.span, "Remove it, or list patterns.", "warning")
            if take is not None and ignore is not None:
                message = f"{kind!r} and '{kind}-ignore' cannot stand together"
                fix = f"Take names out with '!' patterns in {kind!r}."
                yield Finding("filter-conflict", message, ignore.key.span, fix)
            for key in (kind, f"{kind}-ignore"):
                yield from _patterns(event, key, singles(plain.get(event.value, key)))
        for key in ("workflows", "names", "versions"):
            yield from _patterns(event, key, singles(plain.get(event.value, key)))
        if event.key.text == "workflow_run" and plain.get(event.value, "workflows") is None:
            message = "`workflow_run` names no workflow, so it never happens"
            yield Finding("filter-never", message, event.key.span, "List names below `workflows`.", "warning")


def _entry(event: Entry, key: str) -> Entry | None:
    return next((entry for entry in plain.entries(event.value) if entry.key.text == key), None)


def _patterns(event: Entry, key: str, nodes: tuple[ScalarNode, ...]) -> Iterator[Finding]:
    positive, kind = False, key.removesuffix("-ignore")
    for node in nodes:
        text = plain.text(node)
        pattern = compile_pattern(text)
        if isinstance(pattern, Refused):
            yield Finding("filter-pattern", pattern.reason, node.span, "Write '\\' before a character to mean itself.")
        elif why := _never(kind, text.removeprefix("!")):
            yield Finding("filter-never", why[0], node.span, why[1], "warning")
        positive = positive or isinstance(pattern, Refused) or not pattern.excludes
    if nodes and not positive and not key.endswith("-ignore"):
        message = f"{key!r} takes out only, so nothing is ever in"
        fix = "Put a pattern without '!' before it, such as '**'."
        other = {"tags": "branches", "branches": "tags"}.get(key, "")
        meant = plain.get(event.value, other) is not None
        yield Finding("filter-only-excludes", message, nodes[0].span, fix, "hint" if meant else "warning")


def _never(kind: str, text: str) -> tuple[str, str] | None:
    """Return why no name can ever match, and the way out."""
    prefix = _PREFIXES.get(kind)
    if prefix is not None and text.startswith(prefix):
        return f"names are compared without {prefix!r}, so this never matches", f"Write {text.removeprefix(prefix)!r}."
    if prefix is not None and text.startswith("refs/"):
        return f"{kind} are compared by their short names, so this never matches", "Leave 'refs/…/' out."
    if prefix is not None and (found := _NEVER_IN_A_REFERENCE.search(text)):
        return f"no name of {kind} holds {found[0]!r}, so this never matches", ""
    if kind == "paths" and text.startswith(("./", "/", "../")):
        return "paths begin at the top of the repository, so this never matches", f"Write {text.lstrip('./')!r}."
    if text != text.strip():
        return "no name begins or ends with a blank, so this never matches", f"Write {text.strip()!r}."
    return None
