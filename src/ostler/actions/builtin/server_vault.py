"""The vault of a server: artifacts are zip archives, caches are tar archives, both with the digest of their bytes."""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import quote

from ostler.actions.builtin import zip_archive
from ostler.actions.builtin.invocation import Invocation
from ostler.actions.builtin.vault import Artifact, ArtifactExists, ArtifactOptions, Entry, VaultError
from ostler.actions.errors import UnsafeTree
from ostler.actions.job_api import CallFailed, JobApi

_PREFIX = "sha256:"


def open_vault(invocation: Invocation) -> "ServerVault":
    services = invocation.services
    try:
        api = JobApi(services.server, services.token, invocation.environment)
    except CallFailed as reason:
        raise VaultError(str(reason)) from reason
    return ServerVault(api, services.server.rstrip("/"), invocation.temporary, invocation.variable("GITHUB_RUN_ID"))


class ServerVault:
    """One job's view of the server."""

    def __init__(self, api: JobApi, server: str, temporary: str, run_id: str) -> None:
        self._api = api
        self._server = server
        self._temporary = temporary
        self._run_id = run_id

    def artifacts(self, run_id: str) -> list[Artifact]:
        if run_id and run_id != self._run_id:
            raise VaultError(
                f"artifacts of another run ({run_id}) cannot be read with this job's token: "
                "read them with `ostler artifact` and a token of your own"
            )
        listed = cast("list[dict[str, object]]", self._call("GET", "/job/v1/artifacts").get("artifacts", []))
        return [self._artifact(item) for item in listed]

    def store_artifact(self, name: str, files: Mapping[str, str], options: ArtifactOptions) -> Artifact:
        request: dict[str, object] = {"name": name, "overwrite": options.overwrite}
        if options.retention_days:
            request["retention_days"] = options.retention_days
        with tempfile.TemporaryDirectory(dir=self._made_temporary(), prefix="artifact-") as folder:
            archive = os.path.join(folder, "artifact.zip")
            zip_archive.pack(files, archive, options.compression_level)
            begun = self._call("POST", "/job/v1/artifacts", request)
            return self._artifact(self._upload(f"/job/v1/artifacts/{_text(begun, 'id')}", archive))

    def fetch_artifact(self, artifact: Artifact, into: str) -> int:
        with tempfile.TemporaryDirectory(dir=self._made_temporary(), prefix="artifact-") as folder:
            archive = os.path.join(folder, "artifact.zip")
            self._download(f"/job/v1/artifacts/{quote(artifact.id)}/content", archive, artifact.digest, artifact.name)
            try:
                return zip_archive.unpack(archive, into)
            except UnsafeTree as reason:
                raise VaultError(f"the artifact {artifact.name} is refused: {reason.reason}") from reason

    def delete_artifact(self, artifact: Artifact) -> None:
        self._call("DELETE", f"/job/v1/artifacts/{quote(artifact.id)}")

    def find_cache(self, key: str, restore_keys: Sequence[str], version: str) -> Entry | None:
        request = {"key": key, "version": version, "restore_keys": list(restore_keys)}
        hit = cast("dict[str, object] | None", self._call("POST", "/job/v1/caches/find", request).get("hit"))
        if hit is None:
            return None
        return Entry(_text(hit, "id"), _text(hit, "key"), int(str(hit["size"])), _digest(hit))

    def fetch_cache(self, entry: Entry, path: str) -> None:
        self._download(f"/job/v1/caches/{quote(entry.id)}/content", path, entry.digest, entry.key)

    def store_cache(self, key: str, version: str, path: str) -> bool:
        try:
            begun = self._api.call("POST", "/job/v1/caches", {"key": key, "version": version})
        except CallFailed as reason:
            if reason.problem == "cache_exists":
                return False
            raise VaultError(str(reason)) from reason
        self._upload(f"/job/v1/caches/{_text(begun, 'id')}", path)
        return True

    def _upload(self, path: str, archive: str) -> dict[str, object]:
        with open(archive, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            self._api.upload(f"{path}/content", archive)
        except CallFailed as reason:
            raise VaultError(str(reason)) from reason
        return self._call("POST", f"{path}/finish", {"size": os.path.getsize(archive), "digest": _PREFIX + digest})

    def _download(self, path: str, file: str, digest: str, name: str) -> None:
        try:
            arrived = self._api.download(path, file)
        except CallFailed as reason:
            raise VaultError(str(reason)) from reason
        if arrived.digest != digest:
            os.unlink(file)
            raise VaultError(f"{name} arrived damaged: its digest is {arrived.digest} and should be {digest}")

    def _call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        try:
            return self._api.call(method, path, body)
        except CallFailed as reason:
            if reason.problem == "artifact_exists":
                raise ArtifactExists(str(reason)) from reason
            raise VaultError(str(reason)) from reason

    def _artifact(self, item: dict[str, object]) -> Artifact:
        identity = _text(item, "id")
        return Artifact(
            identity,
            _text(item, "name"),
            int(str(item["size"])),
            _digest(item),
            f"{self._server}/api/v1/artifacts/{identity}/content",
        )

    def _made_temporary(self) -> str:
        os.makedirs(self._temporary, exist_ok=True)
        return self._temporary


def _text(item: Mapping[str, object], name: str) -> str:
    return str(item[name])


def _digest(item: Mapping[str, object]) -> str:
    return _text(item, "digest").removeprefix(_PREFIX)
