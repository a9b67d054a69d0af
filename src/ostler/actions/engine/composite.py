"""Composite actions: steps of their own, with ``steps``, ``inputs`` and a status that nobody outside sees."""

from ostler.actions.engine.calls import Call
from ostler.actions.engine.evaluation import text
from ostler.actions.engine.frame import Frame, RunStep
from ostler.actions.engine.machine import Outcome
from ostler.actions.engine.programs import action_inputs, announce
from ostler.actions.engine.scope import Place, View
from ostler.workflow.action_model import CompositeRuns


def inner_place(frame: Frame, call: Call, *, say: bool) -> Place:
    """Return where the steps of a composite action stand."""
    inputs = action_inputs(frame, call)
    if say:
        announce(frame, call, inputs)
    return Place(inputs, action=call.at, env={**frame.place.env, **frame.own_env}, depth=frame.place.depth + 1)


async def run_composite(frame: Frame, call: Call, runs: CompositeRuns, run_step: RunStep) -> Outcome:
    """Run the steps; after a failed one those whose condition still holds."""
    inner = inner_place(frame, call, say=True)
    cancelled = False
    for index, step in enumerate(runs.steps):
        if frame.job.halted or frame.track.leash.stop == "timed_out":
            break
        child = call.children[index] if index < len(call.children) else None
        result = await run_step(step, inner, frame.track, child)
        cancelled = cancelled or result.conclusion == "cancelled"
    view = View(frame.job, inner, frame.env, {**frame.github, "action_path": call.at.directory})
    scope = view.scope(secrets=False)
    for name, output in call.action.outputs.items():
        frame.conversation.outputs[name] = text(f"outputs.{name}.value", output.value, scope)
    if inner.failed:
        frame.trouble = inner.trouble
        return "failed"
    return "cancelled" if cancelled else "succeeded"
