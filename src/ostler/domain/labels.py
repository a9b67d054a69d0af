"""Labels: how a job says what it needs and a runner says what it offers."""

from collections.abc import Iterable

from ostler.domain.machine import Refused

_LONGEST = 64
_MOST = 50
_FORBIDDEN = frozenset(",\"'")


def checked_labels(labels: Iterable[str]) -> tuple[str, ...] | Refused:
    """Return the labels sorted, lower-cased and without repeats, or why one of them cannot be a label."""
    cleaned = sorted({label.strip().lower() for label in labels} - {""})
    if len(cleaned) > _MOST:
        return Refused("labels_too_many", f"at most {_MOST} labels, not {len(cleaned)}")
    for label in cleaned:
        if len(label) > _LONGEST:
            return Refused(
                "label_length", f"a label has at most {_LONGEST} characters: {label[:20]!r}… has {len(label)}"
            )
        if not label.isprintable() or _FORBIDDEN & set(label) or " " in label:
            return Refused("label_characters", f"a label holds no space, comma, quote or control character: {label!r}")
    return tuple(cleaned)
