"""Version 1 of the protocol only grows: the golden surface, and the judge that compares with it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.protocol.compatibility import Difference, differences
from tests.contract.protocol.surface import golden, surface

JsonObject = dict[str, Any]
REFRESH = ".venv/bin/python -m tests.contract.protocol.refresh"


def test_nothing_that_others_rely_on_has_changed() -> None:
    broken = [found.text for found in differences(golden(), surface()) if found.incompatible]
    assert not broken, "version 1 of the protocol only grows; these changes need a new version:\n" + "\n".join(broken)


def test_the_golden_surface_is_current() -> None:
    added = [found.text for found in differences(golden(), surface()) if not found.incompatible]
    assert not added, "additions to the protocol; record them with `" + REFRESH + "`:\n" + "\n".join(added)
    assert golden() == surface(), f"the golden surface is written differently; run `{REFRESH}`"


def changed(change: Callable[[JsonObject], object]) -> list[Difference]:
    new = copy.deepcopy(surface())
    change(new)
    return differences(surface(), new)


def fields(surface: JsonObject, message: str) -> JsonObject:
    return surface["messages"][message]["properties"]


BREAKING: dict[str, Callable[[JsonObject], object]] = {
    "field ClaimRequest.slots removed": lambda new: fields(new, "ClaimRequest").pop("slots"),
    "field JobView.state: type changed": lambda new: fields(new, "JobView").update(state={"type": "string"}),
    "field TokenReply.access_token: type changed": lambda new: fields(new, "TokenReply").update(
        access_token={"type": "integer"}
    ),
    "required field ClaimRequest.region added": lambda new: (
        fields(new, "ClaimRequest").update(region={"type": "string"}),
        new["messages"]["ClaimRequest"]["required"].append("region"),
    ),
    "field FinishRequest.exit_code became required": lambda new: new["messages"]["FinishRequest"]["required"].append(
        "exit_code"
    ),
    "field ClaimReply.retry_after_ms: default changed": lambda new: fields(new, "ClaimReply")["retry_after_ms"].update(
        default=0
    ),
    "field CancelRequest.reason: limits changed": lambda new: fields(new, "CancelRequest")["reason"].update(
        maxLength=9
    ),
    "field Directive.action: value 'pause' added": lambda new: fields(new, "Directive")["action"]["enum"].append(
        "pause"
    ),
    "JobState: value 'paused' added": lambda new: new["messages"]["JobState"]["enum"].append("paused"),
    "Slot: value 'primary' removed": lambda new: new["messages"]["Slot"]["enum"].remove("primary"),
    "message Limits removed": lambda new: new["messages"].pop("Limits"),
    "endpoint start removed": lambda new: new["endpoints"].pop("start"),
    "endpoint enrol: status changed from 201 to 200": lambda new: new["endpoints"]["enrol"].update(status=200),
    "endpoint enrol: path changed": lambda new: new["endpoints"]["enrol"].update(path="/agent/v1/enrol"),
    "endpoint get_run: auth changed": lambda new: new["endpoints"]["get_run"].update(auth="operator"),
    "endpoint finish: retryable changed to False": lambda new: new["endpoints"]["finish"].update(retryable=False),
    "endpoint submit_run: body_limit changed": lambda new: new["endpoints"]["submit_run"].update(body_limit=10),
    "endpoint list_runs: query changed": lambda new: new["endpoints"]["list_runs"].update(query=""),
    "problem stale_fence removed": lambda new: new["problems"].pop("stale_fence"),
    "problem stale_fence: status changed from 409 to 410": lambda new: new["problems"].update(stale_fence=410),
}

ADDITIVE: dict[str, Callable[[JsonObject], object]] = {
    "field ClaimRequest.region added": lambda new: fields(new, "ClaimRequest").update(
        region={"type": "string", "default": ""}
    ),
    "field CancelRequest.reason: limits widened": lambda new: fields(new, "CancelRequest")["reason"].update(
        maxLength=5000
    ),
    "field AdmissionRequest.decision: value 'restart' added": lambda new: fields(new, "AdmissionRequest")["decision"][
        "enum"
    ].append("restart"),
    "message Region added": lambda new: new["messages"].update(Region={"enum": ["eu"]}),
    "endpoint regions added": lambda new: new["endpoints"].update(regions=new["endpoints"]["queue"]),
    "endpoint queue: its list of problems changed": lambda new: new["endpoints"]["queue"]["problems"].append("x"),
    "endpoint submit_run: body_limit changed": lambda new: new["endpoints"]["submit_run"].update(body_limit=2**40),
    "problem region_closed added": lambda new: new["problems"].update(region_closed=409),
}


@pytest.mark.parametrize("expected", BREAKING)
def test_what_breaks_others_is_named(expected: str) -> None:
    found = changed(BREAKING[expected])
    assert found
    assert found[0].incompatible
    assert found[0].text.startswith(expected)


@pytest.mark.parametrize("expected", ADDITIVE)
def test_what_only_adds_is_named_and_allowed(expected: str) -> None:
    assert [(found.incompatible, found.text.partition(" from ")[0]) for found in changed(ADDITIVE[expected])] == [
        (False, expected)
    ]


def test_the_same_surface_has_no_differences() -> None:
    assert differences(surface(), surface()) == []
