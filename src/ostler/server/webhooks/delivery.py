"""The common form of a delivery, and reading what may be missing in it."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast
from urllib.parse import parse_qs

import msgspec

from ostler.domain.machine import Refused
from ostler.domain.repository import checked_reference
from ostler.protocol.v1.program import Raw
from ostler.store.triggers import Occurrence

WINDOW_SECONDS: Final = 300
"""How far the time in a signature may be from ours."""

Payload = dict[str, Any]
"""A forge's JSON: the edge where its values get their types."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ZEROS = re.compile(r"0{40,64}")
_LONGEST_NAME = 100


class Delivery(NamedTuple):
    """What one delivery tells. Without occurrences, ``note`` says why nothing follows."""

    id: str
    event: str
    actor: str
    occurrences: tuple[Occurrence, ...] = ()
    note: str = ""


def refused(reason: str) -> Refused:
    """Say that a delivery is not believed."""
    return Refused("delivery_refused", reason)


def malformed(reason: str) -> Refused:
    """Say that a delivery cannot be read."""
    return Refused("delivery_malformed", reason)


def signed(body: bytes, secret: str, signature: str) -> bool:
    """Whether a hexadecimal HMAC-SHA256 is that of the body under the secret."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return bool(secret) and hmac.compare_digest(expected.encode(), signature.strip().lower().encode())


def json_of(headers: Mapping[str, str], body: bytes) -> Payload | Refused:
    """Return the JSON object of a body, which some send as a form."""
    if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
        body = fields.get("payload", [""])[0].encode()
    try:
        payload = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return malformed(f"the body is no JSON: {error}")
    return cast("Payload", payload) if isinstance(payload, dict) else malformed("the body is no JSON object")


def part(payload: object, *path: str) -> Payload:
    """Return an object within an object; empty if it is not there."""
    for key in path:
        payload = cast("Payload", payload).get(key) if isinstance(payload, dict) else None
    return cast("Payload", payload) if isinstance(payload, dict) else {}


def text(payload: object, *path: str) -> str:
    """Return a text within an object; empty if it is not there."""
    value = part(payload, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def name(payload: object, *path: str) -> str:
    """Return a name of somebody, of printable characters and no great length."""
    return "".join(character for character in text(payload, *path) if character.isprintable())[:_LONGEST_NAME]


def sha(payload: object, *path: str) -> str:
    """Return a commit; empty if there is none, or zeros."""
    value = text(payload, *path).lower()
    return value if _SHA.fullmatch(value) and not _ZEROS.fullmatch(value) else ""


def reference(payload: object, *path: str) -> str:
    """Return a reference that git could have; empty if it is none."""
    value = text(payload, *path)
    return value if value and not isinstance(checked_reference(value), Refused) else ""


def raw(payload: Payload) -> dict[str, Raw]:
    """Return a payload as it is kept for ``github.event``."""
    return cast("dict[str, Raw]", payload)


def push(payload: Payload) -> tuple[Occurrence, ...]:
    """Return what a push in GitHub's form means; the end of a reference is told by an event of its own."""
    ref, after = reference(payload, "ref"), sha(payload, "after")
    if not (ref and after):
        return ()
    return (Occurrence(event="push", ref=ref, before=sha(payload, "before"), sha=after, payload=raw(payload)),)


def pull_request(payload: Payload, number: object, ref: str, *, action: str) -> tuple[Occurrence, ...]:
    """Return what a pull request in GitHub's form means: two events, which differ in what they may do."""
    request = part(payload, "pull_request")
    head_sha = sha(request, "head", "sha")
    if not head_sha or not isinstance(number, int):
        return ()
    home, away = text(request, "base", "repo", "full_name"), text(request, "head", "repo", "full_name")
    usual = Occurrence(
        event="pull_request",
        type=action,
        ref=ref,
        sha=head_sha,
        base=reference(request, "base", "ref"),
        base_sha=sha(request, "base", "sha"),
        head=reference(request, "head", "ref"),
        head_sha=head_sha,
        fork=not home or home.lower() != away.lower(),
        payload=raw({**payload, "action": action}),
    )
    return usual, msgspec.structs.replace(usual, event="pull_request_target", ref="", sha="", fork=False)


def ref_event(payload: Payload, event: str) -> tuple[Occurrence, ...]:
    """Return what the making or deletion of a branch or tag in GitHub's form means."""
    short, kind = reference(payload, "ref"), text(payload, "ref_type")
    if kind not in ("branch", "tag") or not short:
        return ()
    full = (
        f"refs/{'heads' if kind == 'branch' else 'tags'}/{short.removeprefix('refs/heads/').removeprefix('refs/tags/')}"
    )
    return (Occurrence(event=event, ref=full if event == "create" else "", payload=raw(payload)),)


def release(payload: Payload, action: str) -> tuple[Occurrence, ...]:
    """Return what a release in GitHub's form means."""
    tag = reference(payload, "release", "tag_name")
    ref = f"refs/tags/{tag}" if tag else ""
    return (Occurrence(event="release", type=action, ref=ref, payload=raw({**payload, "action": action})),)
