import errno

import pytest

from ostler.effects import seeded_random
from ostler.testing.disk import ProcessDisk, SimDisk
from ostler.testing.errors import NodeDown
from ostler.testing.faults import Fault, Faults


class Owner:
    """A process that the disk may kill."""

    def __init__(self) -> None:
        self.alive = True

    def check(self) -> None:
        if not self.alive:
            raise NodeDown("owner")

    def fall(self, *, power: bool) -> None:
        self.alive = False


def disk_with(seed: int = 1, **rates: float) -> tuple[SimDisk, ProcessDisk]:
    """A disk with these faults, named as the members of `Fault`."""
    faults = Faults(seeded_random(seed), {Fault[name.upper()]: rate for name, rate in rates.items()})
    disk = SimDisk(seeded_random(seed), faults, capacity=1000)
    return disk, ProcessDisk(disk, Owner())


def test_it_is_a_disk() -> None:
    _, disk = disk_with()
    disk.append("journal/a", b"one", sync=True)
    disk.append("journal/a", b"two", sync=False)
    disk.write("journal/b", b"three")
    assert disk.read("journal/a") == b"onetwo"
    assert disk.names("journal") == ["a", "b"]
    assert disk.names("elsewhere") == []
    assert disk.free_bytes() == 1000 - 11
    disk.remove("journal/a")
    disk.remove("journal/a")
    with pytest.raises(FileNotFoundError):
        disk.read("journal/a")


def test_a_power_loss_takes_a_part_of_what_was_not_synced_and_never_more() -> None:
    kept = set[bytes]()
    for seed in range(50):
        disk, process = disk_with(seed, torn=1.0)
        process.append("a", b"safe", sync=True)
        process.append("a", b"unsafe", sync=False)
        disk.lose_power()
        kept.add(disk.read("a"))
        assert disk.faults.counts[Fault.TORN] == 1
    assert all(data.startswith(b"safe") and data != b"safeunsafe" for data in kept)
    assert b"safe" in kept
    assert b"safeun" in kept
    assert any(b"\0" in data for data in kept)


def test_a_sync_covers_what_was_written_before_it() -> None:
    disk, process = disk_with(torn=1.0, unnamed=1.0)
    process.append("a", b"one", sync=False)
    process.append("a", b"two", sync=True)
    disk.lose_power()
    assert disk.read("a") == b"onetwo"


def test_a_file_that_was_never_synced_may_vanish() -> None:
    disk, process = disk_with(unnamed=1.0)
    process.append("a", b"one", sync=False)
    disk.lose_power()
    assert disk.names("") == []


def test_a_replaced_file_is_old_or_new() -> None:
    for seed in range(50):
        disk, process = disk_with(seed, torn=1.0, kill_at_write=0.2)
        disk.replace("a", b"old")
        try:
            process.write("a", b"newer")
        except NodeDown:
            disk.lose_power()
        assert disk.read("a") in {b"old", b"newer"}


def test_a_removed_file_may_come_back_until_its_directory_is_synced() -> None:
    disk, process = disk_with(undeleted=1.0)
    for name in ("x/a", "y/b"):
        process.write(name, b"data")
        process.remove(name)
    process.write("y/c", b"")
    disk.lose_power()
    assert disk.names("x") == ["a"]
    assert disk.names("y") == ["c"]


def test_a_full_disk_takes_what_fits_and_says_so() -> None:
    disk, process = disk_with()
    disk.capacity = 5
    with pytest.raises(OSError, match="full") as caught:
        process.append("a", b"seven b", sync=True)
    assert caught.value.errno == errno.ENOSPC
    assert process.read("a") == b"seven"
    with pytest.raises(OSError, match="full"):
        process.write("b", b"x")
    assert process.names("") == ["a"]
    disk.capacity = 100
    disk.full = True
    assert process.free_bytes() == 0


def test_a_disk_that_fails_says_so() -> None:
    disk, process = disk_with(disk_error=1.0)
    with pytest.raises(OSError, match="failed"):
        process.append("a", b"x", sync=True)
    assert disk.faults.counts[Fault.DISK_ERROR] == 1


def test_a_process_can_die_before_within_and_after_a_write() -> None:
    left = set[bytes | None]()
    for seed in range(200):
        disk, process = disk_with(seed, kill_at_write=0.3)
        try:
            process.append("a", b"1234", sync=True)
        except NodeDown:
            left.add(disk.read("a") if disk.names("") else None)
            with pytest.raises(NodeDown):
                process.append("a", b"more", sync=True)
    assert left == {None, b"", b"1", b"12", b"123", b"1234"}
