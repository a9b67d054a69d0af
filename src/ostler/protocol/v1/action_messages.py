"""The messages about stored actions: trees of files that operators import, for runners that reach no other source.

The bytes of an action are a tar archive, compressed with gzip or not, whose members lie below one folder or none. A
runner gets them as they were imported, with the headers ``X-Ostler-Digest`` (``sha256:…`` of these bytes) and
``X-Ostler-Commit`` (empty if it was not told).
"""

from typing import Annotated

import msgspec

from ostler.protocol.v1.spec import Count

DIGEST_HEADER = "x-ostler-digest"
COMMIT_HEADER = "x-ostler-commit"

Ref = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class ReadActionQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tag, a branch, or the commit that was imported."""

    ref: Ref


class ImportActionQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """Under which ref the tree is stored. What is there already stays unless it is to be replaced."""

    ref: Ref
    commit: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?\Z")] = ""
    replace: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0


class StoredAction(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action that runners can get here."""

    id: str
    owner: str
    repository: str
    ref: str
    size: Count
    digest: str
    created_at: int
    commit: str = ""
    created_by: str = ""


class StoredActionsReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of them, by name and ref."""

    actions: list[StoredAction] = []
