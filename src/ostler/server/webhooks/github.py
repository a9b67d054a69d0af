"""Webhooks of GitHub: an HMAC of the raw body in ``X-Hub-Signature-256``, an id in ``X-GitHub-Delivery``."""

from collections.abc import Mapping
from typing import Final

from ostler.domain.machine import Refused
from ostler.server.webhooks.delivery import (
    Delivery,
    Payload,
    json_of,
    malformed,
    name,
    pull_request,
    push,
    raw,
    ref_event,
    refused,
    release,
    signed,
    text,
)
from ostler.store.triggers import Occurrence

OF_THE_DEFAULT_BRANCH: Final = frozenset(
    {
        "branch_protection_rule",
        "check_run",
        "check_suite",
        "deployment",
        "deployment_status",
        "discussion",
        "discussion_comment",
        "fork",
        "gollum",
        "issue_comment",
        "issues",
        "label",
        "milestone",
        "page_build",
        "public",
        "pull_request_review",
        "pull_request_review_comment",
        "registry_package",
        "status",
        "watch",
    }
)
"""Events whose payload is passed on as it came; their workflows are those of the default branch."""


def read(headers: Mapping[str, str], body: bytes, secret: str) -> Delivery | Refused:
    """Return what a delivery tells, or why it is not believed."""
    signature = headers.get("x-hub-signature-256", "")
    if not signature.startswith("sha256="):
        return refused("the header X-Hub-Signature-256 is missing; give the webhook its secret")
    if not signed(body, secret, signature.removeprefix("sha256=")):
        return refused("the signature in X-Hub-Signature-256 is not that of this body under the webhook's secret")
    event, delivery = headers.get("x-github-event", ""), headers.get("x-github-delivery", "")
    if not event or not delivery:
        return malformed("the headers X-GitHub-Event and X-GitHub-Delivery are missing")
    payload = json_of(headers, body)
    if isinstance(payload, Refused):
        return payload
    occurrences = told(event, payload, text(payload, "action"))
    note = "" if occurrences else f"nothing follows from {event[:40]}"
    return Delivery(delivery[:200], event[:100], name(payload, "sender", "login"), occurrences, note)


def told(event: str, payload: Payload, action: str) -> tuple[Occurrence, ...]:
    """Return what an event in GitHub's form means."""
    if event == "push":
        return push(payload)
    if event == "pull_request":
        number = payload.get("number")
        return pull_request(payload, number, f"refs/pull/{number}/merge", action=action)
    if event in ("create", "delete"):
        return ref_event(payload, event)
    if event == "release":
        return release(payload, action)
    if event in OF_THE_DEFAULT_BRANCH:
        return (Occurrence(event=event, type=action, payload=raw(payload)),)
    return ()
