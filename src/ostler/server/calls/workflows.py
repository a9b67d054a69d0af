"""Workflows and happenings of a repository, for people's clients."""

from collections.abc import Sequence

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.domain.repository import checked_reference
from ostler.effects import Effects
from ostler.protocol.endpoint import Nothing
from ostler.protocol.problem import PROBLEMS, problem
from ostler.protocol.v1.repository_messages import TriggersReply
from ostler.protocol.v1.workflow_messages import (
    DispatchReply,
    DispatchRequest,
    InputView,
    RepositoryDispatchRequest,
    ScheduleView,
    UpdateWorkflowRequest,
    WorkflowsReply,
    WorkflowView,
)
from ostler.protocol.v1.workflow_table import (
    DISPATCH_REPOSITORY,
    DISPATCH_WORKFLOW,
    GET_WORKFLOW,
    LIST_TRIGGERS,
    LIST_WORKFLOWS,
    SYNC_REPOSITORY,
    UPDATE_WORKFLOW,
)
from ostler.server.call import Call, Handlers, Refusal, accepted
from ostler.server.workflows.inbox import Inbox
from ostler.server.workflows.starting import Started
from ostler.server.workflows.syncing import Syncer
from ostler.store import schedules, targets, triggers, workflows
from ostler.store.database import Database
from ostler.store.schedules import Due
from ostler.store.triggers import Occurrence, Trigger
from ostler.store.workflows import Workflow

_UNREADABLE = frozenset({"fetch_failed", "address_refused"})


class WorkflowCalls:
    """See the module."""

    def __init__(self, database: Database, inbox: Inbox, syncer: Syncer, effects: Effects) -> None:
        self._database = database
        self._inbox = inbox
        self._syncer = syncer
        self._effects = effects

    def handlers(self) -> Handlers:
        """The rows served here."""
        return {
            SYNC_REPOSITORY: self.sync,
            LIST_WORKFLOWS: self.list_workflows,
            GET_WORKFLOW: self.get,
            UPDATE_WORKFLOW: self.update,
            DISPATCH_WORKFLOW: self.dispatch,
            DISPATCH_REPOSITORY: self.dispatch_repository,
            LIST_TRIGGERS: self.list_triggers,
        }

    async def sync(self, call: Call[Nothing]) -> WorkflowsReply:
        """Read the default branch again."""
        await self.read_again(call.path["repository"])
        return await self.list_workflows(call)

    async def read_again(self, repository: str) -> None:
        """Read the default branch of a repository again, for pages too."""
        _answer(await self._syncer.sync(repository))

    async def list_workflows(self, call: Call[Nothing]) -> WorkflowsReply:
        """The workflows of a repository."""
        return WorkflowsReply(accepted(await self._database.read(_views, call.path["repository"])))

    async def get(self, call: Call[Nothing]) -> WorkflowView:
        """One workflow."""
        path = call.path
        return accepted(await self._database.read(_one, path["repository"], path["workflow"]))

    async def update(self, call: Call[UpdateWorkflowRequest]) -> WorkflowView:
        """Stop a workflow, or let it go on."""
        path, disabled = call.path, call.body.disabled
        accepted(await self._database.run(workflows.disable, path["repository"], path["workflow"], disabled=disabled))
        return accepted(await self._database.read(_one, path["repository"], path["workflow"]))

    async def dispatch(self, call: Call[DispatchRequest]) -> DispatchReply:
        """Run a workflow by hand."""
        return await self.start(call.path["repository"], call.path["workflow"], call.body, call.user.name)

    async def start(self, target: str, name: str, asked: DispatchRequest, actor: str) -> DispatchReply:
        """Run a workflow for somebody, for pages too."""
        if asked.ref:
            accepted(checked_reference(asked.ref))
        workflow = await self._known(target, name)
        repository = accepted(await self._database.read(targets.view, target))
        occurrence = Occurrence(
            event="workflow_dispatch",
            ref=asked.ref or repository.default_branch,
            inputs=asked.inputs,
            payload={
                "ref": asked.ref or repository.default_branch,
                "workflow": workflow.path,
                "repository": {"full_name": repository.full_name, "default_branch": repository.default_branch},
                "sender": {"login": actor},
            },
        )
        started = await self._happened(workflow.target_id, actor, occurrence, workflow.id)
        if not started.run_ids:
            raise Refusal(problem("workflow_refused", started.outcome))
        return DispatchReply(list(started.run_ids), started.outcome)

    async def dispatch_repository(self, call: Call[RepositoryDispatchRequest]) -> DispatchReply:
        """Tell a repository of an event of one's own."""
        repository = accepted(await self._database.read(targets.view, call.path["repository"]))
        occurrence = Occurrence(
            event="repository_dispatch",
            type=call.body.event_type,
            payload={
                "action": call.body.event_type,
                "branch": repository.default_branch,
                "client_payload": call.body.client_payload,
                "repository": {"full_name": repository.full_name, "default_branch": repository.default_branch},
                "sender": {"login": call.user.name},
            },
        )
        started = await self._happened(repository.id, call.user.name, occurrence)
        return DispatchReply(list(started.run_ids), started.outcome)

    async def list_triggers(self, call: Call[Nothing]) -> TriggersReply:
        """What happened last."""
        return TriggersReply(accepted(await self._database.read(triggers.list_recent, call.path["repository"])))

    async def _known(self, repository: str, workflow: str) -> Workflow:
        """Return a workflow, after a look at the repository if it is not known yet."""
        found = await self._database.read(workflows.get, repository, workflow)
        if isinstance(found, Refused):
            _answer(await self._syncer.sync(repository))
            found = await self._database.read(workflows.get, repository, workflow)
        return accepted(found)

    async def _happened(
        self, target_id: str, actor: str, occurrence: Occurrence, workflow_id: str | None = None
    ) -> Started:
        trigger = Trigger(
            id=self._effects.ids.new("trg"),
            target_id=target_id,
            source="api",
            actor=actor,
            occurrence=occurrence,
            workflow_id=workflow_id,
        )
        outcome = _answer(await self._inbox.now(trigger))
        if not isinstance(outcome, Started):
            raise TypeError("a happening was answered with something else")
        return outcome


def _answer(outcome: object) -> object:
    """Return an outcome, or raise its refusal as a problem that these calls know."""
    if not isinstance(outcome, Refused):
        return outcome
    if outcome.code in _UNREADABLE:
        raise Refusal(problem("repository_unreadable", outcome.reason))
    code = outcome.code if outcome.code in PROBLEMS else "workflow_refused"
    raise Refusal(problem(code, outcome.reason))


def _views(connection: Connection, target: str) -> list[WorkflowView] | Refused:
    known = workflows.list_all(connection, target)
    if isinstance(known, Refused):
        return known
    due = schedules.of_workflows(connection, [each.id for each in known])
    return [_view(each, due.get(each.id, ())) for each in known]


def _one(connection: Connection, target: str, workflow: str) -> WorkflowView | Refused:
    found = workflows.get(connection, target, workflow)
    if isinstance(found, Refused):
        return found
    return _view(found, schedules.of_workflows(connection, [found.id]).get(found.id, ()))


def _view(workflow: Workflow, due: Sequence[Due]) -> WorkflowView:
    by_hand = workflow.trigger("workflow_dispatch")
    return WorkflowView(
        id=workflow.id,
        name=workflow.name,
        path=workflow.path,
        events=[trigger.event for trigger in workflow.on],
        inputs=[
            InputView(
                name=name,
                type=each.type,
                required=each.required,
                default=each.default,
                description=each.description,
                options=list(each.options),
            )
            for name, each in (by_hand.inputs.items() if by_hand is not None else ())
        ],
        schedules=[ScheduleView(each.cron, each.timezone, each.next_at, each.last_at) for each in due],
        dispatchable=by_hand is not None,
        present=workflow.present,
        disabled=workflow.disabled,
        fault=workflow.fault,
        runs=workflow.last_number,
    )
