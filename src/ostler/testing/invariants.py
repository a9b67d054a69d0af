"""The rules that hold for every job, whatever goes wrong.

Each is a function from what was observed of one job to the breaches it finds; the numbers are those of the
documentation. `ALWAYS` holds after every fact, `FINALLY` when all faults are healed and the world is quiet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ostler.testing.record import JobHistory

GRACE_SECONDS = 12.0
HEARD_SECONDS = 1.0

Invariant = Callable[[JobHistory], Iterator[str]]


def broken(record: JobHistory, invariants: Iterable[Invariant]) -> list[str]:
    """Every breach of these rules by this job."""
    return [f"{record.job}: {breach}" for invariant in invariants for breach in invariant(record)]


def one_start(record: JobHistory) -> Iterator[str]:
    """I1: a deployment or CI job is granted once and executed once; no attempt of any kind is executed twice."""
    if record.kind != "lease" and len(record.grants) > 1:
        yield f"I1 start granted {len(record.grants)} times: {record.grants}"
    if record.kind != "lease" and len(record.executions) > 1:
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
    """I5: a result that was acknowledged is the job's; one that the last attempt finished locally is too.

    Unless the server had rightly given the attempt up before the result reached it (rule 8).
    """
    ends = set(record.ends)
    for fence, result in record.acknowledged.items():
        if (fence, result) not in ends:
            yield f"I5 the acknowledged result {result} of attempt {fence} is lost: {record.ends}"
    result = record.results.get(record.fence)
    if result is not None and (record.fence, result) not in ends and record.fence not in record.given_up:
        yield f"I5 the result {result} that attempt {record.fence} finished with is lost: {record.ends}"


def nothing_wrong(record: JobHistory) -> Iterator[str]:
    """I5 to I9: what whoever watched it has seen go wrong; it says which rule."""
    yield from record.wrongs


def stopped_in_time(record: JobHistory) -> Iterator[str]:
    """I4: a cancelled job is gone; without troubles its runner hears of it at once and it is gone within its grace."""
    for fence, stopped in record.stopped_at.items():
        gone = record.gone_at.get(fence)
        if gone is None:
            yield f"I4 attempt {fence} still runs although it was stopped"
        elif record.calm and gone - stopped > GRACE_SECONDS:
            yield f"I4 attempt {fence} was gone only {gone - stopped:.1f} s after it was stopped"
    if record.calm and record.cancelled_at is not None:
        heard = record.stopped_at.get(record.fence)
        if heard is None or heard - record.cancelled_at > HEARD_SECONDS:
            yield f"I4 cancelled at {record.cancelled_at:.3f}, heard of at {heard}"


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


ALWAYS: tuple[Invariant, ...] = (one_start, granted_before_execution, nothing_stale, one_end, nothing_wrong)
FINALLY: tuple[Invariant, ...] = (an_end, results_kept, logs_exact, stopped_in_time)
