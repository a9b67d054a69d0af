"""Making runs of what happened: which workflows of which commit answer, with which values, trusted or not.

What comes from a fork gets no secrets and begins only when somebody has approved it; the approval is of the run, and
so of the commit that its plan was made from (threat 12).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from sqlalchemy import Connection

from ostler.domain.machine import Refused
from ostler.effects import Effects
from ostler.protocol.v1.program import Scalar
from ostler.server.git.sources import Sources
from ostler.server.workflows.definitions import Definition, Definitions
from ostler.server.workflows.places import (
    MAY_BE_SKIPPED,
    Place,
    api_url,
    asks_to_be_skipped,
    changed_files,
    place_of,
    server_url,
)
from ostler.store import target_values, targets, triggers, workflow_runs, workflows
from ostler.store.database import Database
from ostler.store.targets import Repository
from ostler.store.triggers import Occurrence, Trigger
from ostler.store.workflow_runs import NewRun
from ostler.workflow import model
from ostler.workflow.filters import Happening, event_filter, keeps_out
from ostler.workflow.run.github import Facts, github_context
from ostler.workflow.run.given import Given
from ostler.workflow.run.inputs import dispatch_inputs, event_inputs
from ostler.workflow.run.plan import Plan, make_plan

MOST_RUNS = 200
"""So many workflows may answer one happening."""


class Started(NamedTuple):
    """The runs that follow from what happened, and what people should know."""

    run_ids: tuple[str, ...]
    outcome: str


class Values(NamedTuple):
    """What a repository gives to its runs."""

    variables: dict[str, str]
    secret_names: tuple[str, ...]


class Numbered(NamedTuple):
    """A workflow that answers, with the number and the id of the run that it gets."""

    definition: Definition
    workflow_id: str
    name: str
    number: int
    run_id: str


class Starter:
    """See the module."""

    def __init__(self, database: Database, sources: Sources, definitions: Definitions, effects: Effects) -> None:
        self._database = database
        self._sources = sources
        self._definitions = definitions
        self._effects = effects

    async def start(self, trigger: Trigger) -> Started | Refused:
        """Make and store the runs of one happening; a second time it has none."""
        repository = await self._database.read(targets.get, trigger.target_id)
        if isinstance(repository, Refused):
            return repository
        if repository.view.disabled:
            return await self._nothing(trigger, "the repository is disabled")
        origin, occurrence = self._definitions.origin(repository), trigger.occurrence
        place = await place_of(self._sources, origin, repository.view, occurrence)
        if isinstance(place, Refused):
            return place
        found = await self._definitions.at(repository, place.definition_sha)
        if isinstance(found, Refused):
            return found
        if await self._skipped(repository, occurrence, place):
            return await self._nothing(trigger, "the message of the commit asks to be skipped")
        answering, notes = await self._answering(trigger, repository, found)
        if not answering:
            return await self._nothing(trigger, "; ".join(notes) or "no workflow answers it")
        return await self._started(trigger, repository, place, answering, notes)

    async def _started(
        self,
        trigger: Trigger,
        repository: Repository,
        place: Place,
        answering: Sequence[Definition],
        notes: list[str],
    ) -> Started | Refused:
        values = await self._database.read(_values, repository.view.id)
        drawn = [(each, self._effects.ids.new("run"), self._effects.ids.new("wfl")) for each in answering]
        numbered = await self._database.run(_number, repository.view.id, drawn, self._effects.clock.now())
        runs: list[NewRun] = []
        for each in numbered:
            plan = await self._plan(trigger, repository, place, each, values)
            if isinstance(plan, Refused):
                if trigger.workflow_id is not None:
                    return plan
                notes.append(f"{each.definition.path}: {plan.reason}")
                continue
            runs.append(_new_run(trigger, repository, place, each, plan))
        outcome = "; ".join([*(f"started {run.run_id}" for run in runs), *notes])
        stored = await self._database.run(_store, trigger, runs, outcome, self._effects.clock.now())
        return Started(tuple(run.run_id for run in runs) if stored else (), outcome)

    async def _answering(
        self, trigger: Trigger, repository: Repository, found: Mapping[str, Definition]
    ) -> tuple[list[Definition], list[str]]:
        known = {each.path: each for each in await self._database.read(workflows.of_target, repository.view.id)}
        wanted = next((each.path for each in known.values() if each.id == trigger.workflow_id), None)
        happening = await self._happening(trigger.occurrence, repository, found)
        answering: list[Definition] = []
        notes: list[str] = []
        for path, definition in found.items():
            if trigger.workflow_id is not None and path != wanted:
                continue
            if definition.workflow is None:
                notes.append(f"{path}: {definition.fault}")
                continue
            if path in known and known[path].disabled:
                notes.append(f"{path}: it is disabled")
                continue
            why_not = _keeps_out(definition.workflow, happening, trigger.occurrence)
            if why_not is None:
                continue
            if why_not:
                notes.append(f"{path}: {why_not}")
            else:
                answering.append(definition)
        if trigger.workflow_id is not None and not answering and not notes:
            notes.append(f"{wanted or 'the workflow'} is not there, or does not know {trigger.occurrence.event}")
        return answering[:MOST_RUNS], notes

    async def _happening(
        self, occurrence: Occurrence, repository: Repository, found: Mapping[str, Definition]
    ) -> Happening:
        on = [each.workflow.trigger(occurrence.event) for each in found.values() if each.workflow is not None]
        by_files = any(each is not None and {"paths", "paths-ignore"} & each.lists.keys() for each in on)
        origin = self._definitions.origin(repository)
        files = await changed_files(self._sources, origin, repository.view, occurrence) if by_files else None
        return Happening(
            event=occurrence.event,
            ref=occurrence.ref,
            base=occurrence.base,
            type=occurrence.type,
            workflow=occurrence.workflow,
            files=files,
        )

    async def _skipped(self, repository: Repository, occurrence: Occurrence, place: Place) -> bool:
        if occurrence.event not in MAY_BE_SKIPPED:
            return False
        sha = occurrence.head_sha or place.sha
        described = await self._sources.describe(self._definitions.origin(repository), sha)
        return not isinstance(described, Refused) and asks_to_be_skipped(described.message)

    async def _plan(
        self, trigger: Trigger, repository: Repository, place: Place, run: Numbered, values: Values
    ) -> Plan | Refused:
        workflow, occurrence = run.definition.workflow, trigger.occurrence
        if workflow is None:
            return Refused("workflow_missing", run.definition.fault)
        called = await self._definitions.called(repository, place.definition_sha, workflow)
        if isinstance(called, Refused):
            return called
        pins = await self._definitions.pins(repository, place.definition_sha)
        if isinstance(pins, Refused):
            return pins
        on, inputs, event = workflow.trigger(occurrence.event), dict(occurrence.inputs), dict(occurrence.payload)
        if occurrence.event == "workflow_dispatch" and on is not None:
            typed = dispatch_inputs(on, cast("Mapping[str, Scalar]", inputs))
            if isinstance(typed, Refused):
                return Refused("value_refused", typed.reason)
            inputs = typed
            event["inputs"] = event_inputs(inputs)
        trusted = not occurrence.fork
        facts = Facts(
            event_name=occurrence.event,
            event=event,
            repository=repository.view.full_name,
            ref=place.ref,
            sha=place.sha,
            actor=trigger.actor,
            workflow=workflow.name or workflow.path,
            path=workflow.path,
            run_id=run.run_id,
            run_number=run.number,
            base_ref=occurrence.base,
            head_ref=occurrence.head,
            server_url=server_url(repository.view),
            api_url=api_url(repository.view),
        )
        given = Given(
            github=github_context(facts),
            inputs=inputs,
            vars=values.variables,
            secrets=values.secret_names if trusted else (),
            trusted=trusted,
            approved=trusted,
            clone_url=repository.view.clone_url,
            actions=pins,
        )
        return make_plan(workflow, called, given)

    async def _nothing(self, trigger: Trigger, outcome: str) -> Started:
        await self._database.run(triggers.done, trigger.id, outcome)
        return Started((), outcome)


def _keeps_out(workflow: model.Workflow, happening: Happening, occurrence: Occurrence) -> str | None:
    """Return why a workflow does not answer, nothing if it does, and None if it does not know the event at all."""
    on = workflow.trigger(occurrence.event)
    if on is None:
        return None
    if occurrence.event == "schedule":
        return "" if any(each.cron == occurrence.schedule for each in on.schedules) else "its schedule has changed"
    filters = event_filter({key: list(values) for key, values in on.lists.items()}, types=on.types)
    return filters.reason if isinstance(filters, Refused) else keeps_out(filters, happening)


def _new_run(trigger: Trigger, repository: Repository, place: Place, run: Numbered, plan: Plan) -> NewRun:
    return NewRun(
        run_id=run.run_id,
        target_id=repository.view.id,
        workflow_id=run.workflow_id,
        trigger_id=trigger.id,
        number=run.number,
        event=trigger.occurrence.event,
        ref=place.ref,
        sha=trigger.occurrence.head_sha or place.sha,
        actor=trigger.actor,
        trusted=plan.given.trusted,
        pool=repository.view.pool,
        plan=plan,
    )


def _values(connection: Connection, target_id: str) -> Values:
    names = target_values.sealed_secrets(connection, target_id)
    return Values(target_values.variables(connection, target_id), tuple(sorted(names)))


def _number(
    connection: Connection, target_id: str, drawn: Sequence[tuple[Definition, str, str]], now: int
) -> list[Numbered]:
    numbered: list[Numbered] = []
    for definition, run_id, workflow_id in drawn:
        named = definition.workflow.name if definition.workflow is not None else ""
        name = named or definition.path
        known = workflows.ensure(connection, target_id, definition.path, name, workflow_id, now)
        number = workflows.next_number(connection, known.id)
        numbered.append(Numbered(definition, known.id, name, number, run_id))
    return numbered


def _store(connection: Connection, trigger: Trigger, runs: Sequence[NewRun], outcome: str, now: int) -> bool:
    """Store the runs and what became of the trigger; ``False`` if another replica was faster."""
    if not triggers.done(connection, trigger.id, outcome):
        return False
    for run in runs:
        workflow_runs.insert(connection, run, now)
    return True
