"""Calls of reusable workflows: which file each means, and whether it can be called as it is."""

from collections.abc import Iterator, Mapping
from typing import Final

from ostler.domain.machine import Refused
from ostler.workflow.model import Job, Trigger, Workflow
from ostler.workflow.run.effects import Permissions
from ostler.workflow.run.graph import graph_of
from ostler.workflow.run.inputs import misfit
from ostler.workflow.run.permissions import exceeding, permissions_of

DEEPEST: Final = 10
"""How many workflows may stand above each other, the first one among them."""

_LOCAL: Final = "./"


def calls(workflow: Workflow, within: str = "") -> tuple[str, ...]:
    """Return the reusable workflows that one calls, as ``./path`` of its own repository or ``owner/repo/path@ref``.

    ``within`` is by what name it was called itself: what is local to another repository is not local here.
    """
    return tuple(dict.fromkeys(call_key(job.uses, within) for job in workflow.jobs if job.uses))


def missing(workflow: Workflow, called: Mapping[str, Workflow]) -> tuple[str, ...]:
    """Return what is still to be loaded before a plan can be made, of all that is called directly or through others."""
    found: dict[str, None] = dict.fromkeys(calls(workflow))
    queue = list(found)
    while queue:
        key = queue.pop()
        known = called.get(key)
        for other in calls(known, key) if known is not None else ():
            if other not in found:
                found[other] = None
                queue.append(other)
    return tuple(key for key in found if key not in called)


def call_key(uses: str, within: str) -> str:
    """Return what ``uses`` means in a workflow that was itself called by the name ``within``."""
    if not uses.startswith(_LOCAL) or not within or within.startswith(_LOCAL):
        return uses
    path, _, ref = within.partition("@")
    repository = "/".join(path.split("/")[:2])
    return f"{repository}/{uses.removeprefix(_LOCAL)}@{ref}"


def fault_in_calls(workflow: Workflow, called: Mapping[str, Workflow]) -> Refused | None:
    """Return why a workflow cannot call what it calls: what is missing, circular, too deep or called wrongly."""
    checker = _Checker(called)
    return checker.fault(workflow, "", (), permissions_of(workflow.permissions))


class _Checker:
    """Looks at each workflow once for each set of permissions that it is called with."""

    def __init__(self, called: Mapping[str, Workflow]) -> None:
        self._called = called
        self._heights: dict[str, int] = {}
        self._seen: set[tuple[str, tuple[tuple[str, str], ...] | None]] = set()

    def fault(self, workflow: Workflow, key: str, chain: tuple[str, ...], allowed: Permissions) -> Refused | None:
        graph = graph_of(workflow)
        if isinstance(graph, Refused):
            return graph
        if len(chain) >= DEEPEST:
            return Refused("calls_too_deep", f"more than {DEEPEST} workflows call each other: {' -> '.join(chain)}")
        for job in workflow.jobs:
            fault = self._fault_in_job(job, key, chain, allowed)
            if fault is not None:
                return fault
        return None

    def _fault_in_job(self, job: Job, key: str, chain: tuple[str, ...], allowed: Permissions) -> Refused | None:
        wanted = permissions_of(job.permissions)
        beyond = exceeding(wanted, allowed) if key else []
        if beyond:
            return _beyond(key, f"its job {job.id}", beyond)
        if not job.uses:
            return None
        other = call_key(job.uses, key)
        if other == key or other in chain:
            return Refused(
                "calls_circular", f"workflows call each other in a circle: {' -> '.join((*chain, key, other))}"
            )
        callee = self._called.get(other)
        if callee is None:
            return Refused("workflow_missing", f"the job {job.id} calls {other}, which cannot be found")
        fault = next(_faults_of_call(job, other, callee), None)
        if fault is not None:
            return fault
        passed = allowed if wanted is None else wanted
        own = permissions_of(callee.permissions)
        beyond = exceeding(own, passed)
        if beyond:
            return _beyond(other, "it", beyond)
        return self._fault_below(callee, other, (*chain, key), passed if own is None else own)

    def _fault_below(self, callee: Workflow, key: str, chain: tuple[str, ...], allowed: Permissions) -> Refused | None:
        seen = (key, None if allowed is None else tuple(allowed.items()))
        if seen in self._seen and self._heights.get(key, 0) >= len(chain):
            return None
        self._seen.add(seen)
        self._heights[key] = max(len(chain), self._heights.get(key, 0))
        return self.fault(callee, key, chain, allowed)


def _beyond(key: str, who: str, beyond: list[str]) -> Refused:
    return Refused("permissions_exceeded", f"{key}: {who} wants {', '.join(beyond)}, which its caller may not give")


def _faults_of_call(job: Job, key: str, callee: Workflow) -> Iterator[Refused]:
    """Yield what is wrong with the arguments of a call, as far as that can be told before the run."""
    trigger = callee.trigger("workflow_call")
    if trigger is None:
        yield Refused("workflow_not_callable", f"the job {job.id} calls {key}, which has no `on: workflow_call`")
        return
    yield from _faults_of_inputs(job, key, trigger)
    if job.secrets == "inherit":
        return
    known = {name.lower() for name in trigger.secrets}
    passed = {name.lower() for name in job.secrets}
    for name in job.secrets:
        if name.lower() not in known:
            yield Refused("call_wrong", f"the job {job.id} passes the secret {name}, which {key} does not know")
    for name, secret in trigger.secrets.items():
        if secret.required and name.lower() not in passed:
            yield Refused("call_wrong", f"the job {job.id} does not pass the secret {name}, which {key} requires")


def _faults_of_inputs(job: Job, key: str, trigger: Trigger) -> Iterator[Refused]:
    declared = {name.lower(): spec for name, spec in trigger.inputs.items()}
    passed = {name.lower() for name in job.with_}
    for name, value in job.with_.items():
        spec = declared.get(name.lower())
        if spec is None:
            yield Refused("call_wrong", f"the job {job.id} passes the input {name}, which {key} does not know")
        elif expected := misfit(spec, value):
            yield Refused("call_wrong", f"the job {job.id} passes the input {name}, which takes {expected}")
    for name, spec in trigger.inputs.items():
        if spec.required and name.lower() not in passed:
            yield Refused("call_wrong", f"the job {job.id} does not pass the input {name}, which {key} requires")
