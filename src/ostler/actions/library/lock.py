"""The lock file: which content each reference to an action must have, so that a moved tag is noticed.

It lies beside the workflows, is written by ``ostler action lock`` and read by whoever plans a run. A digest is that of
the whole repository (``ostler.actions.tree`` says how it is made), so one entry serves all actions in it.
"""

from typing import Literal

import msgspec

from ostler.domain.machine import Refused

PLACES = (".ostler/actions.lock", ".github/actions.lock")
"""Where it is looked for, from the top of the repository; the first that exists counts."""


class Locked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one ``owner/repo@ref`` stood for when it was locked."""

    digest: str
    commit: str = ""


class Lock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    version: Literal[1] = 1
    actions: dict[str, Locked] = {}

    @property
    def pins(self) -> dict[str, str]:
        """Return the digests by reference, as ``JobProgram.actions`` carries them."""
        return {uses: locked.digest for uses, locked in self.actions.items()}


def parse_lock(content: bytes) -> Lock | Refused:
    """Read the file."""
    try:
        lock = msgspec.json.decode(content, type=Lock)
    except (msgspec.DecodeError, UnicodeDecodeError) as reason:
        return Refused("action_lock", f"the lock file cannot be read: {reason}. Write it anew: `ostler action lock`.")
    for uses, locked in lock.actions.items():
        digest = locked.digest.removeprefix("sha256:")
        if digest == locked.digest or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            return Refused(
                "action_lock", f"the lock file has no digest for `{uses}`. Write it anew: `ostler action lock`."
            )
    return lock


def render_lock(lock: Lock) -> bytes:
    """Return the file as it is written: sorted, one line a value, so that changes read well."""
    ordered = Lock(actions=dict(sorted(lock.actions.items(), key=lambda item: item[0].lower())))
    return msgspec.json.format(msgspec.json.encode({"version": 1, "actions": ordered.actions}), indent=2) + b"\n"
