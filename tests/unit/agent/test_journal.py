"""The journal: whatever a crash leaves of it, every synced fact is read again and no half one is believed."""

import pytest
from hypothesis import given, strategies

from ostler.agent.journal import PATH, Entry, Journal, Phase
from tests.unit.agent.fakes import MemoryDisk


def entry(number: int, phase: Phase = "starting") -> Entry:
    return Entry(f"job_{number}", 1, phase, start_key=f"start_{number}", finish_key=f"finish_{number}")


def written(disk: MemoryDisk, *entries: Entry) -> None:
    journal = Journal(disk)
    journal.open()
    for one in entries:
        journal.record(one, sync=True)


def read(disk: MemoryDisk) -> list[Entry]:
    return Journal(disk).open()


def test_the_last_phase_counts_and_what_is_acknowledged_is_gone() -> None:
    disk = MemoryDisk()
    written(disk, entry(1), entry(2), entry(1, "granted"), entry(2, "acknowledged"), entry(1, "finished"))
    assert read(disk) == [entry(1, "finished")]


def test_facts_that_were_not_synced_are_durable_with_the_next_one() -> None:
    disk = MemoryDisk()
    journal = Journal(disk)
    journal.record(entry(1, "claimed"), sync=False)
    disk.crash()
    assert read(disk) == []
    journal.record(entry(2), sync=False)
    journal.record(entry(3), sync=True)
    disk.crash()
    assert [one.job_id for one in read(disk)][-1] == "job_3"


@given(cut=strategies.integers(0, 2000))
def test_a_torn_tail_costs_only_what_it_tore(cut: int) -> None:
    disk = MemoryDisk()
    written(disk, entry(1), entry(2), entry(3))
    whole = disk.files[PATH]
    disk.files[PATH] = whole[: min(cut, len(whole))]
    complete = disk.files[PATH].count(b"\n")
    assert [one.job_id for one in read(disk)][:complete] == [f"job_{number}" for number in range(1, complete + 1)]
    written(disk, entry(4))
    assert read(disk)[-1] == entry(4)


@given(position=strategies.integers(0, 10_000), value=strategies.integers(0, 255))
def test_a_damaged_byte_costs_at_most_the_lines_that_it_touches(position: int, value: int) -> None:
    disk = MemoryDisk()
    written(disk, *[entry(number) for number in range(6)])
    data = bytearray(disk.files[PATH])
    data[position % len(data)] = value
    disk.files[PATH] = bytes(data)
    assert len(read(disk)) >= 4


def test_a_failed_append_is_written_with_the_next_and_glued_to_nothing() -> None:
    disk = MemoryDisk()
    journal = Journal(disk)
    journal.record(entry(1), sync=True)
    disk.full = True
    with pytest.raises(OSError, match="No space"):
        journal.record(entry(2), sync=True)
    disk.files[PATH] += b"0000 half a li"
    disk.full = False
    journal.record(entry(3), sync=True)
    assert [one.job_id for one in read(disk)] == ["job_1", "job_2", "job_3"]


def test_the_journal_stays_small_however_many_jobs_pass() -> None:
    disk = MemoryDisk()
    journal = Journal(disk)
    journal.record(entry(0), sync=True)
    for number in range(1, 5000):
        journal.record(entry(number), sync=True)
        journal.record(entry(number, "acknowledged"), sync=False)
    assert len(disk.files[PATH]) < 600 << 10
    assert read(disk) == [entry(0)]
