"""The events below ``on`` and their filters."""

from typing import Final

from ostler.workflow.language.scopes import CALL_OUTPUT, WORKFLOW
from ostler.workflow.language.shapes import (
    FILLED,
    FILLED_OR_LIST,
    SCALAR,
    TEXT,
    Flag,
    Key,
    ListOf,
    Null,
    Shape,
    Table,
    Text,
    either,
    optional,
)

_PULL_REQUEST: Final = (
    "assigned unassigned labeled unlabeled opened edited closed reopened synchronize converted_to_draft locked "
    "unlocked enqueued dequeued milestoned demilestoned ready_for_review review_requested review_request_removed "
    "auto_merge_enabled auto_merge_disabled stacked"
)
_ISSUES: Final = (
    "opened edited deleted transferred pinned unpinned closed reopened assigned unassigned labeled unlabeled locked "
    "unlocked milestoned demilestoned field_added field_removed typed untyped"
)
_DISCUSSION: Final = (
    "created edited deleted transferred pinned unpinned labeled unlabeled locked unlocked category_changed answered "
    "unanswered"
)
ACTIVITY_TYPES: Final[dict[str, tuple[str, ...]]] = {
    event: tuple(types.split())
    for event, types in {
        "branch_protection_rule": "created edited deleted",
        "check_run": "completed created rerequested requested_action",
        "check_suite": "completed",
        "create": "",
        "delete": "",
        "deployment": "",
        "deployment_status": "",
        "discussion": _DISCUSSION,
        "discussion_comment": "created edited deleted",
        "fork": "",
        "gollum": "",
        "image_version": "created ready deleted",
        "issue_comment": "created edited deleted",
        "issues": _ISSUES,
        "label": "created edited deleted",
        "merge_group": "checks_requested",
        "milestone": "created closed opened edited deleted",
        "page_build": "",
        "project": "created closed reopened edited deleted",
        "project_card": "created moved converted edited deleted",
        "project_column": "created updated moved deleted",
        "public": "",
        "pull_request": _PULL_REQUEST,
        "pull_request_comment": "created edited deleted",
        "pull_request_review": "submitted edited dismissed",
        "pull_request_review_comment": "created edited deleted",
        "pull_request_target": _PULL_REQUEST,
        "push": "",
        "registry_package": "published updated",
        "release": "published unpublished created edited deleted prereleased released",
        "status": "",
        "watch": "started",
        "workflow_run": "requested completed in_progress",
    }.items()
}
"""The activity types of each event that comes from a forge; none where an event has only one."""

_LIST: Final = either(FILLED, ListOf(item=FILLED), Null())
"""Patterns. Nothing below the key is as if the key were not there."""
_BRANCHES: Final = {
    "branches": Key(_LIST, "Patterns of branches that count."),
    "branches-ignore": Key(_LIST, "Patterns of branches that do not count."),
}
_TAGS: Final = {
    "tags": Key(_LIST, "Patterns of tags that count."),
    "tags-ignore": Key(_LIST, "Patterns of tags that do not count."),
}
_PATHS: Final = {
    "paths": Key(_LIST, "Patterns of files; one of the changed files must match."),
    "paths-ignore": Key(_LIST, "Patterns of files that do not count as changes."),
}
_FILTERS: Final[dict[str, dict[str, Key]]] = {
    "push": _BRANCHES | _TAGS | _PATHS,
    "pull_request": _BRANCHES | _PATHS,
    "pull_request_target": _BRANCHES | _PATHS,
    "merge_group": _BRANCHES,
    "workflow_run": {"workflows": Key(FILLED_OR_LIST, "Names of the workflows to wait for."), **_BRANCHES},
    "image_version": {
        "names": Key(FILLED_OR_LIST, "Patterns of image names."),
        "versions": Key(FILLED_OR_LIST, "Patterns of image versions."),
    },
}

_IDLE: Final = (*_BRANCHES, *_TAGS, *_PATHS, "types")
"""GitHub takes every filter below every event, and ignores those that the event does not know."""

_DESCRIPTION: Final = Key(TEXT, "What it is for, shown to people.")
_REQUIRED: Final = Key(Flag(), "Whether it must be given.")
CALL_TYPES: Final = ("string", "boolean", "number")
DISPATCH_TYPES: Final = (*CALL_TYPES, "choice", "environment")

_CALL_INPUT: Final = Table(
    noun="an input of `workflow_call`",
    keys={
        "description": _DESCRIPTION,
        "type": Key(Text(choices=CALL_TYPES), "The type of its value.", required=True),
        "required": _REQUIRED,
        "default": Key(either(*SCALAR.shapes, scope=WORKFLOW), "Its value where none is given."),
    },
)
_DISPATCH_INPUT: Final = Table(
    noun="an input of `workflow_dispatch`",
    keys={
        "description": _DESCRIPTION,
        "type": Key(Text(choices=DISPATCH_TYPES), "The type of its value; text where it is missing."),
        "required": _REQUIRED,
        "default": Key(SCALAR, "Its value where none is given."),
        "options": Key(ListOf(item=TEXT), "What can be chosen, for the type `choice`."),
    },
)
_SECRET: Final = Table(noun="a secret of `workflow_call`", keys={"description": _DESCRIPTION, "required": _REQUIRED})
_OUTPUT: Final = Table(
    noun="an output of `workflow_call`",
    keys={
        "description": _DESCRIPTION,
        "value": Key(Text(scope=CALL_OUTPUT), "A template over the outputs of `jobs`.", required=True),
    },
)
_CALL: Final = Table(
    noun="`workflow_call`",
    keys={
        "inputs": Key(Table(noun="`inputs`", others=_CALL_INPUT), "What callers pass with `with`."),
        "secrets": Key(Table(noun="`secrets`", others=optional(_SECRET)), "Secrets that callers pass."),
        "outputs": Key(Table(noun="`outputs`", others=_OUTPUT), "What callers read from `needs`."),
    },
)
_DISPATCH: Final = Table(
    noun="`workflow_dispatch`",
    keys={"inputs": Key(Table(noun="`inputs`", others=_DISPATCH_INPUT), "What is asked for at start.")},
    idle=_IDLE,
)
_SCHEDULE: Final = ListOf(
    item=Table(
        noun="an entry of `schedule`",
        keys={
            "cron": Key(FILLED, "Minute, hour, day of month, month and day of week.", required=True),
            "timezone": Key(FILLED, "The time zone of the times, such as `Europe/Rome`; UTC where it is missing."),
        },
    )
)


def _forge_event(event: str, types: tuple[str, ...]) -> Shape:
    keys = dict(_FILTERS.get(event, {}))
    if types:
        choice = Text(choices=types)
        keys["types"] = Key(either(choice, ListOf(item=choice)), "Activity types that count.")
    return optional(Table(noun=f"`{event}`", keys=keys, idle=_IDLE))


EVENTS: Final[dict[str, Key]] = {
    **{event: Key(_forge_event(event, types)) for event, types in ACTIVITY_TYPES.items()},
    "repository_dispatch": Key(
        optional(Table(noun="`repository_dispatch`", keys={"types": Key(ListOf(item=FILLED), "Types that count.")})),
        "Asked for from outside through the API, with a type and a payload of its own.",
    ),
    "schedule": Key(_SCHEDULE, "At times."),
    "workflow_call": Key(optional(_CALL), "Called by a job of another workflow."),
    "workflow_dispatch": Key(optional(_DISPATCH), "Started by hand."),
}
"""Every event, with what may stand below it."""

_EVENT: Final = Text(choices=tuple(EVENTS))
ON: Final = either(_EVENT, ListOf(item=_EVENT, filled=True), Table(noun="`on`", keys=EVENTS, filled=True))


def filters_of(event: str) -> tuple[str, ...]:
    """Return the filters that an event knows; GitHub ignores any other one."""
    typed = ("types",) if ACTIVITY_TYPES.get(event) or event == "repository_dispatch" else ()
    return (*_FILTERS.get(event, ()), *typed)
