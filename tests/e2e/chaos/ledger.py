"""The account of what really happened: every job writes a line outside of itself whenever it runs.

What the control plane says is compared with it: nothing runs twice, nothing that is said to have succeeded did not
run, and what is stored of its output is what it wrote.
"""

from pathlib import Path
from typing import Any, NamedTuple

from tests.parts.installation import Installation

NEVER_RAN = ("agent_restarted", "supervisor_not_started")
"""What may be said of a job whose start was granted and that was then not executed: honest, and never a guess."""


class Entry(NamedTuple):
    """One submitted job and what it must print."""

    job_id: str
    executions: Path
    expected: str


class Ledger:
    """See the module."""

    def __init__(self, site: Installation) -> None:
        self._site = site
        self.entries: list[Entry] = []

    def submit(self, *, lines: int = 300, pause: float = 0.1, pieces: int = 5, kind: str = "ci") -> Entry:
        """Submit a job that prints numbered lines in pieces, and write it down once it is accepted."""
        executions = self._site.outside / f"job-{len(self.entries)}"
        each = lines // pieces
        script = f"echo run >> {executions}; "
        script += f"; sleep {pause}; ".join(f"seq {part * each + 1} {(part + 1) * each}" for part in range(pieces))
        entry = Entry(self._site.submit(script, kind=kind), executions, "".join(f"{n}\n" for n in range(1, lines + 1)))
        self.entries.append(entry)
        return entry

    def settle(self, seconds: float = 60.0) -> dict[str, int]:
        """Wait for the end of every job, check each against the account, and count the outcomes."""
        outcomes: dict[str, int] = {}
        for entry in self.entries:
            outcome = self.check(entry, self._site.until_ended(entry.job_id, seconds))
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        return outcomes

    def check(self, entry: Entry, job: Any) -> str:  # noqa: ANN401 - as the API shows it
        """Check one ended job; return ``succeeded`` or the named fault."""
        ran = entry.executions.read_text().count("run") if entry.executions.exists() else 0
        assert ran <= 1, f"executed {ran} times: {job}"
        log = self._site.log(entry.job_id)
        if job["state"] == "succeeded":
            assert ran == 1, job
            assert log == entry.expected, (len(log), len(entry.expected), job)
            return "succeeded"
        failure = job["failure"]
        assert failure["cause"] == "infrastructure", job
        if failure["detail"] in NEVER_RAN:
            assert ran == 0, job
        assert entry.expected.startswith(log.split("ostler: ")[0]), job
        return failure["detail"]
