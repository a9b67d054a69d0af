"""What a pass is given: the tree of a file, its jobs and steps, its expressions, and the files beside it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from ostler.workflow import plain
from ostler.workflow.checks.formulas import Formula, formulas
from ostler.workflow.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ostler.workflow.structure import Path, Site


class Files(Protocol):
    """The files of a repository."""

    @property
    def complete(self) -> bool:
        """Whether a file that is not there is surely missing."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the content of a file by its path from the top of the repository; None where there is none."""
        ...


class FilesAtHand(NamedTuple):
    """A whole repository that was read before."""

    contents: Mapping[str, bytes]
    complete: bool = True

    def read(self, path: str) -> bytes | None:
        """Return the content of a file."""
        return self.contents.get(path)


class StepPart(NamedTuple):
    """One step with its place. ``group`` is the position of the ``parallel`` step that holds it."""

    node: MappingNode
    path: Path
    position: int
    group: int | None

    @property
    def id(self) -> ScalarNode | None:
        """Return the value of ``id``."""
        return single(self.node.get("id"))


class JobPart(NamedTuple):
    """One job with its key."""

    key: ScalarNode
    node: MappingNode
    needs: tuple[ScalarNode, ...]
    steps: tuple[StepPart, ...]


class Sheet(NamedTuple):
    """One file. ``files`` is None where nothing is known of the repository that the file belongs to."""

    path: str
    kind: Literal["workflow", "action"]
    source: str
    root: MappingNode
    formulas: tuple[Formula, ...]
    jobs: tuple[JobPart, ...]
    steps: tuple[StepPart, ...]
    """Of all jobs, or of a composite action."""
    files: Files | None


def sheet(
    path: str,
    kind: Literal["workflow", "action"],
    source: str,
    root: MappingNode,
    sites: Sequence[Site],
    files: Files | None = None,
) -> Sheet:
    """Return the sheet of a file."""
    jobs = tuple(
        JobPart(
            entry.key,
            entry.value,
            singles(entry.value.get("needs")),
            tuple(_steps(entry.value.get("steps"), ("jobs", entry.key.text, "steps"))),
        )
        for entry in plain.entries(root.get("jobs"))
        if isinstance(entry.value, MappingNode)
    )
    steps = tuple(step for job in jobs for step in job.steps)
    if kind == "action":
        steps = tuple(_steps(plain.get(root.get("runs"), "steps"), ("runs", "steps")))
    return Sheet(path, kind, source, root, tuple(formulas(sites)), jobs, steps, files)


def single(node: Node | None) -> ScalarNode | None:
    """Return a node if it is a single value."""
    return node if isinstance(node, ScalarNode) else None


def singles(node: Node | None) -> tuple[ScalarNode, ...]:
    """Return the single values of a list, of which one alone may stand for itself."""
    if isinstance(node, SequenceNode):
        return tuple(item for item in node.items if isinstance(item, ScalarNode))
    return (node,) if isinstance(node, ScalarNode) and node.value is not None else ()


def literal(node: Node | None) -> str:
    """Return the text of a single value without expressions; nothing for anything else."""
    return plain.text(node) if isinstance(node, ScalarNode) and not plain.is_template(node) else ""


def _steps(node: Node | None, path: Path) -> Iterator[StepPart]:
    for position, item in enumerate(node.items if isinstance(node, SequenceNode) else ()):
        if not isinstance(item, MappingNode):
            continue
        yield StepPart(item, (*path, position), position, None)
        inner = item.get("parallel")
        for at, below in enumerate(inner.items if isinstance(inner, SequenceNode) else ()):
            if isinstance(below, MappingNode):
                yield StepPart(below, (*path, position, "parallel", at), position, position)
