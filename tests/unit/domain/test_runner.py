"""The runner's two machines, its slots and its leases, by example."""

import pytest

from ostler.domain.job import JobKind, Slot
from ostler.domain.lease import CLAIM_SECONDS, SECOND, SILENCE_SECONDS, expired, expiry
from ostler.domain.machine import Refused
from ostler.domain.runner import (
    ADMISSION_MACHINE,
    RETIRED_AFTER_SECONDS,
    RUNNER_MACHINE,
    Admission,
    AdmissionEvent,
    RunnerEvent,
    RunnerStatus,
)


def test_a_runner_is_offline_idle_busy_or_in_error() -> None:
    after = RUNNER_MACHINE.after
    assert RUNNER_MACHINE.initial is RunnerStatus.OFFLINE
    assert after(RunnerStatus.OFFLINE, RunnerEvent.HELLO) is RunnerStatus.IDLE
    assert after(RunnerStatus.IDLE, RunnerEvent.OCCUPY) is RunnerStatus.BUSY
    assert after(RunnerStatus.BUSY, RunnerEvent.VACATE) is RunnerStatus.IDLE
    for live in (RunnerStatus.IDLE, RunnerStatus.BUSY):
        assert after(live, RunnerEvent.FAULT) is RunnerStatus.ERROR
    assert after(RunnerStatus.ERROR, RunnerEvent.RECOVER) is RunnerStatus.IDLE
    for live in (RunnerStatus.IDLE, RunnerStatus.BUSY, RunnerStatus.ERROR):
        assert after(live, RunnerEvent.SILENCE) is RunnerStatus.OFFLINE


def test_an_offline_runner_leaves_the_lists_within_one_to_two_hours() -> None:
    assert 3600 <= RETIRED_AFTER_SECONDS <= 7200
    assert RUNNER_MACHINE.after(RunnerStatus.OFFLINE, RunnerEvent.RETIRE) is RunnerStatus.RETIRED


def test_a_revoked_runner_stays_revoked() -> None:
    for event in AdmissionEvent:
        assert isinstance(ADMISSION_MACHINE.after(Admission.REVOKED, event), Refused)


def test_scans_and_evaluations_have_a_slot_of_their_own_and_may_run_again() -> None:
    assert {kind: kind.slot for kind in JobKind} == {
        JobKind.CI: Slot.PRIMARY,
        JobKind.DEPLOYMENT: Slot.PRIMARY,
        JobKind.INSIGHTS_SCAN: Slot.AUXILIARY,
        JobKind.POLICY_EVALUATION: Slot.AUXILIARY,
    }
    assert [kind for kind in JobKind if kind.redeliverable] == [JobKind.INSIGHTS_SCAN, JobKind.POLICY_EVALUATION]


@pytest.mark.parametrize("kind", JobKind)
def test_a_lease_lasts_as_its_kind_and_its_start_say(kind: JobKind) -> None:
    assert expiry(kind, started=False, now=0) == CLAIM_SECONDS * SECOND
    seconds = CLAIM_SECONDS if kind.redeliverable else SILENCE_SECONDS
    assert expiry(kind, started=True, now=7) == 7 + seconds * SECOND
    assert not expired(expires_at=10, now=10)
    assert expired(expires_at=10, now=11)
