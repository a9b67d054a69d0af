"""What was observed in a run, told in the nouns of the product.

The simulated executor, the disk of the agents and the server's replies are where the facts come from; a scenario feeds
them in by the methods below. After each fact the rules that must always hold for that job are checked, and the first
breach ends the run there, where the trace is shortest. What may only be judged when all is quiet is judged by `close`.
"""

from collections.abc import Callable, Iterable

from ostler.testing.errors import InvariantViolated
from ostler.testing.invariants import ALWAYS, FINALLY, broken
from ostler.testing.loop import SimLoop
from ostler.testing.record import JobHistory, Kind, Start


class History:
    """The facts of one run."""

    def __init__(self, loop: SimLoop) -> None:
        self.jobs: dict[str, JobHistory] = {}
        self.violations: list[str] = []
        self.calm = False
        """Set when every trouble is over; what is submitted from then on must also be done in time."""
        self.watchers: list[Callable[[str, int], None]] = []
        """Called with the job and fence of every execution that begins."""
        self._loop = loop

    def submitted(self, job: str, kind: Kind) -> None:
        """The server has accepted the job."""
        self.jobs[job] = JobHistory(job, kind)
        self.jobs[job].calm = self.calm
        self._note(job, f"submitted as {kind}")

    def claimed(self, job: str, fence: int, runner: str) -> None:
        """The server has committed a claim."""
        record = self.jobs[job]
        record.fence = max(record.fence, fence)
        self._check(record, f"claimed by {runner}, fence {fence}")

    def granted(self, job: str, fence: int, runner: str) -> None:
        """The server has committed a start grant; saying yes again to the same runner and fence is no new one."""
        record = self.jobs[job]
        if Start(fence, runner) not in record.grants:
            record.grants.append(Start(fence, runner))
        self._check(record, f"start granted to {runner}, fence {fence}")

    def executing(self, job: str, fence: int, runner: str) -> None:
        """A process of the job has really begun."""
        record = self.jobs[job]
        record.executions.append(Start(fence, runner))
        self._check(record, f"executing at {runner}, fence {fence}")
        for watcher in self.watchers:
            watcher(job, fence)

    def printed(self, job: str, fence: int, data: bytes) -> None:
        """The job's process has written this."""
        self.jobs[job].printed.setdefault(fence, bytearray()).extend(data)

    def gone(self, job: str, fence: int) -> None:
        """No process of the attempt is left."""
        self.jobs[job].gone_at[fence] = self._loop.time()
        self._note(job, f"gone, fence {fence}")

    def stopping(self, job: str, fence: int, how: str) -> None:
        """The agent has told the attempt's supervisor to stop it."""
        self.jobs[job].stopped_at.setdefault(fence, self._loop.time())
        self._note(job, f"{how} by the agent, fence {fence}")

    def cut_short(self, job: str, fence: int) -> None:
        """The machine or the supervisor went down: an end of the log may be lost, as nothing had promised it."""
        self.jobs[job].cut_short.add(fence)
        self._note(job, f"log cut short, fence {fence}")

    def finished(self, job: str, fence: int, result: str) -> None:
        """The result is durable on the runner's disk."""
        record = self.jobs[job]
        record.results[fence] = result
        self._check(record, f"finished locally as {result}, fence {fence}")

    def acknowledged(self, job: str, fence: int, result: str) -> None:
        """The server has told the runner that it has the result."""
        record = self.jobs[job]
        record.acknowledged[fence] = result
        self._check(record, f"acknowledged as {result}, fence {fence}")

    def wrote(self, job: str, fence: int, what: str) -> None:
        """The server has let a write with this fence change something."""
        record = self.jobs[job]
        if fence < record.fence:
            record.stale_writes.append(f"{what} with fence {fence} of {record.fence}")
        self._check(record, f"accepted {what}, fence {fence}")

    def cancelling(self, job: str) -> None:
        """The server has committed that a running job is to be stopped."""
        self.jobs[job].cancelled_at = self._loop.time()
        self._note(job, "cancelling")

    def gave_up(self, job: str, fence: int, wrong: str) -> None:
        """The server has decided by itself that a started attempt is lost; `wrong` says why it should not have."""
        record = self.jobs[job]
        record.given_up.add(fence)
        if wrong:
            record.wrongs.append(wrong)
        self._check(record, f"given up, fence {fence}")

    def wronged(self, job: str, wrong: str) -> None:
        """Something that must not happen to a job was seen by whoever can see it; begins with the rule's number."""
        record = self.jobs[job]
        record.wrongs.append(wrong)
        self._check(record, wrong)

    def ended(self, job: str, fence: int, result: str) -> None:
        """The server has committed a terminal state."""
        record = self.jobs[job]
        record.ends.append((fence, result))
        self._check(record, f"ended as {result}, fence {fence}")

    def limited(self, name: str, used: int, allowed: int) -> None:
        """A limit was looked at."""
        if used > allowed:
            self._violated([f"I7 {name}: {used} of {allowed}"])

    def stored(self, job: str, fence: int, data: bytes) -> None:
        """The bytes the server holds of this attempt's log, read when the run is over."""
        self.jobs[job].stored[fence] = data

    def close(self) -> None:
        """Judge what may only be judged at the end; raises at the first breach of any rule."""
        for record in self.jobs.values():
            self._violated(broken(record, FINALLY))
        if self.violations:
            raise InvariantViolated("\n".join(self.violations))

    def _check(self, record: JobHistory, text: str) -> None:
        self._note(record.job, text)
        self._violated(broken(record, ALWAYS))

    def _note(self, job: str, text: str) -> None:
        self.jobs[job].story.append((self._loop.time(), text))
        self._loop.trace.note(self._loop.time(), f"{job}: {text}")

    def _violated(self, breaches: Iterable[str]) -> None:
        for breach in breaches:
            if breach not in self.violations:
                self.violations.append(breach)
                self._loop.trace.note(self._loop.time(), breach)
                self._loop.fail(InvariantViolated(breach))
