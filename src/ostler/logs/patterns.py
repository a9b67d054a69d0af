"""Finds every occurrence of many byte strings in a block of output, and what may become one.

Why three steps: the automaton is fast (7 to 13 GB/s) only for a few dozen short patterns, for which it can use vector
instructions; with the hundreds of long ones that a job's secrets become, it falls to 200 to 500 MB/s, slower than the
compression after it. So:

1. *Fingerprints*, up to eight bytes from each pattern, chosen so that the many forms of one secret share them, are
   sought in groups of two dozen. Nearly all output ends here.
2. Around a fingerprint, the *heads* of all patterns (their first 32 bytes) are sought, overlapping ones included.
3. Where a head was found, the rest of the pattern is compared. That keeps the automaton small for long secrets.

What stays open at the end of the block (a pattern that has begun) is reported too; streaming is the masker's business.
"""

from __future__ import annotations

from bisect import bisect_right

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Span = tuple[int, int]

HEAD_LENGTH = 32
FINGERPRINT_LENGTH = 8
GROUP_SIZE = 24
MOST_GROUPS = 20
"""Beyond this many groups one pass of the plain automaton is cheaper than a pass for each."""

_FEW_HITS = 2000


class Patterns:
    """An immutable set of non-empty patterns."""

    __slots__ = ("_by_head", "_fingerprints", "_first_bytes", "_heads", "_sorted_heads", "longest")

    def __init__(self, patterns: Iterable[bytes]) -> None:
        ordered = sorted(set(patterns))
        self.longest: int = max(map(len, ordered), default=0)
        by_head: dict[bytes, list[bytes]] = {}
        for pattern in ordered:
            by_head.setdefault(pattern[:HEAD_LENGTH], []).append(pattern)
        self._by_head = list(by_head.values())
        self._sorted_heads = list(by_head)
        self._first_bytes = frozenset(head[0] for head in by_head)
        self._fingerprints = _fingerprint_automata(self._sorted_heads)
        self._heads = BytesAhoCorasick(
            self._sorted_heads,
            matchkind=MatchKind.Standard,
            implementation=Implementation.ContiguousNFA,
        )

    def search(self, data: bytes) -> tuple[list[Span], list[int]]:
        """All occurrences, overlapping ones too, and every place where the end of the data cuts one short."""
        found: list[Span] = []
        begun: list[int] = []
        for start, end in self._windows(data):
            for index, head_start, _ in self._heads.find_matches_as_indexes(data[start:end], overlapping=True):
                self._compare(data, start + head_start, self._by_head[index], found, begun)
        begun.extend(self._begun_heads(data))
        return found, begun

    def _windows(self, data: bytes) -> list[Span]:
        hits = [(start, end) for group in self._fingerprints for _, start, end in group.find_matches_as_indexes(data)]
        if len(hits) > _FEW_HITS:
            return [(0, len(data))]
        hits.sort()
        windows: list[Span] = []
        for hit_start, hit_end in hits:
            start, end = max(0, hit_start - 2 * HEAD_LENGTH), hit_end + 2 * HEAD_LENGTH
            if windows and start <= windows[-1][1]:
                windows[-1] = (windows[-1][0], max(end, windows[-1][1]))
            else:
                windows.append((start, end))
        return windows

    def _compare(
        self,
        data: bytes,
        start: int,
        patterns: list[bytes],
        found: list[Span],
        begun: list[int],
    ) -> None:
        for pattern in patterns:
            if data.startswith(pattern, start):
                found.append((start, start + len(pattern)))
            elif start + len(pattern) > len(data) and pattern.startswith(data[start:]):
                begun.append(start)

    def _begun_heads(self, data: bytes) -> list[int]:
        begun: list[int] = []
        for start in range(max(0, len(data) - HEAD_LENGTH + 1), len(data)):
            if data[start] in self._first_bytes:
                rest = data[start:]
                place = bisect_right(self._sorted_heads, rest)
                if place < len(self._sorted_heads) and self._sorted_heads[place].startswith(rest):
                    begun.append(start)
        return begun


def _fingerprint_automata(heads: list[bytes]) -> list[BytesAhoCorasick]:
    prints = _choose_fingerprints(heads)
    size = GROUP_SIZE if len(prints) <= GROUP_SIZE * MOST_GROUPS else len(prints)
    implementation = Implementation.ContiguousNFA if size == GROUP_SIZE else Implementation.DFA
    return [
        BytesAhoCorasick(prints[start : start + size], MatchKind.LeftmostLongest, implementation)
        for start in range(0, len(prints), size)
    ]


def _choose_fingerprints(heads: list[bytes]) -> list[bytes]:
    shared: dict[bytes, int] = {}
    for head in heads:
        for window in set(_windows_of(head)):
            shared[window] = shared.get(window, 0) + 1
    chosen: dict[bytes, None] = {}
    for head in heads:
        windows = _windows_of(head)
        if not any(window in chosen for window in windows):
            chosen[max(windows, key=lambda window: (shared[window], _rarity(window)))] = None
    return list(chosen)


def _windows_of(head: bytes) -> list[bytes]:
    width = min(len(head), FINGERPRINT_LENGTH)
    return [head[start : start + width] for start in range(len(head) - width + 1)]


def _rarity(window: bytes) -> int:
    """How seldom the bytes that the vector search looks at, the first ones, occur in ordinary output."""
    rarity = 0
    for code in window[:4]:
        letter = bytes((code,))
        rarity += 0 if letter.islower() or letter.isspace() else 1 if letter.isdigit() else 3
    return rarity
