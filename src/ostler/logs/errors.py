"""The surprises of log handling, each with a stable code that callers may branch on.

Why so few: a secret that is too short or a log that is too long is an expected outcome and therefore a value; only
bytes that are not what they claim to be are an error.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the typing module alone would cost the supervisor 2 MB
if TYPE_CHECKING:
    from typing import Literal

    DamageCode = Literal[
        "truncated",
        "bad_magic",
        "bad_version",
        "bad_flags",
        "bad_length",
        "bad_checksum",
        "bad_payload",
        "bad_lines",
        "bad_runs",
        "bad_sequence",
        "bad_index",
    ]


class FrameDamaged(Exception):
    """The bytes are not a valid frame. `position` is where the frame begins in what was given."""

    def __init__(self, code: DamageCode, position: int, detail: str) -> None:
        super().__init__(f"log frame at byte {position} is damaged ({code}): {detail}")
        self.code: DamageCode = code
        self.position: int = position
        self.detail: str = detail

    def __reduce__(self) -> tuple[type[FrameDamaged], tuple[DamageCode, int, str]]:
        return (FrameDamaged, (self.code, self.position, self.detail))
