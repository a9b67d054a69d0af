"""Webhooks of GitLab: the secret itself in a header or, with a signing token, an HMAC over id, time and body.

GitLab's payloads have a form of their own; what `github.event` holds is put into GitHub's, as far as workflows look
at it, with GitLab's own beside it under ``gitlab``.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Final, cast

from ostler.domain.machine import Refused
from ostler.server.webhooks.delivery import (
    WINDOW_SECONDS,
    Delivery,
    Payload,
    json_of,
    malformed,
    name,
    part,
    pull_request,
    push,
    raw,
    ref_event,
    reference,
    refused,
    release,
    sha,
    text,
)
from ostler.store.triggers import Occurrence

_ACTIONS: Final = {"open": "opened", "reopen": "reopened", "close": "closed", "merge": "closed", "update": "edited"}
_RELEASES: Final = {"create": "published", "update": "edited", "delete": "deleted"}


def read(headers: Mapping[str, str], body: bytes, secret: str, *, now_seconds: int) -> Delivery | Refused:
    """Return what a delivery tells, or why it is not believed."""
    why_not = _disbelief(headers, body, secret, now_seconds)
    if why_not:
        return refused(why_not)
    payload = json_of(headers, body)
    if isinstance(payload, Refused):
        return payload
    kind = text(payload, "object_kind")
    if not kind:
        return malformed("the body has no object_kind")
    told = _told(kind, payload)
    delivery = headers.get("webhook-id") or headers.get("idempotency-key") or headers.get("x-gitlab-event-uuid", "")
    actor = name(payload, "user_username") or name(payload, "user", "username")
    # Without an id of its own the same content is the same delivery.
    return Delivery(
        (delivery or hashlib.sha256(body).hexdigest())[:200],
        kind[:100],
        actor,
        told,
        "" if told else f"nothing follows from {kind[:40]}",
    )


def _disbelief(headers: Mapping[str, str], body: bytes, secret: str, now_seconds: int) -> str:
    signatures = headers.get("webhook-signature", "")
    if signatures:
        timestamp = headers.get("webhook-timestamp", "")
        content = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
        expected = base64.b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest())
        given = [each.partition(",")[2] for each in signatures.split(" ") if each.startswith("v1,")]
        if not secret or not any(hmac.compare_digest(expected, each.encode()) for each in given):
            return "no signature in webhook-signature is that of this body under the signing token"
        if not timestamp.isdecimal() or abs(int(timestamp[:12]) - now_seconds) > WINDOW_SECONDS:
            return f"it was signed more than {WINDOW_SECONDS} seconds ago, or ahead of this server's clock"
        return ""
    if not secret or not hmac.compare_digest(secret.encode(), headers.get("x-gitlab-token", "").encode()):
        return "the header X-Gitlab-Token is not the secret token of the webhook"
    return ""


def _key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return secret.encode()


def _told(kind: str, payload: Payload) -> tuple[Occurrence, ...]:
    if kind in ("push", "tag_push"):
        return _pushed(payload)
    if kind == "merge_request":
        return _merge_request(payload)
    if kind == "release":
        action = _RELEASES.get(text(payload, "action"), "edited")
        described = {"tag_name": text(payload, "tag"), "name": text(payload, "name"), "html_url": text(payload, "url")}
        return release(_common(payload) | {"release": described, "action": action}, action)
    if kind == "issue":
        attributes = part(payload, "object_attributes")
        action = _ACTIONS.get(text(attributes, "action"), "edited")
        issue = {"number": attributes.get("iid"), "title": text(attributes, "title")}
        told = _common(payload) | {"action": action, "issue": issue}
        return (Occurrence(event="issues", type=action, payload=raw(told)),)
    return ()


def _pushed(payload: Payload) -> tuple[Occurrence, ...]:
    ref, before, after = reference(payload, "ref"), sha(payload, "before"), sha(payload, "after")
    named: Payload = _common(payload) | {
        "ref": ref.removeprefix("refs/heads/").removeprefix("refs/tags/"),
        "ref_type": "tag" if ref.startswith("refs/tags/") else "branch",
    }
    if not after:
        return ref_event(named, "delete")
    told: Payload = _common(payload) | {
        "ref": ref,
        "before": text(payload, "before"),
        "after": after,
        "created": not before,
        "deleted": False,
        "commits": _commits(payload),
        "head_commit": _head_commit(payload, after),
        "pusher": {"name": name(payload, "user_username"), "email": text(payload, "user_email")},
    }
    return push(told) + (() if before else ref_event(named, "create"))


def _head_commit(payload: Payload, after: str) -> Payload:
    for commit in _commits(payload):
        if text(commit, "id") == after:
            return part(commit)
    return {"id": after, "message": text(payload, "message")}


def _commits(payload: Payload) -> list[object]:
    commits = payload.get("commits")
    return cast("list[object]", commits) if isinstance(commits, list) else []


def _merge_request(payload: Payload) -> tuple[Occurrence, ...]:
    attributes = part(payload, "object_attributes")
    number, action = attributes.get("iid"), text(attributes, "action")
    new_commits = action == "update" and bool(sha(attributes, "oldrev"))
    action = "synchronize" if new_commits else _ACTIONS.get(action, action)
    told: Payload = _common(payload) | {
        "number": number,
        "pull_request": {
            "number": number,
            "title": text(attributes, "title"),
            "body": text(attributes, "description"),
            "html_url": text(attributes, "url"),
            "draft": attributes.get("draft") is True,
            "merged": text(attributes, "state") == "merged",
            "user": {"login": name(payload, "user", "username")},
            "head": {
                "ref": text(attributes, "source_branch"),
                "sha": text(attributes, "last_commit", "id"),
                "repo": {"full_name": text(attributes, "source", "path_with_namespace")},
            },
            "base": {
                "ref": text(attributes, "target_branch"),
                "sha": "",
                "repo": {"full_name": text(attributes, "target", "path_with_namespace")},
            },
        },
    }
    return pull_request(told, number, f"refs/merge-requests/{number}/head", action=action)


def _common(payload: Payload) -> Payload:
    project = part(payload, "project")
    full_name = text(project, "path_with_namespace")
    return {
        "repository": {
            "full_name": full_name,
            "name": full_name.rpartition("/")[2],
            "owner": {"login": full_name.rpartition("/")[0]},
            "default_branch": text(project, "default_branch"),
            "clone_url": text(project, "git_http_url"),
            "html_url": text(project, "web_url"),
        },
        "sender": {"login": name(payload, "user_username") or name(payload, "user", "username")},
        "gitlab": {key: value for key, value in payload.items() if key in ("object_kind", "object_attributes")},
    }
