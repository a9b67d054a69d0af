"""Writes the reference pages from the tables that the program itself runs on, so that the two cannot drift apart.

``make fmt`` and ``make docs`` run it (``.venv/bin/python -m docs.generate``). To add a page, write a module under
``docs/generators`` with a function that returns its text, and add a row here. tests/tidy fails while a page on disk
differs from what its generator says.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.generators import (
    cli,
    compatibility,
    errors,
    protocol,
    requirements,
    schemas,
    settings,
    states,
    validate_rules,
)

FOLDER: Final = Path(__file__).parent
PAGES: Final[dict[str, Callable[[], str]]] = {
    "reference/action.schema.json": schemas.action,
    "reference/cli.md": cli.page,
    "reference/compatibility.md": compatibility.page,
    "reference/errors.md": errors.page,
    "reference/protocol.md": protocol.page,
    "reference/requirements.md": requirements.page,
    "reference/settings.md": settings.page,
    "reference/states.md": states.page,
    "reference/validate-rules.md": validate_rules.page,
    "reference/workflow.schema.json": schemas.workflow,
}


def main() -> int:
    """Write every page whose text has changed and name it."""
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"docs: wrote {name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
