"""Which jobs of a workflow need which: in both directions, and in an order in which all can be done."""

from collections import deque
from typing import NamedTuple

from ostler.domain.machine import Refused
from ostler.workflow.model import Job, Workflow


class Graph(NamedTuple):
    """The jobs of one workflow by their ids, which differ not only by case."""

    jobs: dict[str, Job]
    needs: dict[str, tuple[str, ...]]
    dependants: dict[str, tuple[str, ...]]

    def downstream(self, jobs: set[str]) -> set[str]:
        """Return all that need these jobs, directly or through others."""
        found: set[str] = set()
        queue = deque(jobs)
        while queue:
            for dependant in self.dependants[queue.popleft()]:
                if dependant not in found:
                    found.add(dependant)
                    queue.append(dependant)
        return found

    def levels(self) -> dict[str, int]:
        """Return for each job the length of the longest way to it from one that needs nothing."""
        levels: dict[str, int] = {}
        open_needs = {job: len(needs) for job, needs in self.needs.items()}
        queue = deque(job for job, count in open_needs.items() if not count)
        while queue:
            job = queue.popleft()
            levels[job] = 1 + max((levels[need] for need in self.needs[job]), default=-1)
            for dependant in self.dependants[job]:
                open_needs[dependant] -= 1
                if not open_needs[dependant]:
                    queue.append(dependant)
        return levels


def graph_of(workflow: Workflow) -> Graph | Refused:
    """Return the graph of a workflow, or why its jobs could never all be decided."""
    ids = {job.id.lower(): job.id for job in workflow.jobs}
    if not workflow.jobs:
        return Refused("workflow_invalid", f"{workflow.path} has no jobs")
    if len(ids) < len(workflow.jobs):
        return Refused("workflow_invalid", f"{workflow.path} has two jobs whose ids differ only by case")
    needs: dict[str, tuple[str, ...]] = {}
    dependants: dict[str, list[str]] = {job.id: [] for job in workflow.jobs}
    for job in workflow.jobs:
        unknown = [need for need in job.needs if need.lower() not in ids]
        if unknown:
            return Refused(
                "workflow_invalid", f"the job {job.id} needs {unknown[0]}, which {workflow.path} does not have"
            )
        needs[job.id] = tuple(dict.fromkeys(ids[need.lower()] for need in job.needs))
        for need in needs[job.id]:
            dependants[need].append(job.id)
    graph = Graph(
        jobs={job.id: job for job in workflow.jobs},
        needs=needs,
        dependants={job: tuple(others) for job, others in dependants.items()},
    )
    levels = graph.levels()
    circular = [job for job in graph.jobs if job not in levels]
    if circular:
        return Refused("workflow_invalid", f"these jobs of {workflow.path} need each other: {', '.join(circular)}")
    return graph
