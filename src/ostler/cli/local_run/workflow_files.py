"""Reading workflow files: checked as ``ostler validate`` does, because nothing runs of a file that has errors."""

from collections.abc import Callable
from pathlib import Path

from ostler.cli.local_run.errors import WorkflowInvalid, WorkflowMissing
from ostler.cli.validation import reports
from ostler.cli.validation.checked_file import CheckedFile
from ostler.cli.validation.discovery import Repository
from ostler.workflow.check import check_workflow
from ostler.workflow.model import Workflow


class WorkflowFiles:
    """The workflow files of one repository. ``say`` shows people what is wrong in one."""

    def __init__(self, root: Path, say: Callable[[str], object]) -> None:
        self._repository = Repository(root, complete=False)
        self._root = root
        self._say = say

    def load(self, path: Path) -> Workflow:
        """Return the workflow of a file."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise WorkflowMissing(f"cannot read {path}: {error.strerror}") from error
        resolved = path.resolve()
        within = resolved.is_relative_to(self._root)
        name = (resolved.relative_to(self._root) if within else path).as_posix()
        checked = check_workflow(name, content, self._repository if within else None)
        if checked.workflow is None:
            self._say(reports.text(CheckedFile(name, checked.document.text.split("\n"), checked.errors)))
            raise WorkflowInvalid(f"{name} has errors", fix=f"correct it; `ostler validate {name}` shows all findings")
        return checked.workflow
