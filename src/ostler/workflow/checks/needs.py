"""The graph of jobs: each need exists, and no job waits for itself."""

from collections.abc import Iterator

from ostler.expr.spelling import did_you_mean
from ostler.workflow.checks.sheet import JobPart, Sheet
from ostler.workflow.findings import Finding


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the ``needs`` of all jobs. Ids are compared without case."""
    jobs = {job.key.text.lower(): job for job in sheet.jobs}
    for job in sheet.jobs:
        seen: set[str] = set()
        for need in job.needs:
            name = need.text.lower()
            if name == job.key.text.lower():
                yield Finding("needs-cycle", f"the job {job.key.text!r} needs itself", need.span, "Remove the need.")
            elif name not in jobs:
                fix = did_you_mean(need.text, [other.key.text for other in sheet.jobs if other is not job])
                yield Finding("needs-unknown", f"there is no job {need.text!r}", need.span, fix)
            elif name in seen:
                message = f"the job {need.text!r} is needed twice"
                yield Finding("needs-twice", message, need.span, "Remove one of them.", "hint")
            seen.add(name)
    for cycle in _cycles(jobs):
        path = " -> ".join(job.key.text for job in (*cycle, cycle[0]))
        need = next(need for need in cycle[0].needs if need.text.lower() == cycle[1].key.text.lower())
        yield Finding("needs-cycle", f"these jobs wait for each other: {path}", need.span, "Remove one of the needs.")


def _cycles(jobs: dict[str, JobPart]) -> Iterator[tuple[JobPart, ...]]:
    """Yield each cycle of two and more jobs that a walk meets, from its first job in the file."""
    done: set[str] = set()
    for start in jobs:
        trail: list[str] = []
        stack = [iter((start,))]
        while stack:
            name = next(stack[-1], None)
            if name is None:
                stack.pop()
                if trail:
                    done.add(trail.pop())
            elif name in trail:
                found = trail[trail.index(name) :]
                if len(found) > 1:
                    yield _from_first(found, jobs)
            elif name in jobs and name not in done:
                trail.append(name)
                stack.append(iter([need.text.lower() for need in jobs[name].needs]))


def _from_first(names: list[str], jobs: dict[str, JobPart]) -> tuple[JobPart, ...]:
    order = list(jobs)
    first = min(range(len(names)), key=lambda at: order.index(names[at]))
    return tuple(jobs[name] for name in names[first:] + names[:first])
