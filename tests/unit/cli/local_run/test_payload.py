from pathlib import Path
from typing import Any

import pytest

from ostler.cli.local_run.payload import make_payload
from ostler.cli.local_run.working_tree import NO_COMMIT, Commit, Person, WorkingTree
from ostler.workflow.language.events import ACTIVITY_TYPES, EVENTS

MONA = Person("Mona Lisa", "mona@example.com")
COMMIT = Commit(sha="a" * 40, tree="b" * 40, parents=("c" * 40,), author=MONA, committer=MONA, message="Paint\n\nMore")
TREE = WorkingTree(
    root=Path("/r"),
    versioned=True,
    ref="refs/heads/topic",
    commit=COMMIT,
    owner="octo",
    name="art",
    url="https://github.com/octo/art.git",
    person=MONA,
    tags=("v2",),
)


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_has_a_payload_with_repository_and_sender(event: str) -> None:
    types = ACTIVITY_TYPES.get(event, ())
    payload = make_payload(event, types[0] if types else "", TREE, {})
    assert payload["repository"]["full_name"] == "octo/art"
    assert payload["sender"]["login"] == "Mona-Lisa"
    assert payload.get("action", "") == (types[0] if types else "")


def test_a_push_names_the_commit_and_the_one_before() -> None:
    payload = make_payload("push", "", TREE, {})
    assert (payload["before"], payload["after"], payload["ref"]) == ("c" * 40, "a" * 40, "refs/heads/topic")
    assert payload["head_commit"]["message"] == "Paint\n\nMore"
    assert payload["commits"] == [payload["head_commit"]]


def test_a_push_without_any_commit_creates_the_branch() -> None:
    payload = make_payload("push", "", WorkingTree(root=Path("/r")), {})
    assert (payload["before"], payload["created"], payload["head_commit"]) == (NO_COMMIT, True, None)


@pytest.mark.parametrize(("ref", "head"), [("refs/heads/topic", "topic"), ("refs/heads/main", "feature")])
def test_a_pull_request_goes_from_the_branch_to_the_default_one(ref: str, head: str) -> None:
    tree = WorkingTree(root=Path("/r"), ref=ref, commit=COMMIT)
    pull: dict[str, Any] = make_payload("pull_request", "opened", tree, {})["pull_request"]
    assert (pull["head"]["ref"], pull["base"]["ref"], pull["title"]) == (head, "main", "Paint")


def test_a_release_is_of_the_newest_tag_of_the_commit() -> None:
    assert make_payload("release", "published", TREE, {})["release"]["tag_name"] == "v2"


def test_inputs_belong_to_a_dispatch_only() -> None:
    assert make_payload("workflow_dispatch", "", TREE, {"a": "1"})["inputs"] == {"a": "1"}
    assert "inputs" not in make_payload("push", "", TREE, {"a": "1"})
