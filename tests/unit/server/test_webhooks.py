"""Each forge's signature and payload, as its documentation has them."""

import base64
import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from ostler.domain.machine import Refused
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.server.webhooks import gitea, github, gitlab, hook
from ostler.server.webhooks.delivery import Delivery

_SHA, _OLD = "a" * 40, "b" * 40
_NOW = 1_750_000_000
_VIEW = RepositoryView(
    id="repo_1", name="shop", full_name="acme/shop", clone_url="https://x/acme/shop", default_branch="main"
)


def _hex(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _github(event: str, payload: Any) -> Delivery:  # noqa: ANN401 - JSON
    body = msgspec.json.encode(payload)
    headers = {
        "x-github-event": event,
        "x-github-delivery": "d",
        "x-hub-signature-256": f"sha256={_hex('key', body)}",
    }
    found = github.read(headers, body, "key")
    assert isinstance(found, Delivery), found
    return found


def _gitlab(payload: Any, **headers: str) -> Delivery | Refused:  # noqa: ANN401 - JSON
    return gitlab.read({"x-gitlab-token": "key", **headers}, msgspec.json.encode(payload), "key", now_seconds=_NOW)


def test_githubs_own_example_of_a_signature() -> None:
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {"x-hub-signature-256": signature, "x-github-event": "ping", "x-github-delivery": "d"}
    found = github.read(headers, body, secret)
    assert isinstance(found, Refused)
    assert found.code == "delivery_malformed", "believed, and no JSON"
    assert github.read(headers, body + b"!", secret) == Refused("delivery_refused", github.read(headers, b"", "x")[1])


@given(st.binary(max_size=200), st.text(max_size=80), st.text(max_size=20))
def test_nothing_unsigned_is_believed(body: bytes, signature: str, secret: str) -> None:
    for headers in ({"x-hub-signature-256": f"sha256={signature}"}, {"x-gitea-signature": signature}, {}):
        for module in (github, gitea):
            found = module.read({**headers, "x-github-event": "push"}, body, secret)
            assert isinstance(found, Refused)
            assert found.code == "delivery_refused"


def test_a_tag_and_a_branch_are_made_and_deleted() -> None:
    made = _github("create", {"ref": "v1", "ref_type": "tag"}).occurrences
    assert [(each.event, each.ref) for each in made] == [("create", "refs/tags/v1")]
    gone = _github("delete", {"ref": "feature", "ref_type": "branch"}).occurrences
    assert [(each.event, each.ref) for each in gone] == [("delete", "")]
    deleted = {"ref": "refs/heads/feature", "before": _SHA, "after": "0" * 40, "deleted": True}
    assert _github("push", deleted).occurrences == ()


def test_a_release_and_an_issue() -> None:
    (released,) = _github("release", {"action": "published", "release": {"tag_name": "v2"}}).occurrences
    assert (released.event, released.type, released.ref) == ("release", "published", "refs/tags/v2")
    (opened,) = _github("issues", {"action": "opened", "issue": {"number": 1}}).occurrences
    assert (opened.event, opened.type) == ("issues", "opened")
    assert _github("sponsorship", {"action": "created"}).note == "nothing follows from sponsorship"


@pytest.mark.parametrize("ref", ["--upload-pack=id", "refs/heads/a..b", "refs/heads/a b", "", "refs/heads/x\n"])
def test_references_that_git_could_not_have_are_dropped(ref: str) -> None:
    assert _github("push", {"ref": ref, "after": _SHA}).occurrences == ()


def test_gitea_speaks_nearly_as_github() -> None:
    request = {
        "head": {"sha": _SHA, "ref": "f", "repo": {"full_name": "mallory/shop"}},
        "base": {"sha": _OLD, "ref": "main", "repo": {"full_name": "acme/shop"}},
    }
    payload = {"action": "synchronized", "number": 3, "pull_request": request, "sender": {"username": "ada"}}
    body = msgspec.json.encode(payload)
    headers = {"x-gitea-event": "pull_request", "x-gitea-delivery": "d", "x-gitea-signature": _hex("key", body)}
    found = gitea.read(headers, body, "key")
    assert isinstance(found, Delivery)
    usual, target = found.occurrences
    assert (usual.type, usual.ref, usual.fork, usual.base) == ("synchronize", "refs/pull/3/head", True, "main")
    assert (target.event, target.fork, found.actor) == ("pull_request_target", False, "ada")


def test_gitlabs_secret_token_and_its_signature() -> None:
    payload = {"object_kind": "push", "ref": "refs/heads/main", "before": _OLD, "after": _SHA}
    assert isinstance(_gitlab(payload), Delivery)
    assert isinstance(_gitlab(payload, **{"x-gitlab-token": "kez"}), Refused)
    key = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    body = msgspec.json.encode(payload)
    for at, believed in ((_NOW, True), (_NOW - 301, False)):
        content = f"msg_1.{at}.".encode() + body
        digest = hmac.new(base64.b64decode(key), content, hashlib.sha256).digest()
        signature = f"v1,{base64.b64encode(digest).decode()}"
        headers = {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": f"v1,xx {signature}"}
        found = gitlab.read(headers, body, f"whsec_{key}", now_seconds=_NOW)
        assert isinstance(found, Delivery) is believed
        altered = gitlab.read(headers, body + b" ", f"whsec_{key}", now_seconds=_NOW)
        assert isinstance(altered, Refused)


def test_a_merge_request_becomes_a_pull_request() -> None:
    attributes = {
        "iid": 9,
        "action": "update",
        "oldrev": _OLD,
        "source_branch": "f",
        "target_branch": "main",
        "last_commit": {"id": _SHA},
        "source": {"path_with_namespace": "group/acme/shop"},
        "target": {"path_with_namespace": "group/acme/shop"},
    }
    found = _gitlab({"object_kind": "merge_request", "user": {"username": "ada"}, "object_attributes": attributes})
    assert isinstance(found, Delivery)
    usual = found.occurrences[0]
    assert (usual.event, usual.type, usual.fork, usual.head_sha) == ("pull_request", "synchronize", False, _SHA)
    assert usual.payload["pull_request"]["head"]["ref"] == "f"  # pyright: ignore[reportIndexIssue]
    edited = _gitlab({"object_kind": "merge_request", "object_attributes": {**attributes, "oldrev": ""}})
    assert isinstance(edited, Delivery)
    assert edited.occurrences[0].type == "edited"
    assert (
        edited.id
        == hashlib.sha256(
            msgspec.json.encode({"object_kind": "merge_request", "object_attributes": {**attributes, "oldrev": ""}})
        ).hexdigest()
    )


def test_a_hook_that_tells_nonsense_is_malformed() -> None:
    for body in (b"rm -rf /", f"{_OLD} {_SHA} refs/heads/--x..y".encode(), b"a b c"):
        headers = {
            "x-ostler-timestamp": str(_NOW),
            "x-ostler-signature": hook.signature(body, "key", str(_NOW)),
        }
        found = hook.read(headers, body, "key", now_seconds=_NOW, repository=_VIEW)
        assert isinstance(found, Refused)
        assert found.code == "delivery_malformed"
