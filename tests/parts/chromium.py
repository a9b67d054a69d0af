"""Finds the Chromium that the browser tests drive, so that Playwright need not download its own."""

import os
import shutil
from pathlib import Path

from tests.parts.errors import PartMissing

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_BUNDLES = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def find_chromium() -> Path:
    """The browser's program; raises PartMissing where there is none. OSTLER_TEST_CHROMIUM overrides the search."""
    if chosen := os.environ.get("OSTLER_TEST_CHROMIUM"):
        return Path(chosen)
    for name in _NAMES:
        if on_path := shutil.which(name):
            return Path(on_path)
    for bundle in _BUNDLES:
        if bundle.exists():
            return bundle
    downloads = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright")
    for program in sorted(downloads.glob("chromium-*/chrome-linux*/chrome"), reverse=True):
        return program
    raise PartMissing(
        "Chromium is not installed: `apt-get install chromium`, `brew install --cask chromium` "
        "or `.venv/bin/playwright install chromium`"
    )
