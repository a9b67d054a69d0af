"""The vault of local runs: artifacts are folders of files that people can open, caches are archives.

``artifacts/NAME`` holds the files of the newest artifact of that name; a note in ``artifacts/.index`` says which run
made it, so that a run sees only its own. Entries of caches are two files each, the archive and what it is called.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TypedDict, TypeVar, cast

from ostler.actions.builtin.invocation import Invocation
from ostler.actions.builtin.vault import Artifact, ArtifactExists, ArtifactOptions, Entry, VaultError

_KEPT_BYTES = 10 << 30
_RESERVED = (".index", ".unfinished-")

N = TypeVar("N", bound="_Note | _CacheNote")


class _Note(TypedDict):
    id: str
    name: str
    run: str
    size: int
    digest: str


class _CacheNote(TypedDict):
    key: str
    version: str
    size: int
    digest: str


def open_vault(invocation: Invocation) -> "FolderVault":
    services = invocation.services
    # Caches of one repository must not be found by another that has the same keys.
    own = sha256(os.fsencode(os.path.realpath(services.store))).hexdigest()[:16]
    caches = os.path.join(services.cache, "caches", own) if services.cache else os.path.join(services.store, "caches")
    return FolderVault(os.path.join(services.store, "artifacts"), caches, invocation.variable("GITHUB_RUN_ID"))


class FolderVault:
    """Two folders."""

    def __init__(self, artifacts: str, caches: str, run_id: str, kept_bytes: int = _KEPT_BYTES) -> None:
        self._artifacts = os.path.abspath(artifacts)
        self._caches = os.path.abspath(caches)
        self._run_id = run_id
        self._kept_bytes = kept_bytes

    def artifacts(self, run_id: str) -> list[Artifact]:
        found = [note for note in self._notes() if note["run"] == (run_id or self._run_id)]
        return sorted((self._artifact(note) for note in found), key=lambda artifact: artifact.name)

    def store_artifact(self, name: str, files: Mapping[str, str], options: ArtifactOptions) -> Artifact:
        os.makedirs(os.path.join(self._artifacts, ".index"), exist_ok=True)
        if name.startswith(_RESERVED):
            raise VaultError(f"the name {name} is taken by the folder of artifacts itself: choose another")
        earlier = next((note for note in self._notes() if note["name"] == name), None)
        if earlier is not None and earlier["run"] == self._run_id and not options.overwrite:
            raise ArtifactExists(f"an artifact with the name {name} already exists in this run")
        unfinished = tempfile.mkdtemp(dir=self._artifacts, prefix=".unfinished-")
        try:
            os.chmod(unfinished, 0o755)  # noqa: S103 - for people
            size, lines = 0, sha256()
            for path, source in sorted(files.items()):
                place = os.path.join(unfinished, path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                shutil.copyfile(source, place)
                size += os.path.getsize(place)
                lines.update(f"{path}\0{_digest(place)}\n".encode("utf-8", "surrogateescape"))
            self._put_in_place(unfinished, os.path.join(self._artifacts, name))
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        number = int(sha256(f"{self._run_id}\0{name}\0{lines.hexdigest()}".encode()).hexdigest()[:10], 16)
        note = _Note(id=str(number), name=name, run=self._run_id, size=size, digest=lines.hexdigest())
        _write(self._note_of(name), note)
        return self._artifact(note)

    def fetch_artifact(self, artifact: Artifact, into: str) -> int:
        count = 0
        source = os.path.join(self._artifacts, artifact.name)
        if not os.path.isdir(source):
            raise VaultError(f"the folder of the artifact {artifact.name} is gone: {source}")
        for above, _, names in os.walk(source):
            for name in names:
                path = os.path.join(above, name)
                place = os.path.join(into, os.path.relpath(path, source))
                os.makedirs(os.path.dirname(place), exist_ok=True)
                if os.path.islink(place):
                    os.unlink(place)
                shutil.copyfile(path, place)
                count += 1
        return count

    def delete_artifact(self, artifact: Artifact) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._note_of(artifact.name))
        shutil.rmtree(os.path.join(self._artifacts, artifact.name), ignore_errors=True)

    def find_cache(self, key: str, restore_keys: Sequence[str], version: str) -> Entry | None:
        notes = [(when, name, note) for when, name, note in self._cache_notes() if note["version"] == version]
        for wanted in (key, *restore_keys):
            exact = [found for found in notes if found[2]["key"] == wanted]
            beginning = [found for found in notes if found[2]["key"].startswith(wanted)]
            if exact or beginning:
                _, name, note = max(exact or beginning, key=lambda found: found[:2])
                return Entry(name, note["key"], note["size"], note["digest"])
        return None

    def fetch_cache(self, entry: Entry, path: str) -> None:
        archive = os.path.join(self._caches, f"{entry.id}.tar.zst")
        try:
            shutil.copyfile(archive, path)
            os.utime(archive)
        except OSError as reason:
            raise VaultError(f"the cache {entry.key} cannot be read: {reason.strerror}") from reason
        if _digest(path) != entry.digest:
            self._forget(entry.id)
            raise VaultError(f"the cache {entry.key} was damaged and is removed")

    def store_cache(self, key: str, version: str, path: str) -> bool:
        os.makedirs(self._caches, exist_ok=True)
        name = sha256(f"{version}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()
        note = os.path.join(self._caches, f"{name}.json")
        if os.path.exists(note):
            return False
        archive = os.path.join(self._caches, f"{name}.tar.zst")
        unfinished = f"{archive}.{os.getpid()}"
        shutil.copyfile(path, unfinished)
        os.rename(unfinished, archive)
        _write(note, _CacheNote(key=key, version=version, size=os.path.getsize(archive), digest=_digest(archive)))
        self._prune()
        return True

    def _prune(self) -> None:
        """Delete the least recently used entries until the rest is small enough."""
        used: list[tuple[float, int, str]] = []
        for _, name, note in self._cache_notes():
            with suppress(FileNotFoundError):
                used.append((os.stat(os.path.join(self._caches, f"{name}.tar.zst")).st_mtime, note["size"], name))
        left = sum(size for _, size, _ in used)
        for _, size, name in sorted(used)[:-1]:
            if left <= self._kept_bytes:
                break
            self._forget(name)
            left -= size

    def _forget(self, name: str) -> None:
        for suffix in ("json", "tar.zst"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._caches, f"{name}.{suffix}"))

    def _put_in_place(self, unfinished: str, place: str) -> None:
        """Replace a folder as a whole; whoever reads the old one finds it gone and not half."""
        shutil.rmtree(place, ignore_errors=True)
        os.rename(unfinished, place)

    def _notes(self) -> list[_Note]:
        notes = [note for _, _, note in _read_all(os.path.join(self._artifacts, ".index"), _Note)]
        return [note for note in notes if os.path.isdir(os.path.join(self._artifacts, note["name"]))]

    def _cache_notes(self) -> list[tuple[int, str, _CacheNote]]:
        return _read_all(self._caches, _CacheNote)

    def _note_of(self, name: str) -> str:
        return os.path.join(self._artifacts, ".index", f"{sha256(name.encode()).hexdigest()[:32]}.json")

    def _artifact(self, note: _Note) -> Artifact:
        place = os.path.join(self._artifacts, note["name"])
        return Artifact(note["id"], note["name"], note["size"], note["digest"], f"file://{place}")


def _read_all(folder: str, kind: type[N]) -> list[tuple[int, str, N]]:
    """Return when each note of a folder was written, its name without the ending, and what it says."""
    found: list[tuple[int, str, N]] = []
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".json"):
                continue
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError, ValueError), open(path, encoding="utf-8") as file:
                note: object = json.load(file)
                if isinstance(note, dict) and kind.__required_keys__ <= note.keys():
                    found.append((os.stat(path).st_mtime_ns, name.removesuffix(".json"), cast("N", note)))
    return found


def _write(path: str, note: "_Note | _CacheNote") -> None:
    unfinished = f"{path}.{os.getpid()}"
    with open(unfinished, "w", encoding="utf-8") as file:
        json.dump(note, file)
    os.rename(unfinished, path)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
