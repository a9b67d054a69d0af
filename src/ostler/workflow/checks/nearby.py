"""The actions and workflows that a file names by their path in the same repository."""

from posixpath import normpath
from typing import Final

from ostler.workflow import plain
from ostler.workflow.checks.sheet import Files
from ostler.workflow.nodes import MappingNode
from ostler.workflow.reader import read

_METADATA: Final = ("action.yml", "action.yaml")


def local_path(uses: str) -> str:
    """Return the path that a reference to the same repository names; nothing for any other reference."""
    if not uses.startswith(("./", ".\\", "$/")) or "${{" in uses:
        return ""
    path = normpath(uses[2:].replace("\\", "/"))
    return "" if path.startswith("../") or path == ".." else path


def local_workflow(files: Files, path: str) -> MappingNode | None:
    """Return the tree of a workflow; None if there is none that could be read."""
    content = files.read(path)
    root = None if content is None else read(path, content).root
    return root if isinstance(root, MappingNode) else None


def local_action(files: Files, folder: str) -> MappingNode | None:
    """Return the metadata of an action; None if there is none that could be read."""
    for name in _METADATA:
        path = normpath(f"{folder}/{name}")
        content = files.read(path)
        if content is not None:
            root = read(path, content).root
            return root if isinstance(root, MappingNode) and plain.get(root, "runs") is not None else None
    return None
