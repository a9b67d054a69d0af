"""The cells that ``--matrix`` chooses: whether there are such, as far as a file says it before anything runs."""

from collections.abc import Iterator, Mapping
from typing import cast

from ostler.cli.local_run.errors import NothingChosen
from ostler.workflow.model import Workflow

_OPENS = "${{"
_LISTS = ("include", "exclude")


def check_cells(workflow: Workflow, wanted: Mapping[str, tuple[str, ...]]) -> None:
    """Raise if no matrix has a key, or none of the values, that are asked for; what is computed may have any."""
    matrices = [job.strategy.matrix for job in workflow.jobs if job.strategy.matrix is not None]
    if any(isinstance(matrix, str) for matrix in matrices):
        return
    known: dict[str, list[object]] = {}
    for matrix in matrices:
        for key, value in _values(matrix) if isinstance(matrix, dict) else ():
            known.setdefault(key, []).append(value)
    for key, texts in wanted.items():
        if key not in known:
            names = f"its keys are: {', '.join(known)}" if known else "leave --matrix out"
            raise NothingChosen(f"{workflow.path} has no matrix with the key {key!r}", fix=names)
        values = [as_typed(value) for value in known[key]]
        if not any(_OPENS in value for value in values) and not set(texts) & set(values):
            shown = ", ".join(dict.fromkeys(values))
            raise NothingChosen(f"no matrix has {key}={','.join(texts)}", fix=f"values of {key} are: {shown}")


def _values(matrix: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in matrix.items():
        vector = cast("list[object]", value) if isinstance(value, list) else [value]
        if key not in _LISTS:
            yield from ((key, each) for each in vector)
        elif key == "include":
            for cell in vector:
                yield from cast("dict[str, object]", cell).items() if isinstance(cell, dict) else ()


def as_typed(value: object) -> str:
    """Return a value of a cell as people type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
