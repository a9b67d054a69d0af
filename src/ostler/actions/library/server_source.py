"""Actions from the server's own store, which operators fill: for runners that reach nothing else."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from ostler.actions.errors import UnsafeTree
from ostler.actions.job_api import CallFailed, JobApi
from ostler.actions.library import tar_tree
from ostler.actions.library.references import Remote
from ostler.actions.library.source import Version
from ostler.domain.machine import Refused
from ostler.protocol.v1.action_messages import COMMIT_HEADER, DIGEST_HEADER

_NAME = "the server's store of actions"


def open_source(server: str, token: str, environment: Mapping[str, str]) -> "ServerSource | None":
    """Return the store of a server, if its address can be one."""
    try:
        return ServerSource(JobApi(server, token, environment))
    except CallFailed:
        return None


class ServerSource:
    """One server, asked with the token of a job."""

    name = _NAME

    def __init__(self, api: JobApi) -> None:
        self._api = api

    def resolve(self, remote: Remote) -> Version | Refused:
        """Read what a ref is without its content: one byte is enough for the headers."""
        with tempfile.NamedTemporaryFile(prefix="ostler-action-") as file:
            try:
                answer = self._api.download(_path(remote), file.name, {"ref": remote.ref}, span="bytes=0-0")
            except CallFailed as reason:
                return _refused(reason)
        return Version(commit=answer.headers.get(COMMIT_HEADER, ""), archive=answer.headers.get(DIGEST_HEADER, ""))

    def fetch(self, remote: Remote, version: Version, into: Path) -> str | Refused:
        """Download and unfold the tree."""
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".download-") as folder:
            archive = Path(folder, "action.tar")
            try:
                arrived = self._api.download(_path(remote), str(archive), {"ref": remote.ref})
                promised = arrived.headers.get(DIGEST_HEADER, "")
                if promised != f"sha256:{arrived.digest}":
                    return Refused("action_unsafe", f"`{remote.text}` arrived damaged from {_NAME}.")
                return tar_tree.unpack(archive, into)
            except CallFailed as reason:
                return _refused(reason)
            except UnsafeTree as reason:
                return Refused("action_unsafe", f"`{remote.text}` of {_NAME} cannot be used: {reason.reason}.")


def _path(remote: Remote) -> str:
    return f"/job/v1/actions/{quote(remote.owner)}/{quote(remote.repo)}"


def _refused(reason: CallFailed) -> Refused:
    if 400 <= reason.status < 500:
        return Refused("action_not_found", "it was not imported" if reason.status == 404 else str(reason))
    return Refused("action_unreachable", str(reason))
