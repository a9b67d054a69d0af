"""The page of compatibility lists all that there is, and says nothing of what is not."""

from docs.generators.compatibility import GROUPS, exceptions, page, rows
from ostler.actions.engine.file_commands import Files
from ostler.actions.engine.variables import _ALWAYS, _GITHUB  # pyright: ignore[reportPrivateUsage]
from ostler.expr.functions import SIGNATURES
from ostler.workflow.language.variables import DEFAULT_VARIABLES

_STATES = {"works", "no effect", "refused", "further"}


def test_every_exception_is_of_something_that_exists() -> None:
    names = {group: {row.name for row in found} for group, found in rows().items()}
    said = exceptions()
    assert set(said) == set(GROUPS) == set(names)
    unknown = sorted(f"{group}: {name}" for group in said for name in said[group] if name not in names[group])
    assert not unknown, f"docs/compatibility.toml speaks of what does not exist: {unknown}"
    assert {state for group in said.values() for state, _ in group.values()} <= _STATES


def test_every_variable_and_file_of_the_runner_is_listed() -> None:
    set_by_runner = {f"GITHUB_{name.upper()}" for name in _GITHUB} | set(_ALWAYS) - {"OSTLER"}
    files = set(Files("", "", "", "", "").variables())
    assert (set_by_runner | files) <= DEFAULT_VARIABLES.keys()


def test_every_function_is_listed() -> None:
    text = page()
    assert all(f"| `{signature.name}` |" in text for signature in SIGNATURES.values())
