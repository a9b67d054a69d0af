"""Merging artifacts of the run into one."""

import os
import tempfile

from ostler.actions.builtin.invocation import ActionFailed, Invocation
from ostler.actions.builtin.name_patterns import matching
from ostler.actions.builtin.upload_artifact import choose, keep, read_options, report
from ostler.actions.builtin.vault import check_name, open_vault


def main(invocation: Invocation) -> None:
    """Bring the files of all artifacts that fit together, and keep them under one name."""
    name = invocation.text("name") or "merged-artifacts"
    check_name(name)
    pattern = invocation.text("pattern") or "*"
    vault = open_vault(invocation)
    found = [artifact for artifact in vault.artifacts("") if artifact.name != name and matching(pattern, artifact.name)]
    if not found:
        raise ActionFailed(f"No artifacts found in this run with the pattern: {pattern}")
    os.makedirs(invocation.temporary, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=invocation.temporary, prefix="merge-") as folder:
        for artifact in found:
            place = os.path.join(folder, artifact.name) if invocation.flag("separate-directories") else folder
            os.makedirs(place, exist_ok=True)
            vault.fetch_artifact(artifact, place)
        chosen = choose(".", folder, invocation.home, hidden=invocation.flag("include-hidden-files"))
        files = {os.path.relpath(path, folder): path for path in chosen.files}
        # Merging again replaces what was merged before, as the published action does.
        report(invocation, keep(invocation, vault, name, files, read_options(invocation)))
    if invocation.flag("delete-merged"):
        for artifact in found:
            vault.delete_artifact(artifact)
            invocation.say(f"Deleted the artifact {artifact.name}")
