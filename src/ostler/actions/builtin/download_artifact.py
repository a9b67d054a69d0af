"""Downloading artifacts of the run: one by its name, some by a pattern or their ids, or all."""

import os
from collections.abc import Sequence

from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.builtin.name_patterns import matching
from ostler.actions.builtin.vault import Artifact, open_vault


def main(invocation: Invocation) -> None:
    """Find the artifacts and write their files."""
    name, pattern = invocation.text("name"), invocation.text("pattern")
    ids = [part.strip() for part in invocation.text("artifact-ids").split(",") if part.strip()]
    if name and ids:
        raise ActionFailed("Inputs 'name' and 'artifact-ids' cannot be used together. Please specify only one.")
    target = _target(invocation)
    own = invocation.variable("GITHUB_RUN_ID")
    wanted_run = invocation.text("run-id")
    vault = open_vault(invocation)
    chosen = _choose(vault.artifacts("" if wanted_run == own else wanted_run), name, ids, pattern)
    merged = invocation.flag("merge-multiple")
    for artifact in chosen:
        # One that was asked for by name, or is the only one that its id names, is not put into a folder of its own.
        flat = merged or bool(name) or (len(ids) == 1 and len(chosen) == 1)
        place = target if flat else os.path.join(target, artifact.name)
        os.makedirs(place, exist_ok=True)
        count = vault.fetch_artifact(artifact, place)
        invocation.say(f"Artifact {artifact.name}: {count} file(s) to {place}")
    if not name:
        invocation.say(f"Total of {len(chosen)} artifact(s) downloaded")
    invocation.output("download-path", target)


def _choose(listed: Sequence[Artifact], name: str, ids: Sequence[str], pattern: str) -> list[Artifact]:
    if name:
        found = [artifact for artifact in listed if artifact.name == name]
        if not found:
            have = ", ".join(artifact.name for artifact in listed[:20]) or "none"
            raise ActionFailed(
                f"Unable to download artifact(s): Artifact not found for name: {name}. The run has: {have}."
            )
        return found
    if ids:
        found = [artifact for artifact in listed if artifact.id in ids]
        missing = sorted(set(ids) - {artifact.id for artifact in found})
        if missing:
            raise ActionFailed(f"None of the artifacts of this run has the ID {', '.join(missing)}.")
        return found
    return [artifact for artifact in listed if not pattern or matching(pattern, artifact.name)]


def _target(invocation: Invocation) -> str:
    """Return where to write. A relative path stays in the workspace; whoever means another place writes it in full."""
    written = invocation.text("path")
    if written == "~" or written.startswith("~/"):
        return os.path.normpath(invocation.home + written[1:])
    if os.path.isabs(written):
        return os.path.normpath(written)
    path = os.path.normpath(os.path.join(invocation.workspace, written))
    real, top = os.path.realpath(path), os.path.realpath(invocation.workspace)
    if real != top and not real.startswith(f"{top}{os.sep}"):
        raise ActionFailed(
            f"The path '{written[:200]}' leads out of the workspace. Write an absolute path if that is meant."
        )
    return path
