"""Uploading files as an artifact: which files the patterns name, and where they lie in the artifact."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.builtin.vault import Artifact, ArtifactExists, ArtifactOptions, Vault, check_name, open_vault
from ostler.actions.globbing import Options, parse, search, search_paths

_REACTIONS = ("warn", "error", "ignore")
_MERGING_VERSION = re.compile(r"v?[123](\.\d+)*")


class Chosen(NamedTuple):
    """The files of an artifact."""

    root: str
    """The folder that becomes the artifact's own."""
    files: list[str]
    """Absolute paths."""


def main(invocation: Invocation) -> None:
    """Find the files and keep them."""
    name = invocation.text("name") or "artifact"
    check_name(name)
    reaction = invocation.text("if-no-files-found") or "warn"
    if reaction not in _REACTIONS:
        raise ActionFailed(
            f"Unrecognized if-no-files-found input. Provided: {reaction}. Available options: {', '.join(_REACTIONS)}"
        )
    patterns = invocation.required("path")
    options = read_options(invocation)
    hidden = invocation.flag("include-hidden-files")
    chosen = choose(patterns, invocation.workspace, invocation.home, hidden=hidden)
    if not chosen.files:
        _react(invocation, reaction, patterns)
        return
    invocation.say(f"With the provided path, there will be {len(chosen.files)} file(s) uploaded")
    invocation.debug(f"Root artifact directory is {chosen.root}")
    files = {os.path.relpath(path, chosen.root): path for path in chosen.files}
    report(invocation, keep(invocation, open_vault(invocation), name, files, options))


def read_options(invocation: Invocation) -> ArtifactOptions:
    level = invocation.number("compression-level", 6)
    if level > 9:
        raise ActionFailed(f"Invalid compression-level: {level}. It is a number from 0 to 9.")
    days = invocation.number("retention-days", 0)
    longest = invocation.variable("GITHUB_RETENTION_DAYS")
    if longest.isdecimal() and days > int(longest) > 0:
        invocation.warn(f"Retention days cannot be greater than the maximum allowed {longest}: that is used instead")
        days = int(longest)
    return ArtifactOptions(days, level, invocation.flag("overwrite"))


def keep(
    invocation: Invocation, vault: Vault, name: str, files: Mapping[str, str], options: ArtifactOptions
) -> Artifact:
    """Store files under a name; versions before 4 add to what has the name already."""
    try:
        return vault.store_artifact(name, files, options)
    except ArtifactExists as failure:
        if not _MERGING_VERSION.fullmatch(invocation.variable("GITHUB_ACTION_REF")):
            raise ActionFailed(
                f"Failed to CreateArtifact: {failure}. "
                "Give each job's artifact a name of its own, or set `overwrite: true`."
            ) from failure
    earlier = next(artifact for artifact in vault.artifacts("") if artifact.name == name)
    os.makedirs(invocation.temporary, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=invocation.temporary, prefix="artifact-") as folder:
        vault.fetch_artifact(earlier, folder)
        together = {
            os.path.relpath(os.path.join(above, file), folder): os.path.join(above, file)
            for above, _, names in os.walk(folder)
            for file in names
        }
        return vault.store_artifact(name, {**together, **files}, options._replace(overwrite=True))


def report(invocation: Invocation, artifact: Artifact) -> None:
    """Say what became of it, to people and to later steps."""
    invocation.output("artifact-id", artifact.id)
    invocation.output("artifact-digest", artifact.digest)
    invocation.output("artifact-url", artifact.url)
    invocation.say(
        f"Artifact {artifact.name} has been successfully uploaded! "
        f"Its size is {artifact.size} bytes, its ID is {artifact.id}"
    )
    invocation.say(f"SHA256 digest of uploaded artifact is {artifact.digest}")
    invocation.say(f"Artifact: {artifact.url}")


def choose(text: str, workspace: str, home: str, *, hidden: bool) -> Chosen:
    """Return the files that patterns name and the folder that they have in common.

    With several places to search it is their closest common one; a single file lies in its folder by itself.
    """
    patterns = parse(text, workspace, home)
    files = list(dict.fromkeys(search(patterns, Options(directories=False, hidden=hidden))))
    places = search_paths(patterns)
    if len(places) > 1:
        return Chosen(_common(places), files)
    if not places:
        return Chosen(workspace, [])
    alone = len(files) == 1 and files[0] == places[0]
    return Chosen(os.path.dirname(places[0]) if alone else places[0], files)


def _common(places: Sequence[str]) -> str:
    """Return the closest folder above all of the places, of which some may be files."""
    common = os.path.commonpath(places)
    return os.path.dirname(common) if os.path.isfile(common) else common


def _react(invocation: Invocation, reaction: str, patterns: str) -> None:
    shown = ", ".join(patterns.splitlines())
    message = f"No files were found with the provided path: {shown}. No artifacts will be uploaded."
    if reaction == "error":
        raise ActionFailed(message)
    if reaction == "warn":
        invocation.warn(message)
    else:
        invocation.say(message)
