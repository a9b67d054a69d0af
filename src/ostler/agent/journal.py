"""What the agent promised and must not forget: one checksummed line per fact, synced before the promise is made.

The facts of an attempt are its phases: ``claimed``, ``starting`` (about to ask for the grant), ``granted``,
``finished`` with the result, ``acknowledged``. The last one read counts. Only ``starting`` and ``finished`` must be
durable before the agent goes on: after a crash, ``claimed`` and ``starting`` without a supervisor both mean that
nothing was executed, and a lost ``acknowledged`` only repeats an idempotent message.

A job's specification is never written: it holds secrets. What a supervisor keeps for adoption is its own matter.
"""

from typing import Literal
from zlib import crc32

import msgspec

from ostler.agent.disk import Disk
from ostler.domain.job import JobKind, Slot
from ostler.protocol.v1.runner_messages import FinishRequest

PATH = "journal"

_COMPACT_BYTES = 256 << 10

Phase = Literal["claimed", "starting", "granted", "finished", "acknowledged"]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt as far as it has come. Both keys stay the same over all repetitions of their messages."""

    job_id: str
    fence: int
    phase: Phase
    start_key: str
    finish_key: str
    run_id: str = ""
    kind: JobKind = JobKind.CI
    slot: Slot = Slot.PRIMARY
    lease_ms: int = 0
    result: FinishRequest | None = None


class Journal:
    """The facts about all attempts that are not acknowledged yet."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._entries: dict[tuple[str, int], Entry] = {}
        self._size = 0
        self._pending: list[bytes] = []
        self._torn = False
        self.damaged = 0
        """Lines that could not be read when the journal was opened; one is normal after a crash."""

    def open(self) -> list[Entry]:
        """Read what an earlier agent left; a torn or damaged line is dropped, the rest still counts."""
        try:
            data = self._disk.read(PATH)
        except FileNotFoundError:
            return []
        for line in data.split(b"\n"):
            if not line:
                continue
            entry = _decode(line)
            if entry is None:
                self.damaged += 1
            else:
                self._apply(entry)
        self._torn = bool(data)
        self._compact()
        return self.entries

    @property
    def entries(self) -> list[Entry]:
        """The attempts that are not acknowledged, oldest first."""
        return list(self._entries.values())

    def record(self, entry: Entry, *, sync: bool) -> None:
        """Add a fact. With ``sync`` it and all before it are durable when this returns; else it may wait for those.

        Raises ``OSError`` if the disk refuses; the fact then counts in memory only and goes out with the next one.
        """
        self._apply(entry)
        self._pending.append(_encode(entry))
        data = (b"\n" if self._torn else b"") + b"".join(self._pending)
        self._torn = True  # an append that fails may leave half a line, which the next one must not continue
        self._disk.append(PATH, data, sync=sync)
        self._torn = False
        self._pending.clear()
        self._size += len(data)
        if self._size > _COMPACT_BYTES:
            self._compact()

    def _apply(self, entry: Entry) -> None:
        if entry.phase == "acknowledged":
            self._entries.pop((entry.job_id, entry.fence), None)
        else:
            self._entries[entry.job_id, entry.fence] = entry

    def _compact(self) -> None:
        try:
            self._disk.write(PATH, b"".join(_encode(entry) for entry in self._entries.values()))
        except OSError:
            return  # a full disk: the long form of the journal says the same
        self._torn = False
        self._size = 0


def _encode(entry: Entry) -> bytes:
    payload = msgspec.json.encode(entry)
    return b"%08x %s\n" % (crc32(payload), payload)


def _decode(line: bytes) -> Entry | None:
    checksum, _, payload = line.partition(b" ")
    if checksum != b"%08x" % crc32(payload):
        return None
    try:
        return msgspec.json.decode(payload, type=Entry)
    except msgspec.DecodeError:
        return None
