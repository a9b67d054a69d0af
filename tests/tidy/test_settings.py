"""Whatever a user can set is documented: a variable or a setting that nobody can find is a secret switch."""

import ast
import re
from collections.abc import Iterator

from docs.generate import FOLDER
from tests.tidy.sources import Source, shipped, sources

_VARIABLE = re.compile(r"OSTLER_[A-Z0-9_]*[A-Z0-9]")


def _documented() -> str:
    return "".join(page.read_text(encoding="utf-8") for page in (FOLDER / "reference").glob("*.md"))


def test_every_environment_variable_is_documented() -> None:
    variables = {
        node.value
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _VARIABLE.fullmatch(node.value)
    }
    assert "OSTLER_JOB_ID" in variables, "no variable was found in the source: this test looks in the wrong place"
    text = _documented()
    missing = sorted(name for name in variables if f"`{name}`" not in text)
    assert not missing, f"add to docs/reference/environment.md: {missing}"


def test_no_other_variable_of_ours_is_promised() -> None:
    mentioned = set(re.findall(rf"`({_VARIABLE.pattern})`", (FOLDER / "reference/environment.md").read_text("utf-8")))
    text = "".join(source.text for source in sources())
    unread = sorted(name for name in mentioned if name not in text)
    assert not unread, f"docs/reference/environment.md names variables that nothing reads: {unread}"


def test_every_setting_is_documented() -> None:
    text = _documented()
    for source in shipped():
        if source.path.name != "settings.py":
            continue
        names = list(_settings(source))
        assert names, f"{source.name} holds no table SETTINGS: tell this test where the settings are listed"
        missing = sorted(name for name in names if f"`{name}`" not in text)
        assert not missing, f"settings of {source.name} that docs/reference lacks: {missing}"


def _settings(source: Source) -> Iterator[str]:
    """The names in ``SETTINGS``: the keys of a dict, or the first argument of each row."""
    for node in source.tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not (
            isinstance(target, ast.Name) and target.id == "SETTINGS" and isinstance(node, ast.Assign | ast.AnnAssign)
        ):
            continue
        if isinstance(node.value, ast.Dict):
            rows = [key for key in node.value.keys if key is not None]
        elif isinstance(node.value, ast.Tuple | ast.List):
            rows = [row.args[0] for row in node.value.elts if isinstance(row, ast.Call) and row.args]
        else:
            continue
        yield from (row.value for row in rows if isinstance(row, ast.Constant) and isinstance(row.value, str))
