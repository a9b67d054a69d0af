"""Actions that are a program: JavaScript for Node, and those that are built in."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Final

from ostler.actions.builtin.services import Services as BuiltinServices
from ostler.actions.engine.calls import Call
from ostler.actions.engine.evaluation import text, variables
from ostler.actions.engine.frame import Frame, StepFault
from ostler.actions.engine.machine import Outcome
from ostler.actions.engine.scope import JobState
from ostler.actions.engine.script import show_env
from ostler.actions.engine.shells import which
from ostler.actions.engine.variables import SEARCH_PATH, service_variables
from ostler.actions.reach import for_jobs
from ostler.workflow.action_model import NodeRuns

_SUBSTITUTES: Final = {
    "node12": ("node20", "node22", "node24"),
    "node16": ("node20", "node22", "node24"),
    "node20": ("node20", "node22", "node24"),
    "node22": ("node22", "node24"),
    "node24": ("node24", "node22", "node20"),
}
"""Which configured Node runs what; the published bundles for 24 start under 20 as well."""


async def run_program(frame: Frame, call: Call, runs: NodeRuns, script: str) -> Outcome:
    """Run one of the scripts of an action: its pre, main or post."""
    inputs = action_inputs(frame, call)
    announce(frame, call, inputs)
    given = {**input_variables(inputs), **{f"STATE_{name}": value for name, value in call.state.items()}}
    github = {"action_repository": call.at.repository, "action_ref": call.at.ref, "action_path": None}
    if call.builtin:
        services = frame.job.services
        given |= BuiltinServices(
            cache=services.cache,
            source=services.source,
            store=services.store,
            server=services.server,
            token=services.token,
            clone_url=frame.job.program.clone_url,
            reach=for_jobs(services.reach),
        ).environment()
        argv = (sys.executable, "-E", "-s", "-P", "-m", "ostler.actions.builtin", call.builtin, script)
        outcome = await frame.run(argv, frame.environment(given, github), frame.job.machine.layout.workspace)
    else:
        path = _script(call, script)
        node = find_node(frame.job, runs.using)
        environment = frame.environment({**given, **service_variables(frame.job)}, github)
        environment.pop("NODE_ICU_DATA", None)
        outcome = await frame.run((node, path), environment, frame.job.machine.layout.workspace)
    ending = frame.ending
    if outcome == "failed" and ending is not None and ending.signal is not None:
        frame.conversation.error(f"The action was ended by signal {ending.signal}.")
    return outcome


def _script(call: Call, name: str) -> str:
    path = os.path.join(call.at.directory, name)
    if not os.path.isfile(path):
        raise StepFault(f"The action has no file `{name}`.", "action_malformed")
    return path


def find_node(job: JobState, using: str) -> str:
    """Return the Node that runs an action: the configured one that fits best, else what the search path has."""
    for version in (using, *_SUBSTITUTES.get(using, ())):
        if job.services.node.get(version):
            return job.services.node[version]
    found = which("node", job.base.get("PATH", SEARCH_PATH), "/")
    if not found:
        raise StepFault(
            f"The action needs Node (`using: {using}`), and this runner has none. Install Node 20 or newer on its "
            "search path, or name it in the runner's setting `node`.",
            "node_unavailable",
        )
    return found


def action_inputs(frame: Frame, call: Call) -> dict[str, str]:
    """Return the inputs of an action: what ``with`` says, then the defaults of the rest."""
    scope = frame.view.plain()
    inputs = variables("with", frame.step.with_, scope)
    known = {name.lower(): one for name, one in call.action.inputs.items()}
    for name in inputs:
        declared = known.get(name.lower())
        if declared is not None and declared.deprecation_message:
            frame.conversation.warning(
                f"Input '{name}' has been deprecated with message: {declared.deprecation_message}"
            )
    unexpected = [name for name in inputs if name.lower() not in known]
    if unexpected:
        frame.conversation.warning(
            f"Unexpected input(s) {_quoted(unexpected)}, valid inputs are [{_quoted(call.action.inputs)}]"
        )
    given = {name.lower() for name in inputs}
    for name, declared in call.action.inputs.items():
        if name.lower() not in given:
            inputs[name] = text(f"inputs.{name}.default", declared.default, scope)
    return inputs


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def input_variables(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that hold inputs; dashes stay, blanks do not."""
    return {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()}


def announce(frame: Frame, call: Call, inputs: Mapping[str, str]) -> None:
    """Show what is used, folded."""
    say = frame.conversation.say
    say(f"##[group]Run {call.step.uses}")
    shown = {name: value for name, value in inputs.items() if value}
    if shown:
        say("with:")
        for name, value in shown.items():
            say(f"  {name}: {value}")
    show_env(frame)
    say("##[endgroup]")
