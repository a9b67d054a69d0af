"""A disk that forgets what was not synced, fills up and fails.

Files are what the agent's `Disk` protocol needs: they grow at the end or are replaced whole. So all that a crash can
take is a tail of the bytes, the name of a file whose directory was not synced, or the removal of a name. A killed
process loses nothing that it wrote (the kernel has it); a power loss takes a seeded part of what was not yet durable.
"""

import errno
from posixpath import basename, dirname
from typing import Protocol

from ostler.effects import Random
from ostler.testing.faults import Fault, Faults


class DiskOwner(Protocol):
    """The process that holds the disk open."""

    def check(self) -> None:
        """Raise `NodeDown` unless the process lives."""
        ...

    def fall(self, *, power: bool) -> None:
        """Die now: alone, or with the whole machine."""
        ...


class _File:
    __slots__ = ("data", "named", "safe")

    def __init__(self) -> None:
        self.data = bytearray()
        self.safe = 0
        self.named = False


class SimDisk:
    """The disk of one node; it outlives every process."""

    def __init__(self, random: Random, faults: Faults, *, capacity: int = 1 << 40) -> None:
        self.random = random
        self.faults = faults
        self.capacity = capacity
        self.full = False
        self._files: dict[str, _File] = {}
        self._removed: dict[str, _File] = {}

    @property
    def free(self) -> int:
        return 0 if self.full else max(0, self.capacity - sum(len(file.data) for file in self._files.values()))

    def append(self, path: str, data: bytes, *, sync: bool) -> None:
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = _File()
        file.data += data
        if sync:
            file.safe = len(file.data)
            if not file.named:
                self._name(path, file)

    def replace(self, path: str, data: bytes) -> None:
        file = self._files[path] = _File()
        file.data += data
        file.safe = len(data)
        self._name(path, file)

    def read(self, path: str) -> bytes:
        file = self._files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "no such file on the simulated disk", path)
        return bytes(file.data)

    def remove(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None and file.named:
            self._removed[path] = file

    def names(self, directory: str) -> list[str]:
        directory = directory.strip("/").removeprefix(".")
        return sorted(basename(path) for path in self._files if dirname(path) == directory)

    def lose_power(self) -> None:
        """Forget, as far as the seed will have it, what no sync had made durable."""
        for path, file in list(self._files.items()):
            if not file.named and self.faults.fires(Fault.UNNAMED):
                del self._files[path]
                continue
            self._tear(file)
            file.named = True
        for path, file in list(self._removed.items()):
            if path not in self._files and self.faults.fires(Fault.UNDELETED):
                self._tear(file)
                self._files[path] = file
        self._removed.clear()

    def _name(self, path: str, file: _File) -> None:
        file.named = True
        directory = dirname(path)
        for other in [name for name in self._removed if dirname(name) == directory]:
            del self._removed[other]

    def _tear(self, file: _File) -> None:
        unsafe = len(file.data) - file.safe
        if unsafe and self.faults.fires(Fault.TORN):
            kept = file.safe + self.random.below(unsafe)
            zeros = len(file.data) - kept if self.random.below(4) == 0 else 0
            del file.data[kept:]
            file.data += bytes(zeros)
        file.safe = len(file.data)


class ProcessDisk:
    """The disk as one process sees it: the agent's `Disk`, with failures."""

    def __init__(self, disk: SimDisk, owner: DiskOwner) -> None:
        self._disk = disk
        self._owner = owner

    def append(self, path: str, data: bytes, *, sync: bool) -> None:
        room = self._begin(len(data))
        if room < len(data):
            self._disk.append(path, data[:room], sync=False)
            raise OSError(errno.ENOSPC, "the simulated disk is full", path)
        torn = self._killed_within(data)
        if torn is not None:
            self._disk.append(path, torn, sync=False)
            self._fall()
        self._disk.append(path, data, sync=sync)
        self._end()

    def write(self, path: str, data: bytes) -> None:
        if self._begin(len(data)) < len(data):
            raise OSError(errno.ENOSPC, "the simulated disk is full", path)
        self._disk.replace(path, data)
        self._end()

    def read(self, path: str) -> bytes:
        self._owner.check()
        return self._disk.read(path)

    def remove(self, path: str) -> None:
        self._begin(0)
        self._disk.remove(path)
        self._end()

    def names(self, directory: str) -> list[str]:
        self._owner.check()
        return self._disk.names(directory)

    def free_bytes(self) -> int:
        self._owner.check()
        return self._disk.free

    def _begin(self, size: int) -> int:
        """The room for `size` bytes, if the process and the disk survive until then."""
        self._owner.check()
        self._end()
        faults = self._disk.faults
        if faults.fires(Fault.DISK_ERROR):
            raise OSError(errno.EIO, "the simulated disk failed")
        room = self._disk.free
        if room < size:
            faults.count(Fault.DISK_FULL)
        return room

    def _killed_within(self, data: bytes) -> bytes | None:
        if data and self._disk.faults.fires(Fault.KILL_AT_WRITE):
            return data[: self._disk.random.below(len(data))]
        return None

    def _end(self) -> None:
        if self._disk.faults.fires(Fault.KILL_AT_WRITE):
            self._fall()

    def _fall(self) -> None:
        self._owner.fall(power=self._disk.random.below(2) == 0)
        self._owner.check()
