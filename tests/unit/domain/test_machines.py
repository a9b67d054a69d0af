"""Every state table, walked whole: nothing is unreachable, nothing escapes an end, and every "no" has a code."""

from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from ostler.domain.attempt import ATTEMPT_MACHINE, AttemptEvent, AttemptState
from ostler.domain.job import JOB_MACHINE, JobEvent, JobState
from ostler.domain.lease import LEASE_MACHINE, LeaseEvent, LeaseState
from ostler.domain.machine import Machine, Refused
from ostler.domain.run import RUN_MACHINE, RunEvent, RunState
from ostler.domain.runner import (
    ADMISSION_MACHINE,
    RUNNER_MACHINE,
    Admission,
    AdmissionEvent,
    RunnerEvent,
    RunnerStatus,
)
from ostler.domain.step import STEP_MACHINE, StepEvent, StepState

AnyMachine = Machine[Any, Any]

MACHINES: list[tuple[AnyMachine, type[StrEnum], type[StrEnum]]] = [
    (JOB_MACHINE, JobState, JobEvent),
    (ATTEMPT_MACHINE, AttemptState, AttemptEvent),
    (RUN_MACHINE, RunState, RunEvent),
    (LEASE_MACHINE, LeaseState, LeaseEvent),
    (RUNNER_MACHINE, RunnerStatus, RunnerEvent),
    (ADMISSION_MACHINE, Admission, AdmissionEvent),
    (STEP_MACHINE, StepState, StepEvent),
]

each_machine = pytest.mark.parametrize(
    ("machine", "states", "events"), MACHINES, ids=[machine.noun for machine, _, _ in MACHINES]
)


def _reached(machine: AnyMachine) -> set[StrEnum]:
    reached: set[StrEnum] = {machine.initial}
    while True:
        further = {after for (before, _), after in machine.table.items() if before in reached} - reached
        if not further:
            return reached
        reached |= further


@each_machine
def test_every_state_is_reached(machine: AnyMachine, states: type[StrEnum], events: type[StrEnum]) -> None:
    assert _reached(machine) == set(states)


@each_machine
def test_every_event_does_something(machine: AnyMachine, states: type[StrEnum], events: type[StrEnum]) -> None:
    assert {event for _, event in machine.table} == set(events)


@each_machine
def test_an_end_absorbs_every_event(machine: AnyMachine, states: type[StrEnum], events: type[StrEnum]) -> None:
    for state, event in product(machine.terminal, events):
        outcome = machine.after(state, event)
        assert isinstance(outcome, Refused)
        assert outcome.code == f"{machine.noun}_ended"
        assert state.value in outcome.reason


@each_machine
def test_every_state_can_come_to_an_end(machine: AnyMachine, states: type[StrEnum], events: type[StrEnum]) -> None:
    ending: set[StrEnum] = set(machine.terminal)
    for _ in states:
        ending |= {before for (before, _), after in machine.table.items() if after in ending}
    assert ending == set(states)


@each_machine
def test_every_refusal_has_a_code_and_a_reason(
    machine: AnyMachine, states: type[StrEnum], events: type[StrEnum]
) -> None:
    for state, event in product(states, events):
        outcome = machine.after(state, event)
        if isinstance(outcome, Refused):
            assert outcome.code.isidentifier()
            assert outcome.reason
        else:
            assert outcome in states
