"""``uses``: the form of references to actions and to reusable workflows, and whether they stay what they are."""

import re
from collections.abc import Iterator
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, single
from ostler.workflow.findings import Finding
from ostler.workflow.nodes import ScalarNode

_NAME: Final = re.compile(r"[\w.-]+", re.ASCII)
_SHORT_DIGEST: Final = re.compile(r"[0-9a-f]{7,8}", re.ASCII)
_MOVING: Final = ("main", "master", "develop", "dev", "trunk", "HEAD", "latest")
_FOLDERS: Final = (
    ".github/workflows/",
    ".github/workflows-lab/",
    ".ostler/workflows/",
    ".gitea/workflows/",
    ".forgejo/workflows/",
)
_IN_REFERENCES: Final = re.compile(r"[?*\[\]\\~^:\s]|@\{|\.\.|//|^[/.]|[/.]$|/\.|\.lock(/|$)")
_ACTION: Final = "Write owner/repository@ref, owner/repository/folder@ref, ./folder or docker://image."
_WORKFLOW: Final = "Write ./.github/workflows/file.yml or owner/repository/.github/workflows/file.yml@ref."


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check all references."""
    for step in sheet.steps:
        uses = single(step.node.get("uses"))
        if uses is not None and uses.text and not plain.is_template(uses):
            yield from _action(uses)
    for job in sheet.jobs:
        uses = single(job.node.get("uses"))
        if uses is not None and uses.text and not plain.is_template(uses):
            yield from _workflow(uses)


def _action(uses: ScalarNode) -> Iterator[Finding]:
    text = uses.text
    if text.startswith(("./", ".\\", "$/", "docker://")):
        if text.endswith((".yml", ".yaml")) and any(folder in text for folder in _FOLDERS):
            yield _not_in_a_step(uses)
        elif text == "docker://":
            yield Finding("uses-format", "no image is named", uses.span, "Write docker://image:tag.")
        return
    path, at, ref = text.partition("@")
    parts = re.split(r"[/\\]", path)
    if not at or not ref or "@" in ref or len(parts) < 2 or not parts[0] or not parts[1]:
        why = "names no version" if len(parts) > 1 and not at else "is not the name of an action"
        yield Finding("uses-format", f"{text[:80]!r} {why}", uses.span, _ACTION)
    elif path.endswith((".yml", ".yaml")) and any(f"/{folder}" in path for folder in _FOLDERS):
        yield _not_in_a_step(uses)
    elif not _NAME.fullmatch(parts[0]) or not _NAME.fullmatch(parts[1]):
        yield Finding("uses-format", f"{text[:80]!r} is not the name of an action", uses.span, _ACTION)
    else:
        yield from _ref(uses, ref)


def _not_in_a_step(uses: ScalarNode) -> Finding:
    fix = "Write it as `uses` of a job, not of a step."
    return Finding("uses-format", "this is a reusable workflow, which only a job can call", uses.span, fix)


def _workflow(uses: ScalarNode) -> Iterator[Finding]:
    text = uses.text
    local = text.startswith(("./", "$/"))
    path, at, ref = text[2:].partition("@") if local else text.partition("@")
    name = path
    if not local:
        owner, _, rest = path.partition("/")
        repository, _, name = rest.partition("/")
        if not _NAME.fullmatch(owner) or not _NAME.fullmatch(repository):
            yield Finding("uses-format", f"{text[:80]!r} is not the name of a workflow", uses.span, _WORKFLOW)
            return
    why = ""
    if local and at:
        why = "is a file of this repository, which has no version"
    elif not local and (not ref or "@" in ref):
        why = "names no version" if not ref else "holds '@' twice"
    elif not name.endswith((".yml", ".yaml")) or name.rpartition("/")[2] in (".yml", ".yaml"):
        why = "is not a file that ends with .yml or .yaml"
    if why:
        yield Finding("uses-format", f"{text[:80]!r} {why}", uses.span, _WORKFLOW)
        return
    if f"{name.rpartition('/')[0]}/" not in _FOLDERS:
        message = f"{text[:80]!r} is not right below .github/workflows, so GitHub would not find it"
        yield Finding("uses-folder", message, uses.span, _WORKFLOW, "warning")
    if not local:
        yield from _ref(uses, ref)


def _ref(uses: ScalarNode, ref: str) -> Iterator[Finding]:
    if _IN_REFERENCES.search(ref):
        yield Finding("uses-format", f"{ref[:60]!r} cannot be the name of a branch or tag", uses.span)
    elif _SHORT_DIGEST.fullmatch(ref) and not ref.isdigit():
        message = f"{ref!r} looks like a shortened digest of a commit, which is not accepted"
        yield Finding("uses-short-digest", message, uses.span, "Write all 40 digits.", "warning")
    elif ref in _MOVING:
        message = f"{ref!r} moves, so what runs here can change at any time"
        yield Finding("uses-unpinned", message, uses.span, "Name a tag, or better the digest of a commit.", "hint")
