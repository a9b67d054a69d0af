"""Naming the jobs of a run: what is written, rendered where it can be."""

from collections.abc import Sequence
from typing import Final

from ostler.workflow.model import Job
from ostler.workflow.run.errors import Misconfigured
from ostler.workflow.run.evaluation import Contexts, Evaluator
from ostler.workflow.run.names import called_name, cell_name, cut

_OPENS: Final = "${{"


def expected(caller: str, job: Job, contexts: Contexts, evaluator: Evaluator) -> str:
    """Return the name of a job that is not decided yet: as it is written where it speaks of what is not known yet."""
    if _OPENS not in job.name:
        return called_name(caller, cut(job.name or job.id))
    try:
        return called_name(caller, cut(evaluator.text("name", job.name, contexts) or job.id))
    except Misconfigured:
        return called_name(caller, cut(job.name))


def of_job(caller: str, job: Job, contexts: Contexts, evaluator: Evaluator) -> str:
    """Return the name of a job without a matrix."""
    name = evaluator.text("name", job.name, contexts) if _OPENS in job.name else job.name
    return called_name(caller, cut(name or job.id))


def of_matrix(caller: str, job: Job) -> str:
    """Return what all jobs of a matrix are called together."""
    return called_name(caller, cut(job.id if _OPENS in job.name else job.name or job.id))


def of_cell(caller: str, job: Job, segments: Sequence[str], contexts: Contexts, evaluator: Evaluator) -> str:
    """Return the name of one job of a matrix: its values are added unless the name is made by an expression."""
    if _OPENS in job.name:
        name = evaluator.text("name", job.name, contexts)
        if name:
            return called_name(caller, cut(name))
        return called_name(caller, cell_name(job.id, segments))
    return called_name(caller, cell_name(job.name or job.id, segments))
