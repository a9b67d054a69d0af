"""The disk floor: a runner whose disk is nearly full takes no work, because the job would only fail (F1).

Looked at before every poll and in between, so that a disk which was freed brings the runner back by itself.
"""

import asyncio
from collections.abc import Callable

from ostler.agent.disk import Disk
from ostler.agent.slots import Slots


class DiskFloor:
    """Closes and reopens the slots."""

    def __init__(self, disk: Disk, slots: Slots, minimum_free_bytes: int, on_fault: Callable[[str], None]) -> None:
        self._disk = disk
        self._slots = slots
        self._minimum = minimum_free_bytes
        self._on_fault = on_fault

    def check(self) -> bool:
        """Open the slots if there is room, else close them and say so; return whether there is."""
        try:
            free = self._disk.free_bytes()
        except OSError as error:
            self._on_fault(f"the state directory cannot be read: {error}")
            return False
        if free < self._minimum:
            if self._slots.open:
                self._on_fault(f"disk_full: {free >> 20} MiB free, {self._minimum >> 20} MiB wanted")
            self._slots.close()
            return False
        self._slots.reopen()
        return True

    async def watch(self, seconds: float, on_room: Callable[[], None]) -> None:
        """Look every so often, and tell each time that there is room."""
        while True:
            await asyncio.sleep(seconds)
            if self.check():
                on_room()
