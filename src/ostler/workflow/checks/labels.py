"""``runs-on``: labels that are surely misspelt, and the form of group names."""

from collections.abc import Iterator
from typing import Final

from ostler.expr.spelling import nearest
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal, singles
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import MappingNode

KNOWN: Final = tuple(
    (  # noqa: SIM905 - thirty quotes say nothing
        "ubuntu-latest ubuntu-slim ubuntu-26.04 ubuntu-24.04 ubuntu-22.04 ubuntu-20.04 ubuntu-24.04-arm "
        "ubuntu-22.04-arm windows-latest windows-2025 windows-2022 windows-2019 windows-11-arm macos-latest "
        "macos-latest-large macos-latest-xlarge macos-26 macos-15 macos-14 macos-13 macos-15-intel "
        "self-hosted linux windows macos x64 arm arm64"
    ).split()
)
_SYSTEMS: Final = {"ubuntu": "Linux", "linux": "Linux", "windows": "Windows", "macos": "macOS"}
_IMAGES: Final = ("ubuntu", "windows", "macos")
_SELF_HOSTED: Final = ("self-hosed", "selfhosted", "self-host", "self_hosted")
_OWNERS: Final = ("org", "organization", "ent", "enterprise")


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check the labels of each job. Any label may exist, so only slips of the finger are reported."""
    for job in sheet.jobs:
        runs_on = job.node.get("runs-on")
        labels = runs_on.get("labels") if isinstance(runs_on, MappingNode) else runs_on
        for label in singles(labels):
            meant = "" if plain.is_template(label) else _meant(label.text)
            if meant:
                message = f"no runner is known to have the label {label.text!r}"
                yield Finding("label-misspelt", message, label.span, f"Did you mean {meant!r}?", "warning")
        systems = {system for label in singles(labels) if (system := _system(label.text))}
        if len(systems) > 1:
            message = f"no runner has labels of {' and of '.join(sorted(systems))}: it must have all of them"
            fix = "Make several jobs by a matrix: `runs-on: ${{ matrix.os }}`."
            yield Finding("label-conflict", message, singles(labels)[0].span, fix, "warning")
        group = runs_on.get("group") if isinstance(runs_on, MappingNode) else None
        parts = literal(group).split("/")
        if group is not None and len(parts) > 1 and (len(parts) > 2 or parts[0] not in _OWNERS or not parts[1]):
            message = f"{literal(group)[:60]!r} is not the name of a group"
            fix = "Write the name alone, or after 'organization/' or 'enterprise/'."
            yield Finding("group-name", message, group.span, fix)


def _system(label: str) -> str:
    """Return the system that a label of a hosted runner, or of any by convention, stands for."""
    first = label.lower().partition("-")[0]
    return _SYSTEMS.get(first, "") if label.lower() in KNOWN else ""


def _meant(label: str) -> str:
    """Return the label that was surely meant: a slip in one of the two words of a hosted runner's."""
    lowered = label.lower()
    if lowered in KNOWN:
        return ""
    if lowered in _SELF_HOSTED:
        return "self-hosted"
    system, dash, image = lowered.partition("-")
    if not dash:
        return ""
    if system in _IMAGES:
        meant = nearest(image, ("latest", "slim")) if image.isalpha() else ""
        return f"{system}-{meant}" if meant else ""
    meant = nearest(system, _IMAGES) if image == "latest" else ""
    return f"{meant}-latest" if meant else ""
