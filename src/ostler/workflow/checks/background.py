"""``background``, ``wait``, ``wait-all``, ``cancel`` and ``parallel``: what is waited for exists and runs beside."""

from collections.abc import Iterator

from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, StepPart, singles
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import ScalarNode


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the steps of each job in their order."""
    for job in sheet.jobs:
        before: dict[str, StepPart] = {}
        background = False
        ids = [step.id.text for step in job.steps if step.id is not None]
        for step in job.steps:
            yield from _waits(step, before, ids)
            yield from _wait_all(step, background=background)
            if step.group is not None and (flag := step.node.get("background")) is not None:
                message = "a step within `parallel` runs beside the others in any case"
                yield Finding("background-parallel", message, flag.span, "Remove `background`.")
            background = background or plain.get_flag(step.node, "background")
            if step.id is not None:
                before[step.id.text.lower()] = step


def _wait_all(step: StepPart, *, background: bool) -> Iterator[Finding]:
    node = step.node.get("wait-all")
    if isinstance(node, ScalarNode) and node.value is False:
        yield Finding("wait-all", "'wait-all' is true or empty", node.span, "Remove the step, or write `wait-all:`.")
    elif node is not None and not background:
        message = "no step before this one runs in the background"
        yield Finding("wait-not-background", message, node.span, "Add `background: true` to one.", "warning")


def _waits(step: StepPart, before: dict[str, StepPart], ids: list[str]) -> Iterator[Finding]:
    for key in ("wait", "cancel"):
        for target in singles(step.node.get(key)):
            if not target.text or plain.is_template(target):
                continue
            known = before.get(target.text.lower())
            own = step.id is not None and step.id.text.lower() == target.text.lower()
            if own:
                yield Finding("wait-unknown", f"this step would {key} for itself", target.span)
            elif known is None:
                later = target.text.lower() in [each.lower() for each in ids]
                what = f"the step {target.text!r} comes later" if later else f"there is no step {target.text[:60]!r}"
                fix = "Move this step behind it." if later else did_you_mean(target.text, ids)
                yield Finding("wait-unknown", what, target.span, fix)
            elif known.node.get("background") is None:
                message = f"the step {target.text!r} does not run in the background"
                yield Finding("wait-not-background", message, target.span, "Add `background: true` to it.", "warning")
