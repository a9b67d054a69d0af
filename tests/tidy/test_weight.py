"""What a supervisor loads, counted by loading it: import contracts see our imports, not those of libraries."""

import json
import subprocess
import sys

import pytest

from tests.tidy.sources import ROOT

HEAVY = {
    "asyncio",
    "msgspec",
    "httpx2",
    "dataclasses",
    "ssl",
    "sqlalchemy",
    "starlette",
    "cryptography",
    "typing_extensions",
}
LOADED_BY_SUPERVISORS = ("ostler.agent.supervisor", "ostler.executors", "ostler.logs")


@pytest.mark.parametrize("package", LOADED_BY_SUPERVISORS)
def test_supervisors_load_nothing_heavy(package: str) -> None:
    folder = ROOT / "src" / package.replace(".", "/")
    modules = [
        ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(folder.rglob("*.py"))
        if path.name != "__main__.py"
    ]
    assert modules, f"{package} has moved: tell this test where"
    script = f"import json, sys\nfor name in {modules!r}:\n    __import__(name)\nprint(json.dumps(sorted(sys.modules)))"
    finished = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, check=True)
    heavy = HEAVY & set(json.loads(finished.stdout))
    assert not heavy, f"{package} loads {sorted(heavy)}: every running job would pay for it"
