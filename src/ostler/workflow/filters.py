"""Whether an event starts a workflow: the filters below each event of ``on``.

A push must pass the filter of its kind of reference and the filter of its files. Filters of the other kind of reference
alone keep it out: a workflow that lists only tags does not run for branches. Files are not looked at for tags, and not
where the list of changed files is not known in full; then the workflow runs rather than not.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ostler.domain.machine import Refused
from ostler.workflow.patterns import Patterns, compile_patterns

_BRANCH = "refs/heads/"
_TAG = "refs/tags/"
_ONE_OF = (("branches", "branches-ignore"), ("tags", "tags-ignore"), ("paths", "paths-ignore"))

DEFAULT_TYPES = {
    "pull_request": ("opened", "synchronize", "reopened"),
    "pull_request_target": ("opened", "synchronize", "reopened"),
}
"""The events whose activity types are not all on when none are listed."""


class Selection(msgspec.Struct, frozen=True):
    """One list of patterns, and whether it names what is in or what is out."""

    patterns: Patterns
    ignores: bool

    def takes(self, name: str) -> bool:
        """Whether a name is in."""
        return self.patterns.match(name) is not self.ignores

    def takes_any(self, names: Iterable[str]) -> bool:
        """Whether at least one name is in."""
        return any(self.takes(name) for name in names)


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What one event of ``on`` lets in. What is missing lets everything in."""

    types: tuple[str, ...] | None = None
    branches: Selection | None = None
    tags: Selection | None = None
    paths: Selection | None = None
    workflows: Selection | None = None


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an event that happened."""

    event: str
    ref: str = ""
    """The full name of what was pushed, such as ``refs/heads/main``."""
    base: str = ""
    """The branch that a pull request asks to be merged into."""
    type: str = ""
    workflow: str = ""
    """The workflow that a ``workflow_run`` tells of."""
    files: Sequence[str] | None = None
    """The files that changed; None where they are not known in full."""


def event_filter(lists: dict[str, Sequence[str]], *, types: Sequence[str] | None = None) -> EventFilter | Refused:
    """Return the filter that these lists of patterns make, or what is wrong with them."""
    selections: dict[str, Selection] = {}
    for take, ignore in _ONE_OF:
        if take in lists and ignore in lists:
            return Refused(
                "filters_exclude_each_other",
                f"{take} and {ignore} cannot stand together; take names out with '!' patterns in {take}",
            )
    for key, texts in lists.items():
        ignores = key.endswith("-ignore")
        patterns = compile_patterns(texts)
        if isinstance(patterns, Refused) and patterns.code == "patterns_only_exclude":
            patterns = compile_patterns(())
        if isinstance(patterns, Refused):
            return patterns
        selections[key.removesuffix("-ignore")] = Selection(patterns, ignores)
    return EventFilter(
        types=None if types is None else tuple(types),
        branches=selections.get("branches"),
        tags=selections.get("tags"),
        paths=selections.get("paths"),
        workflows=selections.get("workflows"),
    )


def keeps_out(filter_: EventFilter, happening: Happening) -> str:
    """Return why the event does not start the workflow; nothing if it does."""
    return _type_keeps_out(filter_, happening) or _reference_keeps_out(filter_, happening) or _files(filter_, happening)


def _type_keeps_out(filter_: EventFilter, happening: Happening) -> str:
    types = filter_.types if filter_.types is not None else DEFAULT_TYPES.get(happening.event)
    if types is not None and happening.type not in types:
        return f"its type {happening.type or 'none'} is not one of {', '.join(types)}"
    if filter_.workflows is not None and not filter_.workflows.takes(happening.workflow):
        return f"it tells of the workflow {happening.workflow}, which is not listed"
    return ""


def _reference_keeps_out(filter_: EventFilter, happening: Happening) -> str:
    if happening.base or happening.event == "workflow_run":
        branch = happening.base or happening.ref.removeprefix(_BRANCH)
        if filter_.branches is not None and not filter_.branches.takes(branch):
            return f"the branch {branch} does not pass the filter of branches"
    elif happening.event == "push":
        return _push_keeps_out(filter_, happening.ref)
    return ""


def _push_keeps_out(filter_: EventFilter, ref: str) -> str:
    kinds = (("branch", "branches", _BRANCH, filter_.branches), ("tag", "tags", _TAG, filter_.tags))
    for kind, kinds_name, prefix, selection in kinds:
        if not ref.startswith(prefix):
            continue
        name = ref.removeprefix(prefix)
        if selection is None:
            if any(other is not None for _, _, _, other in kinds):
                return f"it pushed the {kind} {name}, and only the other kind of reference is listed"
        elif not selection.takes(name):
            return f"the {kind} {name} does not pass the filter of {kinds_name}"
    return ""


def _files(filter_: EventFilter, happening: Happening) -> str:
    if filter_.paths is None or happening.files is None or happening.ref.startswith(_TAG):
        return ""
    if filter_.paths.takes_any(happening.files):
        return ""
    return f"none of its {len(happening.files)} changed files passes the filter of paths"
