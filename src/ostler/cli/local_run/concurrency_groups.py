"""Concurrency groups of one run on this machine: its jobs wait for each other; no other run is asked."""

from collections.abc import Iterator

from ostler.workflow.run.concurrency import REPLACED, group_key, join, leave
from ostler.workflow.run.effects import JoinGroup, LeaveGroup
from ostler.workflow.run.happenings import GroupDenied, GroupGranted, Happening, HolderCancelled


class ConcurrencyGroups:
    """Who holds which group, and who waits for it."""

    def __init__(self) -> None:
        self._holding: dict[str, str] = {}
        self._waiting: dict[str, list[str]] = {}

    def join(self, effect: JoinGroup) -> Iterator[Happening]:
        """Let somebody ask for a group, and return what that means to whom."""
        group = group_key(effect.group)
        waiting = self._waiting.setdefault(group, [])
        decision = join(
            self._holding.get(group),
            waiting,
            effect.holder,
            cancel_in_progress=effect.cancel_in_progress,
            queue=effect.queue,
        )
        if decision.granted:
            self._holding[group] = effect.holder
        elif effect.holder not in (*waiting, *decision.denied):
            waiting.append(effect.holder)
        self._waiting[group] = [holder for holder in waiting if holder not in decision.denied]
        yield from (GroupDenied(holder, REPLACED) for holder in decision.denied)
        yield from (HolderCancelled(holder, REPLACED) for holder in decision.cancelled)
        if decision.granted:
            yield GroupGranted(effect.holder)

    def leave(self, effect: LeaveGroup) -> Iterator[Happening]:
        """Let somebody go; the next who waits gets the group."""
        group = group_key(effect.group)
        waiting = self._waiting.get(group, [])
        if effect.holder in waiting:
            waiting.remove(effect.holder)
        if self._holding.get(group) != effect.holder:
            return
        del self._holding[group]
        following = leave(waiting)
        if following is not None:
            waiting.remove(following)
            self._holding[group] = following
            yield GroupGranted(following)
