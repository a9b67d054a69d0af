"""Whether an event starts a workflow, by its type, its reference and its files."""

import pytest

from ostler.domain.machine import Refused
from ostler.workflow.filters import EventFilter, Happening, event_filter, keeps_out


def _filter(*, types: list[str] | None = None, **lists: list[str]) -> EventFilter:
    made = event_filter({key.replace("_", "-"): texts for key, texts in lists.items()}, types=types)
    assert isinstance(made, EventFilter)
    return made


def _push(ref: str, *files: str) -> Happening:
    return Happening(event="push", ref=ref, files=files)


def _pull(base: str, *files: str, type_: str = "opened") -> Happening:
    return Happening(event="pull_request", ref="refs/pull/1/merge", base=base, type=type_, files=files)


@pytest.mark.parametrize(
    ("filter_", "happening", "starts"),
    [
        (_filter(), _push("refs/heads/main", "a"), True),
        (_filter(), _push("refs/tags/v1"), True),
        (_filter(branches=["main", "releases/**"]), _push("refs/heads/releases/1/2"), True),
        (_filter(branches=["main"]), _push("refs/heads/other"), False),
        (_filter(branches=["main"]), _push("refs/tags/main"), False),
        (_filter(tags=["v*"]), _push("refs/tags/v1"), True),
        (_filter(tags=["v*"]), _push("refs/heads/v1"), False),
        (_filter(tags_ignore=["v*"]), _push("refs/heads/main"), False),
        (_filter(tags_ignore=["v*"]), _push("refs/tags/w1"), True),
        (_filter(branches=["main"], tags=["v*"]), _push("refs/tags/v1"), True),
        (_filter(branches_ignore=["mona/**"]), _push("refs/heads/mona/x"), False),
        (_filter(branches_ignore=["mona/**"]), _push("refs/heads/main"), True),
        (_filter(branches=["releases/**", "!releases/**-alpha"]), _push("refs/heads/releases/1-alpha"), False),
        (_filter(paths=["**.js"]), _push("refs/heads/main", "README.md", "a/b.js"), True),
        (_filter(paths=["**.js"]), _push("refs/heads/main", "README.md"), False),
        (_filter(paths=["sub/**", "!sub/docs/**"]), _push("refs/heads/main", "sub/docs/a"), False),
        (_filter(paths=["sub/**", "!sub/docs/**"]), _push("refs/heads/main", "sub/docs/a", "sub/b"), True),
        (_filter(paths_ignore=["docs/**"]), _push("refs/heads/main", "docs/a"), False),
        (_filter(paths_ignore=["docs/**"]), _push("refs/heads/main", "docs/a", "src/b"), True),
        (_filter(branches=["main"], paths=["**.js"]), _push("refs/heads/other", "a.js"), False),
        (_filter(branches=["main"], paths=["**.js"]), _push("refs/heads/main", "a.py"), False),
        (_filter(paths=["**.js"]), _push("refs/tags/v1", "a.py"), True),
        (_filter(paths=["**.js"]), Happening(event="push", ref="refs/heads/main", files=None), True),
        (_filter(), _pull("main"), True),
        (_filter(), _pull("main", type_="labeled"), False),
        (_filter(types=["labeled"]), _pull("main", type_="labeled"), True),
        (_filter(types=["labeled"]), _pull("main"), False),
        (_filter(branches=["main"]), _pull("other"), False),
        (_filter(branches_ignore=["main"]), _pull("other"), True),
        (_filter(paths=["a"]), _pull("main", "b"), False),
        (_filter(), Happening(event="issues", type="deleted"), True),
        (_filter(types=["opened"]), Happening(event="issues", type="deleted"), False),
        (_filter(workflows=["Build"]), Happening(event="workflow_run", workflow="Build", type="completed"), True),
        (_filter(workflows=["Build"]), Happening(event="workflow_run", workflow="Test"), False),
        (_filter(branches=["main"]), Happening(event="workflow_run", ref="refs/heads/other"), False),
    ],
)
def test_an_event_starts_a_workflow(filter_: EventFilter, happening: Happening, *, starts: bool) -> None:
    """Type, reference and files must all pass, and what keeps an event out is said."""
    assert (keeps_out(filter_, happening) == "") is starts


@pytest.mark.parametrize("key", ["branches", "tags", "paths"])
def test_a_list_and_its_opposite_exclude_each_other(key: str) -> None:
    """What is in and what is out cannot both be listed."""
    refusal = event_filter({key: ["a"], f"{key}-ignore": ["b"]})
    assert isinstance(refusal, Refused)
    assert refusal.code == "filters_exclude_each_other"


def test_a_malformed_pattern_is_refused() -> None:
    """The refusal of a pattern is the refusal of its filter."""
    refusal = event_filter({"paths": ["[a"]})
    assert isinstance(refusal, Refused)
    assert refusal.code == "pattern_malformed"


def test_patterns_that_only_take_out_let_nothing_in() -> None:
    """A workflow that says ``tags: ['!*']`` still runs for branches."""
    made = event_filter({"branches": ["main"], "tags": ["!*"]})
    assert isinstance(made, EventFilter)
    assert not keeps_out(made, Happening(event="push", ref="refs/heads/main"))
    assert keeps_out(made, Happening(event="push", ref="refs/tags/v1"))
