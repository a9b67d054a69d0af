"""Which known word was meant: the one that few slips of the finger lead to.

A name is compared with at most some hundred others, so the plain table of distances is fast enough.
"""

from collections.abc import Iterable


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the known word that was probably meant; nothing if none is near."""
    lowered = word.lower().replace("_", "-")
    best, least = "", min(3, max(1, len(word) // 3)) + 1
    for known in words:
        if abs(len(known) - len(word)) >= least:
            continue
        distance = _distance(lowered, known.lower().replace("_", "-"))
        if distance < least and known != word:
            best, least = known, distance
    return best


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return the sentence that proposes a known word; nothing if none is near."""
    known = nearest(word, words)
    return f"Did you mean {known!r}?" if known else ""


def _distance(left: str, right: str) -> int:
    """Return how many letters must be changed, added, left out or exchanged with their neighbour."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, 1):
        older, before, row = before, row, [at]
        for to, other in enumerate(right, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == right[to - 2] and left[at - 2] == other:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
    return row[-1]
