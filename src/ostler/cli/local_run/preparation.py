"""From a chosen workflow to a plan: called files are read, the event becomes a context, inputs get their types."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ostler.actions.library.lock import PLACES as LOCK_FILES, parse_lock
from ostler.cli.local_run.cells import check_cells
from ostler.cli.local_run.errors import NothingChosen, PlanRefused, WorkflowMissing
from ostler.cli.local_run.request import Request
from ostler.cli.local_run.selection import Chosen
from ostler.cli.local_run.working_tree import WorkingTree
from ostler.domain.machine import Refused
from ostler.workflow.model import Job, Workflow
from ostler.workflow.run.calling import missing
from ostler.workflow.run.github import Facts, github_context
from ostler.workflow.run.given import Given
from ostler.workflow.run.inputs import dispatch_inputs, event_inputs
from ostler.workflow.run.plan import Plan, make_plan

Load = Callable[[Path], Workflow]
_SWITCHES = ("ACTIONS_STEP_DEBUG", "ACTIONS_RUNNER_DEBUG")


def prepare(chosen: Chosen, request: Request, tree: WorkingTree, run_id: str, load: Load) -> Plan:
    """Return the plan of a run, or raise what keeps it from being made."""
    workflow = only_jobs(chosen.workflow, request.jobs)
    check_cells(workflow, request.matrix)
    inputs = _inputs(chosen, request)
    event = chosen.payload
    if "inputs" in event:
        event = {**event, "inputs": event_inputs(inputs) or None}
    facts = _facts(chosen, event, tree, run_id)
    debug = request.debug or any(
        (request.secrets.get(switch) or request.variables.get(switch)) == "true" for switch in _SWITCHES
    )
    plan = make_plan(
        workflow,
        _called(workflow, tree.root, load),
        Given(
            github=github_context(facts),
            inputs=inputs,
            vars=request.variables,
            secrets=tuple(request.secrets),
            debug=debug,
            clone_url=tree.url,
            actions=_pins(tree.root),
        ),
    )
    if isinstance(plan, Refused):
        raise PlanRefused(plan.reason)
    return plan


def _pins(root: Path) -> dict[str, str]:
    """Return what the repository's lock file says of actions."""
    for name in LOCK_FILES:
        if (root / name).is_file():
            lock = parse_lock((root / name).read_bytes())
            if isinstance(lock, Refused):
                raise PlanRefused(f"{name}: {lock.reason}")
            return lock.pins
    return {}


def only_jobs(workflow: Workflow, names: tuple[str, ...]) -> Workflow:
    """Return the workflow with these jobs and all that they need."""
    if not names:
        return workflow
    wanted: dict[str, Job] = {}
    queue = list(names)
    while queue:
        job = workflow.job(queue[0])
        if job is None:
            known = ", ".join(each.id for each in workflow.jobs)
            raise NothingChosen(f"{workflow.path} has no job {queue[0]!r}", fix=f"its jobs are: {known}")
        queue = [*queue[1:], *(name for name in job.needs if name not in wanted)]
        wanted[job.id] = job
    return msgspec.structs.replace(workflow, jobs=tuple(job for job in workflow.jobs if job.id in wanted))


def run_number(run_id: str) -> str:
    """Return the digits that stand for a run in `github.run_id`, where actions expect a number."""
    return str(int.from_bytes(run_id.encode()[-6:]))


def _inputs(chosen: Chosen, request: Request) -> dict[str, Any]:
    trigger = chosen.workflow.trigger(chosen.event)
    if trigger is None or chosen.event not in ("workflow_dispatch", "workflow_call"):
        return {}
    given: dict[str, Any] = {**(chosen.payload.get("inputs") or {}), **request.inputs}
    inputs = dispatch_inputs(trigger, given)
    if isinstance(inputs, Refused):
        raise PlanRefused(inputs.reason, fix="give inputs with --input NAME=VALUE")
    return inputs


def _facts(chosen: Chosen, event: dict[str, Any], tree: WorkingTree, run_id: str) -> Facts:
    pull: dict[str, Any] = event.get("pull_request") or {}
    repository: dict[str, Any] = event.get("repository") or {}
    sender: dict[str, Any] = event.get("sender") or {}
    workflow = chosen.workflow
    return Facts(
        event_name=chosen.event,
        event=event,
        repository=str(repository.get("full_name") or tree.repository),
        ref=_ref(chosen.event, event, tree),
        sha=str(event.get("after") or tree.sha),
        actor=str(sender.get("login") or tree.person.login),
        workflow=workflow.name or workflow.path,
        path=workflow.path,
        run_id=run_number(run_id),
        run_number=1,
        base_ref=_side(pull, "base"),
        head_ref=_side(pull, "head"),
        actor_id="1",
        repository_id="1",
        repository_owner_id="1",
        server_url=tree.server,
    )


def _ref(name: str, event: dict[str, Any], tree: WorkingTree) -> str:
    """Return the reference that an event is about, as the forge has it."""
    if name.startswith("pull_request") and name != "pull_request_target" and event.get("number"):
        return f"refs/pull/{event['number']}/merge"
    release: dict[str, Any] = event.get("release") or {}
    if name == "release" and release.get("tag_name"):
        return f"refs/tags/{release['tag_name']}"
    group: dict[str, Any] = event.get("merge_group") or {}
    if name == "merge_group" and group.get("head_ref"):
        return str(group["head_ref"])
    ref = event.get("ref")
    if name == "push" and isinstance(ref, str):
        return ref
    if name == "workflow_dispatch" and isinstance(ref, str) and ref.startswith("refs/"):
        return ref
    return tree.ref


def _side(pull: dict[str, Any], side: str) -> str:
    found: dict[str, Any] = pull.get(side) or {}
    return str(found.get("ref") or "")


def _called(workflow: Workflow, root: Path, load: Load) -> dict[str, Workflow]:
    """Return all workflows that are called, directly or by others."""
    called: dict[str, Workflow] = {}
    while names := missing(workflow, called):
        for name in names:
            if not name.startswith("./"):
                raise WorkflowMissing(
                    f"{workflow.path} calls {name}, a workflow of another repository",
                    fix="copy it into this repository, or run it on the server",
                )
            path = root / name
            if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
                raise WorkflowMissing(f"{workflow.path} calls {name}, which is not there")
            called[name] = load(path)
    return called
