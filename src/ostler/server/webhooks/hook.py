"""Pushes to a git server without a forge: a ``post-receive`` hook that signs what it tells, with the time.

The body is the lines that git gives to the hook, after one with the name of whoever pushed:

    actor ada
    <old commit> <new commit> refs/heads/main

It is signed together with its time, so that a copy is believed for some minutes only, and once in these.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

from ostler.domain.machine import Refused
from ostler.domain.repository import checked_reference
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.server.webhooks.delivery import WINDOW_SECONDS, Delivery, Payload, malformed, raw, refused
from ostler.store.triggers import Occurrence

_LINE = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (refs/(?:heads|tags)/\S+)")
_ZEROS = re.compile(r"0+")
_MOST_LINES: Final = 100


def signature(body: bytes, secret: str, timestamp: str) -> str:
    """Return what the hook sends as ``X-Ostler-Signature``."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def read(
    headers: Mapping[str, str], body: bytes, secret: str, *, now_seconds: int, repository: RepositoryView
) -> Delivery | Refused:
    """Return what a delivery tells, or why it is not believed."""
    timestamp, given = headers.get("x-ostler-timestamp", ""), headers.get("x-ostler-signature", "")
    if not timestamp or not given:
        return refused("the headers X-Ostler-Timestamp and X-Ostler-Signature are missing")
    if not secret or not hmac.compare_digest(signature(body, secret, timestamp).encode(), given.strip().encode()):
        return refused("the signature in X-Ostler-Signature is not that of this body under the repository's secret")
    if not timestamp.isdecimal() or abs(int(timestamp[:12]) - now_seconds) > WINDOW_SECONDS:
        return refused(f"it was signed more than {WINDOW_SECONDS} seconds ago, or ahead of this server's clock")
    lines = body.decode("utf-8", "replace").splitlines()[: _MOST_LINES + 1]
    actor = ""
    occurrences: list[Occurrence] = []
    for line in lines:
        if line.startswith("actor "):
            actor = "".join(character for character in line[6:106] if character.isprintable()).strip()
        elif line.strip():
            found = _LINE.fullmatch(line.strip())
            if found is None or isinstance(checked_reference(found[3]), Refused):
                return malformed(f"{line[:100]!r} is not what git tells a post-receive hook")
            occurrences += _pushed(found[1], found[2], found[3], actor, repository)
    note = "" if occurrences else "it tells of no push"
    return Delivery(given[3:], "push", actor or "git", tuple(occurrences), note)


def _pushed(before: str, after: str, ref: str, actor: str, repository: RepositoryView) -> list[Occurrence]:
    created, deleted = bool(_ZEROS.fullmatch(before)), bool(_ZEROS.fullmatch(after))
    kind, short = ("branch", ref[11:]) if ref.startswith("refs/heads/") else ("tag", ref[10:])
    person: Payload = {"login": actor, "name": actor}
    about: Payload = {
        "repository": {
            "full_name": repository.full_name,
            "name": repository.full_name.partition("/")[2],
            "owner": {"login": repository.full_name.partition("/")[0]},
            "default_branch": repository.default_branch,
            "clone_url": repository.clone_url,
        },
        "sender": person,
    }
    named: Payload = {"ref": short, "ref_type": kind, **about}
    if deleted:
        return [Occurrence(event="delete", payload=raw(named))]
    told: Payload = {
        "ref": ref,
        "before": before,
        "after": after,
        "created": created,
        "deleted": False,
        "forced": False,
        "pusher": person,
        "head_commit": {"id": after},
        "commits": [],
        **about,
    }
    pushed = Occurrence(event="push", ref=ref, before="" if created else before, sha=after, payload=raw(told))
    made = Occurrence(event="create", ref=ref, sha=after, payload=raw(named))
    return [pushed, made] if created else [pushed]
