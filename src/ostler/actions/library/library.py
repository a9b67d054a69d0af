"""Finding the action that a reference names: built in, on the shelf, or in the first source that has it."""

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ostler.actions.library.builtins import builtin, metadata
from ostler.actions.library.metadata import read_action
from ostler.actions.library.references import Remote
from ostler.actions.library.shelf import Known, Shelf
from ostler.actions.library.source import Source, Version
from ostler.domain.machine import Refused
from ostler.effects import SystemClock
from ostler.workflow.action_model import Action

_KEPT_BYTES = 20 << 30
_UNUSED_SECONDS = 60 * 86_400.0
"""What was not used for so long is deleted when something new is kept."""


class Found(NamedTuple):
    """An action, ready to be run."""

    action: Action
    directory: Path
    """The folder of the action, GITHUB_ACTION_PATH; of no meaning for a built-in one."""
    digest: str = ""
    """Of the whole repository."""
    commit: str = ""
    source: str = ""
    """Where it came from, for people."""
    builtin: str = ""
    """The name of the program that is it, if it is a built-in one."""
    note: str = ""
    """What people should know although it was found."""


class Fetched(NamedTuple):
    """A whole repository on the shelf."""

    digest: str
    commit: str
    source: str
    note: str = ""


class Library:
    """What one job can use. It copies every repository that the job needs into a folder of that job.

    Its methods wait for other programs and for the network; they share nothing that changes but the shelf, which is
    safe for many processes.
    """

    def __init__(
        self,
        *,
        cache: Path,
        into: Path,
        sources: Sequence[Source],
        pins: Mapping[str, str] | None = None,
        real: Collection[str] = (),
    ) -> None:
        self._shelf = Shelf(cache)
        self._into = into
        self._sources = sources
        self._pins = {_pin_key(uses): digest for uses, digest in (pins or {}).items()}
        self._real = real
        self._taken: dict[Path, Fetched] = {}

    def find(self, remote: Remote) -> Found | Refused:
        """Return the action that a reference names, its repository copied into the job's folder if need be."""
        name = builtin(remote, self._real)
        if name is not None:
            return Found(metadata(name), self._into, source="built in", builtin=name)
        place = self._into / remote.owner.lower() / remote.repo.lower() / quote(remote.ref, safe="")
        fetched = self._fetched(remote, place)
        if isinstance(fetched, Refused):
            return fetched
        action = read_action(place, remote.path, remote.text)
        if isinstance(action, Refused):
            return action
        directory = place / remote.path if remote.path else place
        return Found(action, directory, fetched.digest, fetched.commit, fetched.source, note=fetched.note)

    def fetch(self, remote: Remote, place: Path) -> Fetched | Refused:
        """Copy the repository that a reference names to a place that does not exist yet, from where it can be had."""
        pin = self._pins.get(_pin_key(remote.text)) or self._pins.get(_pin_key(remote.at), "")
        known = self._shelf.recall("commit", remote.key, remote.commit) if remote.commit else None
        digest = pin or (known.digest if known is not None else "")
        if digest and self._shelf.take(digest, place):
            return Fetched(digest, remote.commit, "cache")
        answers: list[str] = []
        for source in self._sources:
            fetched = self._from(source, remote, pin, place)
            if not isinstance(fetched, Refused):
                return fetched
            if fetched.code in ("action_moved", "action_unsafe"):
                return fetched
            answers.append(f"{source.name}: {fetched.reason}")
        if not answers:
            return Refused(
                "action_not_found",
                f"`{remote.text}` cannot be fetched: no source of actions is configured. Name a git server or a folder "
                "as a mirror, or import it with `ostler action import`.",
            )
        return Refused(
            "action_not_found",
            f"`{remote.text}` was not found. Asked were {'; '.join(answers)}. Check its name, or import it with "
            f"`ostler action import {remote.repository}@{remote.ref}`.",
        )

    def _fetched(self, remote: Remote, place: Path) -> Fetched | Refused:
        """Return the repository, copied before by this job or now."""
        fetched = self._taken.get(place)
        if fetched is not None:
            return fetched
        fetched = self.fetch(remote, place)
        if isinstance(fetched, Fetched):
            self._taken[place] = fetched
        return fetched

    def _from(self, source: Source, remote: Remote, pin: str, place: Path) -> Fetched | Refused:
        note = ""
        version = Version(remote.commit) if remote.commit else source.resolve(remote)
        if isinstance(version, Refused):
            last = self._shelf.recall("ref", source.name, remote.key, remote.ref)
            if version.code != "action_unreachable" or last is None or pin:
                return version
            note = f"{source.name} did not answer: `{remote.text}` is what it was when last asked for."
            version = Version(last.commit, last.digest)
        with self._shelf.fetching(f"{source.name} {remote.key}"):
            digest = self._digest(source, remote, version, place)
        if isinstance(digest, Refused):
            return digest
        if pin and digest != pin:
            shutil.rmtree(place)
            return _moved(remote, pin, digest, source)
        self._shelf.remember(Known(version.commit, digest), "ref", source.name, remote.key, remote.ref)
        return Fetched(digest, version.commit, source.name, note)

    def _digest(self, source: Source, remote: Remote, version: Version, place: Path) -> str | Refused:
        """Copy a version to its place, from the shelf if it is there, and return its digest."""
        digest = version.digest
        names = [
            (kind, remote.key, name)
            for kind, name in (("commit", version.commit), ("archive", version.archive))
            if name
        ]
        for name in names:
            known = self._shelf.recall(*name)
            digest = digest or (known.digest if known is not None else "")
        if digest and self._shelf.take(digest, place):
            return digest
        arrived = self._shelf.put(lambda into: source.fetch(remote, version, into))
        if isinstance(arrived, Refused):
            return arrived
        if version.digest and arrived != version.digest:
            return Refused(
                "action_unsafe", f"{source.name} promised {version.digest} as `{remote.text}` and sent {arrived}."
            )
        for name in names:
            self._shelf.remember(Known(version.commit, arrived), *name)
        now = SystemClock().now() / 1_000_000
        self._shelf.prune(_KEPT_BYTES, now - _UNUSED_SECONDS)
        if not self._shelf.take(arrived, place):
            return Refused("action_unreachable", f"`{remote.text}` was fetched, but the cache lost it at once.")
        return arrived


def _moved(remote: Remote, pin: str, digest: str, source: Source) -> Refused:
    return Refused(
        "action_moved",
        f"`{remote.text}` is no longer what the lock file says: {source.name} now has {digest}, locked is {pin}. If "
        "that is what you want, run `ostler action lock --update` and commit the lock file.",
    )


def _pin_key(uses: str) -> str:
    """Names ignore case, refs do not."""
    name, _, ref = uses.partition("@")
    return f"{name.lower()}@{ref}"
