"""The rules that hold for every job, whatever goes wrong.

Each is a function from what was observed of one job to the breaches it finds; the numbers are those of the
documentation. `ALWAYS` holds after every fact, `FINALLY` when all faults are healed and the world is quiet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ostler.testing.record import JobHistory

Invariant = Callable[[JobHistory], Iterator[str]]


def broken(record: JobHistory, invariants: Iterable[Invariant]) -> list[str]:
    """Every breach of these rules by this job."""
    return [f"{record.job}: {breach}" for invariant in invariants for breach in invariant(record)]


def one_start(record: JobHistory) -> Iterator[str]:
    """I1: a deployment is granted once and executed once; no attempt of any kind is executed twice."""
    if record.kind == "deployment" and len(record.grants) > 1:
        yield f"I1 start granted {len(record.grants)} times: {record.grants}"
    if record.kind == "deployment" and len(record.executions) > 1:
        yield f"I1 executed {len(record.executions)} times: {record.executions}"
    for fence, times in Counter(start.fence for start in record.executions).items():
        if times > 1:
            yield f"I1 attempt {fence} executed {times} times: {record.executions}"


def granted_before_execution(record: JobHistory) -> Iterator[str]:
    """I1: nothing is executed that was not granted to the runner that executes it."""
    for start in record.executions:
        if start not in record.grants:
            yield f"I1 executed without a start grant: {start}"


def nothing_stale(record: JobHistory) -> Iterator[str]:
    """I6: a stale fence changes nothing."""
    for write in record.stale_writes:
        yield f"I6 accepted {write}"


def one_end(record: JobHistory) -> Iterator[str]:
    """I9: there is one terminal state, and it stays."""
    if len(set(record.ends)) > 1:
        yield f"I9 ended more than once: {record.ends}"


def an_end(record: JobHistory) -> Iterator[str]:
    """I2 and I9: what was accepted comes to an end."""
    if not record.ends:
        yield f"{'I2' if record.kind == 'lease' else 'I9'} never ended"


def results_kept(record: JobHistory) -> Iterator[str]:
    """I5: a result that was acknowledged is the job's; one that the last attempt finished locally is too."""
    ends = set(record.ends)
    for fence, result in record.acknowledged.items():
        if (fence, result) not in ends:
            yield f"I5 the acknowledged result {result} of attempt {fence} is lost: {record.ends}"
    result = record.results.get(record.fence)
    if result is not None and (record.fence, result) not in ends:
        yield f"I5 the result {result} that attempt {record.fence} finished with is lost: {record.ends}"


def logs_exact(record: JobHistory) -> Iterator[str]:
    """I3: the log of a finished attempt is what it printed; that of a lost one is the beginning of it."""
    for fence, stored in record.stored.items():
        printed = bytes(record.printed.get(fence, b""))
        sizes = f"printed {len(printed)} bytes, stored are {len(stored)}"
        if fence in record.acknowledged and fence not in record.cut_short and stored != printed:
            yield f"I3 attempt {fence} {sizes}{_difference(printed, stored)}"
        elif not printed.startswith(stored):
            yield f"I3 attempt {fence} never printed what is stored{_difference(printed, stored)}"


def _difference(printed: bytes, stored: bytes) -> str:
    for position, (one, other) in enumerate(zip(printed, stored, strict=False)):
        if one != other:
            return f", different from byte {position} on"
    return ""


ALWAYS: tuple[Invariant, ...] = (one_start, granted_before_execution, nothing_stale, one_end)
FINALLY: tuple[Invariant, ...] = (an_end, results_kept, logs_exact)
