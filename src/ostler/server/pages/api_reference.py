"""``/api``: the reference of the API, drawn by the server that serves it, so that it always fits its version.

It is also where the ``type`` of every problem leads to (``/api#stale_fence``). It needs no sign-in, like the document
``/api/openapi.json`` that it is derived from.
"""

from functools import cache

from msgspec import Struct

from ostler import __version__
from ostler.protocol.reference import Group, Message, Refusal, reference

EXAMPLE = 'curl -H "Authorization: Bearer $OSTLER_TOKEN" "$OSTLER_URL/api/v1/runs?limit=10"'


class ApiReferenceView(Struct, frozen=True, kw_only=True):
    """``api.html``."""

    version: str
    example: str
    groups: tuple[Group, ...]
    messages: tuple[Message, ...]
    refusals: tuple[Refusal, ...]


@cache
def reference_view() -> ApiReferenceView:
    """The view; it is the same for everybody and as long as the process lives."""
    found = reference()
    return ApiReferenceView(
        version=__version__,
        example=EXAMPLE,
        groups=found.groups,
        messages=found.messages,
        refusals=found.refusals,
    )
