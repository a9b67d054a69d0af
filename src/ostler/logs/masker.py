"""Replaces secrets in a stream of output, with the same result however the stream is cut into chunks.

How. Each chunk is searched together with the bytes that were held back from the ones before it. What must be held back
is only a tail with which a secret may have begun; everything else leaves at once, so that a prompt without a newline
is seen. Overlapping occurrences become one `***`. If an occurrence was already replaced while a second one, which
overlaps it, is still undecided, the mask has left and `_covered` remembers how much of the tail it stands for.

Colours do not help a secret to escape: the search is done a second time on the text without its control sequences
(see `ansi`), and what lies between the first and the last byte of a secret is replaced with it. To bound what is held,
an occurrence may be stretched in this way only to `4 * longest + 64 KiB`.

What this is not: a defence against a job that wants to leak its secrets, which can always print them reversed.
"""

from __future__ import annotations

from ostler.logs.ansi import INTRODUCER, Plain, sequence_around, unfinished
from ostler.logs.encoders import SHORTEST_SECRET, forms
from ostler.logs.patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from ostler.logs.patterns import Span

    NotMasked = Literal["too_short", "too_long"]

MASK = b"***"
LONGEST_SECRET = 64 << 10
_STRETCH_FACTOR = 4
_STRETCH_ALLOWANCE = 64 << 10


def why_not_masked(secret: bytes) -> NotMasked | None:
    """Why a secret cannot be masked, or None if it can: masking `a` would make a log unreadable and hide nothing."""
    length = len(secret.strip())
    if length < SHORTEST_SECRET:
        return "too_short"
    return "too_long" if length > LONGEST_SECRET else None


class Masker:
    """The masker of one stream. Secrets that cannot be masked are left out; ask `why_not_masked` to report them."""

    __slots__ = ("_covered", "_forms", "_held", "_patterns", "_stale")

    def __init__(self, secrets: Iterable[bytes] = ()) -> None:
        self._forms: set[bytes] = set()
        self._patterns: Patterns | None = None
        self._stale = False
        self._held = b""
        self._covered = 0
        for secret in secrets:
            self.add(secret)

    @property
    def held(self) -> int:
        """Bytes held back now."""
        return len(self._held)

    @property
    def form_count(self) -> int:
        """How many byte strings are looked for."""
        return len(self._forms)

    def add(self, secret: bytes) -> NotMasked | None:
        """Mask one more secret in everything that has not left yet; the reason if it cannot be masked."""
        reason = why_not_masked(secret)
        if reason is None:
            new = forms(secret)
            self._stale = self._stale or not new <= self._forms
            self._forms |= new
        return reason

    def feed(self, chunk: bytes) -> bytes:
        """What may leave of the output so far."""
        data = self._held + chunk if self._held else chunk
        patterns = self._current()
        if patterns is None:
            return data
        matches, hold = _search(patterns, data)
        return self._release(data, matches, hold)

    def finish(self) -> bytes:
        """The rest, at the end of the output: what was held back did not become a secret."""
        patterns = self._current()
        if patterns is None or not self._held:
            return b""
        data = self._held
        return self._release(data, _matches(patterns, data, data)[0], len(data))

    def _current(self) -> Patterns | None:
        if self._stale:
            self._patterns = Patterns(self._forms)
            self._stale = False
        return self._patterns

    def _release(self, data: bytes, matches: list[Span], hold: int) -> bytes:
        masked_to = self._covered
        pieces: list[bytes] = []
        for start, end in sorted(matches):
            if start < masked_to:
                masked_to = max(masked_to, end)
            elif start < hold:
                pieces += (data[masked_to:start], MASK)
                masked_to = end
            else:
                break
        if not pieces and masked_to == 0 and hold == len(data):
            self._held = b""
            return data
        pieces.append(data[masked_to:hold])
        self._held = data[hold:]
        self._covered = max(0, masked_to - hold)
        return b"".join(pieces)


def _search(patterns: Patterns, data: bytes) -> tuple[list[Span], int]:
    """All matches, and from where on the data must be held back."""
    if b"\x1b" not in data:
        matches, begun = patterns.search(data)
        return matches, min(begun, default=len(data))
    settled = unfinished(data)
    matches, begun = _matches(patterns, data, data[:settled])
    hold = min((start for start in begun if len(data) - start < _longest_stretch(patterns)), default=settled)
    return matches, sequence_around(data, min(hold, settled))


def _matches(patterns: Patterns, data: bytes, settled: bytes) -> tuple[list[Span], list[int]]:
    """Matches and beginnings in the data as it is, and in its settled part as a reader sees it."""
    matches, begun = patterns.search(data)
    if INTRODUCER not in data and len(settled) == len(data):
        return matches, begun
    plain = Plain(settled)
    plain_matches, plain_begun = patterns.search(plain.text)
    longest = _longest_stretch(patterns)
    for start, end in plain_matches:
        span = (plain.origin(start), plain.origin(end - 1) + 1)
        if span[1] - span[0] <= longest:
            matches.append(span)
    begun.extend(map(plain.origin, plain_begun))
    return matches, begun


def _longest_stretch(patterns: Patterns) -> int:
    return _STRETCH_FACTOR * patterns.longest + _STRETCH_ALLOWANCE
