"""What each context holds in the place where an expression stands."""

from collections.abc import Iterable, Iterator

from ostler.workflow import plain
from ostler.workflow.checks import calls
from ostler.workflow.checks.action_inputs import known_action
from ostler.workflow.checks.nearby import local_path
from ostler.workflow.checks.sheet import JobPart, Sheet, StepPart, literal
from ostler.workflow.checks.types import (
    ANY,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    Single,
    Structure,
    Type,
    described,
    structure,
)
from ostler.workflow.language import contexts
from ostler.workflow.language.events import EVENTS
from ostler.workflow.nodes import Entry, MappingNode, Node, SequenceNode
from ostler.workflow.structure import Path

_SORTS = {"boolean": FLAG, "number": NUMBER}


class Contexts:
    """The contexts of one file. What does not depend on the place is made once."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._jobs = {job.key.text: job for job in sheet.jobs}
        self._by_lowered = {job.key.text.lower(): job for job in sheet.jobs}
        self._steps: dict[int, Structure] = {}
        self._fixed: dict[str, Type] = {
            "github": _github(),
            "env": TEXTS,
            "vars": TEXTS,
            "secrets": TEXTS,
            "runner": structure("`runner`", described(contexts.RUNNER)),
            "strategy": structure("`strategy`", described(contexts.STRATEGY)),
            "inputs": _inputs(sheet),
            "jobs": structure("`jobs`", {job.key.text: self._result(job) for job in sheet.jobs}),
        }

    def get(self, name: str, path: Path) -> Type:
        """Return what a context holds in a place."""
        job = self._jobs.get(str(path[1])) if len(path) > 1 and path[0] == "jobs" else None
        match name:
            case "matrix":
                return _matrix(self._sheet, job)
            case "needs":
                return self._needs(job)
            case "steps":
                return self._known_steps(job, path)
            case "job":
                return _job(job)
            case _:
                return self._fixed.get(name, ANY)

    def _needs(self, job: JobPart | None) -> Type:
        if job is None:
            return ANY
        there = [need.text for need in job.needs if need.text.lower() in self._by_lowered]
        known = {need: self._result(self._by_lowered[need.lower()]) for need in there}
        fix = f"Add it to `needs` of {job.key.text!r}."
        return structure("`needs`", known, None if len(known) == len(job.needs) else ANY, fix=fix)

    def _result(self, job: JobPart) -> Type:
        names = self._outputs(job)
        noun = f"the outputs of the job {job.key.text!r}"
        outputs = TEXTS if names is None else structure(noun, dict.fromkeys(names, TEXT))
        return structure("the result of a job", {"result": Single("text", contexts.RESULTS), "outputs": outputs})

    def _outputs(self, job: JobPart) -> Iterable[str] | None:
        uses = plain.text(job.node.get("uses"))
        if uses:
            path = local_path(uses)
            return calls.outputs(self._sheet.files, path) if path and self._sheet.files is not None else None
        entries = plain.entries(job.node.get("outputs"))
        if any("${{" in entry.key.text for entry in entries) or plain.is_template(job.node.get("outputs")):
            return None
        return [entry.key.text for entry in entries]

    def _known_steps(self, job: JobPart | None, path: Path) -> Type:
        steps = self._sheet.steps if self._sheet.kind == "action" else (job.steps if job is not None else ())
        at = next((position for position, key in enumerate(path) if key == "steps"), None)
        if at is None:
            if "container" in path or "services" in path:
                return ANY
            known, fix = steps, ""
        else:
            position = path[at + 1] if len(path) > at + 1 else 0
            known = tuple(step for step in steps if isinstance(position, int) and step.position < position)
            fix = "Only steps before this one are known here."
        return structure("`steps`", dict(self._step(step) for step in known if step.id is not None), fix=fix)

    def _step(self, step: StepPart) -> tuple[str, Structure]:
        id_ = "" if step.id is None else step.id.text
        if id(step.node) not in self._steps:
            entries = described(contexts.STEP)
            known = known_action(plain.text(step.node.get("uses")), self._sheet.files)
            entries["outputs"] = TEXTS
            if known is not None and known.outputs is not None:
                entries["outputs"] = structure(f"the outputs of the step {id_!r}", dict.fromkeys(known.outputs, TEXT))
            self._steps[id(step.node)] = structure("a step", entries)
        return id_, self._steps[id(step.node)]


def _github() -> Structure:
    entries = described(contexts.GITHUB)
    entries["event"] = structure("`github.event`", {"inputs": TEXTS}, ANY)
    entries["event_name"] = Single("text", (*EVENTS, "dynamic"))
    entries["ref"] = Single("text", begins="refs/")
    return structure("`github`", entries)


def _inputs(sheet: Sheet) -> Type:
    if sheet.kind == "action":
        declared = plain.entries(sheet.root.get("inputs"))
        return structure("the inputs of this action", {entry.key.text: TEXT for entry in declared})
    on = sheet.root.get("on")
    known: dict[str, Type] = {}
    for entry in (*_declared(on, "workflow_dispatch"), *_declared(on, "workflow_call")):
        name = entry.key.text.lower()
        type_ = _input(entry)
        known[name] = type_ if known.get(name, type_) == type_ else ANY
    fix = "Declare it below `workflow_call` or `workflow_dispatch`."
    return structure("the inputs of this workflow", known, fix=fix, optional=True)


def _declared(on: Node | None, event: str) -> Iterator[Entry]:
    yield from plain.entries(plain.get(plain.get(on, event), "inputs"))


def _input(entry: Entry) -> Type:
    kind = literal(plain.get(entry.value, "type"))
    if kind == "choice":
        options = plain.texts(plain.get(entry.value, "options"))
        return Single("text", ("", *options)) if options else TEXT
    return _SORTS.get(kind, TEXT)


def _matrix(sheet: Sheet, job: JobPart | None) -> Type:
    node = None if job is None else plain.get(job.node.get("strategy"), "matrix")
    if sheet.kind == "action" or (job is not None and not isinstance(node, MappingNode) and node is not None):
        return OBJECT
    if job is not None and plain.is_template(job.node.get("strategy")):
        return OBJECT
    include = plain.get(node, "include")
    keys = [entry.key.text for entry in plain.entries(node) if entry.key.text not in ("include", "exclude")]
    items = include.items if isinstance(include, SequenceNode) else ()
    keys += [entry.key.text for item in items for entry in plain.entries(item)]
    if any("${{" in key for key in keys) or plain.is_template(include) or any(map(plain.is_template, items)):
        return OBJECT
    fix = "" if keys else "This job has no matrix."
    return structure("the matrix", dict.fromkeys(keys, ANY), fix=fix, optional=True)


def _job(job: JobPart | None) -> Type:
    entries = described(contexts.JOB)
    place = {"id": TEXT, "network": TEXT}
    entries["container"] = structure("the container", place)
    services = None if job is None else job.node.get("services")
    if isinstance(services, MappingNode) and not any("${{" in entry.key.text for entry in services):
        service = structure("a service", {**place, "ports": Structure("the ports", {}, TEXT)})
        entries["services"] = structure("the services", {entry.key.text: service for entry in services})
    return structure("`job`", entries)
