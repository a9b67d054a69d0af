"""How a job ends and why: decided once, where it is first seen, and never overwritten by what follows from it.

A job that was cancelled also has a step that failed; a full disk also kills a step. The first thing that happened is
the cause (model rule 9), the rest are its consequences.
"""

from __future__ import annotations


class Verdict:
    """The end of a job that did not succeed."""

    __slots__ = ("cause", "conclusion", "detail", "evidence", "exit_code", "signal")

    def __init__(self, conclusion: str, cause: str, detail: str = "", evidence: str = "") -> None:
        self.conclusion: str = conclusion
        self.cause: str = cause
        self.detail: str = detail
        self.evidence: str = evidence
        self.exit_code: int | None = None
        self.signal: int | None = None


def step_failed(evidence: str) -> Verdict:
    return Verdict("failed", "step_failed", evidence=evidence)


def step_timed_out(name: str, timeout_ms: int) -> Verdict:
    return Verdict("timed_out", "timed_out", "step", f"step {name} ran longer than its {timeout_ms} ms")


def timed_out(timeout_ms: int) -> Verdict:
    return Verdict("timed_out", "timed_out", evidence=f"the job ran longer than its {timeout_ms} ms")


def cancelled(reason: str) -> Verdict:
    return Verdict("cancelled", "cancelled", evidence=reason)


def infrastructure(detail: str, evidence: str) -> Verdict:
    return Verdict("failed", "infrastructure", detail, evidence)


def configuration(detail: str, evidence: str) -> Verdict:
    return Verdict("failed", "configuration", detail, evidence)
