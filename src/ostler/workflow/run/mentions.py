"""Which secrets a piece of a workflow speaks of: a job is given no others."""

import re
from typing import Final

import msgspec

_ANY: Final = re.compile(r"\bsecrets\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"\bsecrets\s*(?:\.\s*([A-Za-z_][\w-]*)|\[\s*'([^']*)'\s*\])", re.IGNORECASE)


def spoken_of(piece: object) -> frozenset[str] | None:
    """Return the names in capitals; None if any could be meant, as in ``toJSON(secrets)``."""
    text = msgspec.json.encode(piece).decode()
    named = _NAMED.findall(text)
    if len(named) < len(_ANY.findall(text)):
        return None
    return frozenset((dotted or indexed).upper() for dotted, indexed in named)
