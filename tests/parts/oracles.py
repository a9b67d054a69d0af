"""Finds the npm packages that serve as oracles, and Node, which runs them."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.parts.errors import PartMissing

ORACLES = Path(__file__).parents[1] / "oracles"
INSTALL = ("npm", "ci", "--prefix", str(ORACLES), "--no-audit", "--no-fund", "--ignore-scripts")


class Oracles(NamedTuple):
    """Node and the folder whose ``node_modules`` holds the packages."""

    node: Path
    folder: Path


def find_oracles() -> Oracles:
    """Node with every pinned package; raises PartMissing where something lacks or has another version."""
    node = shutil.which("node")
    if node is None:
        raise PartMissing("Node is not installed: `apt-get install nodejs npm` or `brew install node`")
    wanted: dict[str, str] = json.loads((ORACLES / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    for package, version in wanted.items():
        installed = ORACLES / "node_modules" / package / "package.json"
        if not installed.exists() or json.loads(installed.read_text(encoding="utf-8"))["version"] != version:
            raise PartMissing(f"the npm package {package} {version} is not installed: `npm ci --prefix tests/oracles`")
    return Oracles(Path(node), ORACLES)
