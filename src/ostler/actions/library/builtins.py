"""The actions that Ostler answers by programs of its own, and what their metadata says.

They need no Node and no network beyond the user's own. A reference to a commit is answered by them too: a pin says
which foreign code is trusted, and here none runs. Who wants the published action names it among the real ones.
"""

import re
import sys
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ostler.actions.library.references import Remote
from ostler.workflow.action_model import Action, ActionInput, ActionOutput, NodeRuns

USING = "builtin"
"""``runs.using`` of these actions; ``main`` and ``post`` are the phases that their program is started with."""

_VERSION = re.compile(r"v?(\d+)(\.\d+)*")
_OLDEST = 3


class _Builtin(NamedTuple):
    title: str
    inputs: Mapping[str, str]
    """Their defaults."""
    outputs: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    post_if: str | None = None
    """Nothing: there is no post step."""


_CACHE_INPUTS = {"path": "", "key": "", "restore-keys": "", "enableCrossOsArchive": "false"}
_CACHE_LOOKUP = {"fail-on-cache-miss": "false", "lookup-only": "false"}
_CACHE_OUTPUTS = ("cache-hit", "cache-primary-key", "cache-matched-key")
_ARTIFACT_OUTPUTS = ("artifact-id", "artifact-url", "artifact-digest")

_BUILTINS: Mapping[str, _Builtin] = MappingProxyType(
    {
        "actions/checkout": _Builtin(
            "Checkout",
            {
                "repository": "${{ github.repository }}",
                "ref": "",
                "token": "${{ github.token }}",
                "ssh-key": "",
                "ssh-known-hosts": "",
                "ssh-strict": "true",
                "ssh-user": "git",
                "persist-credentials": "true",
                "path": "",
                "clean": "true",
                "filter": "",
                "sparse-checkout": "",
                "sparse-checkout-cone-mode": "true",
                "fetch-depth": "1",
                "fetch-tags": "false",
                "show-progress": "true",
                "lfs": "false",
                "submodules": "false",
                "set-safe-directory": "true",
                "github-server-url": "",
            },
            outputs=("ref", "commit"),
            post_if="always()",
        ),
        "actions/upload-artifact": _Builtin(
            "Upload a Build Artifact",
            {
                "name": "artifact",
                "path": "",
                "if-no-files-found": "warn",
                "retention-days": "",
                "compression-level": "6",
                "overwrite": "false",
                "include-hidden-files": "false",
            },
            outputs=_ARTIFACT_OUTPUTS,
            required=("path",),
        ),
        "actions/upload-artifact/merge": _Builtin(
            "Merge Build Artifacts",
            {
                "name": "merged-artifacts",
                "pattern": "*",
                "separate-directories": "false",
                "retention-days": "",
                "compression-level": "6",
                "delete-merged": "false",
                "include-hidden-files": "false",
            },
            outputs=_ARTIFACT_OUTPUTS,
        ),
        "actions/download-artifact": _Builtin(
            "Download a Build Artifact",
            {
                "name": "",
                "artifact-ids": "",
                "path": "",
                "pattern": "",
                "merge-multiple": "false",
                "github-token": "",
                "repository": "${{ github.repository }}",
                "run-id": "${{ github.run_id }}",
            },
            outputs=("download-path",),
        ),
        "actions/cache": _Builtin(
            "Cache",
            {**_CACHE_INPUTS, **_CACHE_LOOKUP, "upload-chunk-size": "", "save-always": "false"},
            outputs=_CACHE_OUTPUTS,
            required=("path", "key"),
            post_if="success()",
        ),
        "actions/cache/restore": _Builtin(
            "Restore Cache",
            {**_CACHE_INPUTS, **_CACHE_LOOKUP},
            outputs=_CACHE_OUTPUTS,
            required=("path", "key"),
        ),
        "actions/cache/save": _Builtin(
            "Save Cache",
            {"path": "", "key": "", "enableCrossOsArchive": "false", "upload-chunk-size": ""},
            required=("path", "key"),
        ),
    }
)


def builtin(remote: Remote, real: Collection[str] = ()) -> str | None:
    """Return the name of the built-in program that answers a reference, such as ``checkout`` or ``cache/save``.

    Versions before 3 are left to the published actions; ``real`` names those that are to be fetched in any version,
    by repository or with their path.
    """
    name = remote.name.lower()
    if name not in _BUILTINS or {name, remote.repository.lower()} & {item.lower() for item in real}:
        return None
    version = _VERSION.fullmatch(remote.ref)
    if version is not None and int(version[1]) < _OLDEST:
        return None
    return name.removeprefix("actions/")


def command(name: str, phase: str) -> list[str]:
    """Return the program of a built-in action: ``phase`` is what its metadata calls ``main`` or ``post``.

    Isolated, because the workspace in which it starts may hold modules of any name.
    """
    return [sys.executable, "-I", "-m", "ostler.actions.builtin", name, phase]


def metadata(name: str) -> Action:
    """Return what the ``action.yml`` of a built-in action would say."""
    entry = _BUILTINS[f"actions/{name}"]
    return Action(
        path="",
        name=entry.title,
        inputs={
            key: ActionInput(required=key in entry.required, default=default or None)
            for key, default in entry.inputs.items()
        },
        outputs={key: ActionOutput() for key in entry.outputs},
        runs=NodeRuns(
            using=USING,
            main="main",
            post="" if entry.post_if is None else "post",
            post_if=entry.post_if or "",
        ),
    )
