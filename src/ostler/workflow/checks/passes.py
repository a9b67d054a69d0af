"""The list of all passes; the order of findings is that of the lines, so their order here does not matter."""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from ostler.workflow.checks import (
    action_inputs,
    background,
    calls,
    concurrency,
    conditions,
    containers,
    event_filters,
    expressions,
    identifiers,
    injection,
    jobs,
    labels,
    matrix,
    metadata,
    needs,
    numbers,
    references,
    schedule,
    scripts,
    shells,
    trigger_inputs,
    variables,
)
from ostler.workflow.checks.sheet import Sheet
from ostler.workflow.findings import Finding

Pass: TypeAlias = Callable[[Sheet], Iterable[Finding]]

PASSES: Final[tuple[Pass, ...]] = (
    action_inputs.check,
    background.check,
    calls.check,
    concurrency.check,
    conditions.check,
    containers.check,
    event_filters.check,
    expressions.check,
    identifiers.check,
    injection.check,
    jobs.check,
    labels.check,
    matrix.check,
    metadata.check,
    needs.check,
    numbers.check,
    references.check,
    schedule.check,
    scripts.check,
    shells.check,
    trigger_inputs.check,
    variables.check,
)
"""Every pass looks at workflows and at actions, and finds nothing in what is none of its concern."""
