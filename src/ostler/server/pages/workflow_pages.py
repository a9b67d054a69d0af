"""The pages about workflows: the list by repository, and one workflow with its runs and the form that starts it."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.protocol.problem import problem
from ostler.protocol.v1.program import Raw
from ostler.protocol.v1.repository_messages import RepositoryView
from ostler.protocol.v1.workflow_messages import DispatchRequest
from ostler.server.call import Refusal, accepted
from ostler.server.calls.workflows import WorkflowCalls
from ostler.server.pages import wording
from ostler.server.pages.exchange import Drawn, Moved, PageRequest
from ostler.server.pages.rendering import utc
from ostler.server.pages.roles import operates
from ostler.server.pages.views import Button, Choice, Link, RunRow
from ostler.server.pages.workflow_views import (
    DispatchField,
    DispatchForm,
    Input,
    RepositoryGroup,
    WorkflowRow,
    WorkflowsView,
    WorkflowView,
)
from ostler.store import schedules, targets, workflow_lists, workflows
from ostler.store.database import Database
from ostler.store.schedules import Due
from ostler.store.workflow_lists import ListedRun
from ostler.store.workflows import Workflow
from ostler.workflow.model import Input as Wanted

_PREFIX: Final = "input."
_KINDS: Final[dict[str, Input]] = {"boolean": "checkbox", "number": "number", "choice": "choice"}


class WorkflowPages:
    """See the module."""

    def __init__(self, database: Database, calls: WorkflowCalls) -> None:
        self._database = database
        self._calls = calls

    async def workflows(self, request: PageRequest) -> Drawn:
        """All workflows, by repository."""
        found, last = await self._database.read(_all)
        groups = tuple(_group(repository, known, last) for repository, known in found)
        return Drawn(
            "workflows", "Workflows", "workflows", WorkflowsView(repositories=groups, can_sync=operates(request.person))
        )

    async def workflow(self, request: PageRequest) -> Drawn:
        """One workflow."""
        return await self._drawn(request, {}, "")

    async def sync(self, request: PageRequest) -> Moved:
        """Read a repository again; what keeps it from being read is shown beside it."""
        repository = accepted(await self._database.read(targets.view, request.values["repository"]))
        try:
            await self._calls.read_again(repository.id)
        except Refusal as refusal:
            if refusal.problem.code != "repository_unreadable":
                raise
        return Moved("/workflows")

    async def change(self, request: PageRequest) -> Moved:
        """Enable or disable."""
        change = request.values["change"]
        if change not in ("enable", "disable"):
            raise Refusal(problem("not_found", "a workflow can be enabled or disabled"))
        found = await self._known(request)
        disabled = change == "disable"
        accepted(await self._database.run(workflows.disable, found.target_id, found.id, disabled=disabled))
        return Moved(f"/workflows/{found.id}")

    async def dispatch(self, request: PageRequest) -> Drawn | Moved:
        """Start it by hand, or show the form again with what is wrong."""
        found = await self._known(request)
        by_hand = found.trigger("workflow_dispatch")
        wanted = by_hand.inputs if by_hand is not None else {}
        typed = {name: request.form.get(f"{_PREFIX}{name}", "") for name in wanted}
        ref = request.form.get("ref", "").strip()[:250]
        asked = DispatchRequest(ref=ref, inputs={name: _given(wanted[name], text) for name, text in typed.items()})
        try:
            started = await self._calls.start(found.target_id, found.id, asked, request.person.name)
        except Refusal as refusal:
            if refusal.problem.status >= 500:
                raise
            return await self._drawn(request, {**typed, "": ref}, refusal.problem.detail or refusal.problem.title)
        return Moved(f"/runs/{started.run_ids[0]}")

    async def _known(self, request: PageRequest) -> Workflow:
        found = await self._database.read(workflows.by_id, request.values["workflow"])
        if found is None:
            raise Refusal(problem("not_found", f"there is no workflow {request.values['workflow']!r}"))
        return found

    async def _drawn(self, request: PageRequest, typed: Mapping[str, str], wrong: str) -> Drawn:
        found = await self._known(request)
        before = request.query.get("before", "")
        repository, due, runs = await self._database.read(_one, found, before)
        shown, more = runs[: workflow_lists.PAGE], len(runs) > workflow_lists.PAGE
        operator = operates(request.person)
        view = WorkflowView(
            workflow=_row(found, runs[0] if runs and not before else None),
            repository=repository.name,
            facts=_facts(due),
            runs=tuple(_run_row(run, repository.name) for run in shown),
            next_href=f"/workflows/{found.id}?{urlencode({'before': shown[-1].run_id})}" if more else "",
            query=urlencode({"before": before}) if before else "",
            dispatch=_form(found, repository, typed, wrong) if operator and not found.disabled else None,
            buttons=(_button(found),) if operator else (),
        )
        return Drawn("workflow", found.name, "workflows", view, 422 if wrong else 200)


_Listed = tuple[list[tuple[RepositoryView, list[Workflow]]], dict[str, ListedRun]]


def _all(connection: Connection) -> _Listed:
    found = [(each, workflows.of_target(connection, each.id)) for each in targets.list_all(connection)]
    ids = [workflow.id for _, known in found for workflow in known]
    return found, workflow_lists.latest(connection, ids)


def _one(
    connection: Connection, workflow: Workflow, before: str
) -> tuple[RepositoryView, tuple[Due, ...], list[ListedRun]]:
    repository = targets.view(connection, workflow.target_id)
    if isinstance(repository, Refused):
        raise LookupError(repository.reason)  # noqa: TRY004 - a workflow whose repository is gone, not a wrong type
    due = schedules.of_workflows(connection, [workflow.id]).get(workflow.id, ())
    return repository, tuple(due), workflow_lists.page(connection, workflow.id, before)


def _group(repository: RepositoryView, known: list[Workflow], last: Mapping[str, ListedRun]) -> RepositoryGroup:
    return RepositoryGroup(
        id=repository.id,
        name=repository.name,
        clone_url=repository.clone_url,
        default_branch=repository.default_branch,
        synced_at=repository.synced_at,
        fault=repository.fault,
        workflows=tuple(_row(each, last.get(each.id)) for each in known if each.present or each.id in last),
    )


def _row(workflow: Workflow, last: ListedRun | None) -> WorkflowRow:
    return WorkflowRow(
        id=workflow.id,
        name=workflow.name,
        path=workflow.path,
        events=tuple(trigger.event for trigger in workflow.on),
        status=wording.RUN[last.state] if last else None,
        last_run=Link(f"#{last.number}", f"/runs/{last.run_id}") if last else None,
        last_at=last.created_at if last else None,
        disabled=workflow.disabled,
        fault=workflow.fault,
    )


def _run_row(run: ListedRun, repository: str) -> RunRow:
    branch = run.ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    ended, began = run.finished_at, run.started_at
    again = f", attempt {run.attempt}" if run.attempt > 1 else ""
    return RunRow(
        id=run.run_id,
        title=f"{run.name} #{run.number}",
        status=wording.RUN[run.state],
        target=repository,
        trigger=f"{run.event} by {run.actor} on {branch}{again}",
        created_at=run.created_at,
        started_at=began if ended is None else None,
        duration_ms=(ended - began) // 1000 if ended is not None and began is not None else None,
    )


def _facts(due: tuple[Due, ...]) -> tuple[tuple[str, str], ...]:
    return tuple(("Next run", f"{utc(each.next_at)} ({each.cron}, {each.timezone})") for each in due)


def _button(workflow: Workflow) -> Button:
    at = f"/workflows/{workflow.id}"
    if workflow.disabled:
        return Button(text="Enable", action=f"{at}/enable", main=True)
    return Button(text="Disable", action=f"{at}/disable", danger=True)


def _form(workflow: Workflow, repository: RepositoryView, typed: Mapping[str, str], wrong: str) -> DispatchForm | None:
    by_hand = workflow.trigger("workflow_dispatch")
    if by_hand is None:
        return None
    fields: list[DispatchField] = []
    for name, wanted in by_hand.inputs.items():
        value = typed.get(name, _written(wanted.default))
        options = wanted.options if wanted.type == "choice" else ()
        fields.append(
            DispatchField(
                name=name,
                label=wanted.description or name,
                kind=_KINDS.get(wanted.type, "text"),
                value=value,
                required=wanted.required,
                choices=tuple(Choice(each, each, chosen=each == value) for each in options),
            )
        )
    return DispatchForm(
        ref=typed.get("") or repository.default_branch, fields=tuple(fields), problem=wrong, opened=bool(wrong)
    )


def _given(wanted: Wanted, text: str) -> Raw:
    """Return what was typed as the run takes it: a box that is not ticked says false."""
    return text == "true" if wanted.type == "boolean" else text


def _written(default: Raw) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, float):
        return f"{default:g}"
    return str(default or "")
