"""Webhooks of Gitea and Forgejo: nearly GitHub's form, with an HMAC in a header of their own."""

from collections.abc import Mapping
from typing import Final

from ostler.domain.machine import Refused
from ostler.server.webhooks import github
from ostler.server.webhooks.delivery import Delivery, json_of, malformed, name, pull_request, refused, signed, text

_ACTIONS: Final = {"synchronized": "synchronize", "label_updated": "labeled", "label_cleared": "unlabeled"}


def read(headers: Mapping[str, str], body: bytes, secret: str) -> Delivery | Refused:
    """Return what a delivery tells, or why it is not believed."""
    signature = _header(headers, "signature") or headers.get("x-hub-signature-256", "").removeprefix("sha256=")
    if not signature:
        return refused("the header X-Gitea-Signature is missing; give the webhook its secret")
    if not signed(body, secret, signature):
        return refused("the signature is not that of this body under the webhook's secret")
    event, delivery = _header(headers, "event"), _header(headers, "delivery")
    if not event or not delivery:
        return malformed("the headers X-Gitea-Event and X-Gitea-Delivery are missing")
    payload = json_of(headers, body)
    if isinstance(payload, Refused):
        return payload
    action = text(payload, "action")
    action = _ACTIONS.get(action, action)
    if event == "pull_request":
        number = payload.get("number")
        occurrences = pull_request(payload, number, f"refs/pull/{number}/head", action=action)
    else:
        occurrences = github.told(event, payload, action)
    actor = name(payload, "sender", "login") or name(payload, "sender", "username")
    return Delivery(
        delivery[:200], event[:100], actor, occurrences, "" if occurrences else f"nothing follows from {event[:40]}"
    )


def _header(headers: Mapping[str, str], last: str) -> str:
    return headers.get(f"x-forgejo-{last}", "") or headers.get(f"x-gitea-{last}", "")
