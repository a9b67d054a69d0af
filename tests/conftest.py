"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.parts.fixtures"]

# How long one example takes says more about the machine than about the code. Where CI is set, Hypothesis also stops
# throwing dice by itself.
if not os.environ.get("CI"):
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")

REAL_TIME = (Path(__file__).parent / "e2e", Path(__file__).parent / "browser")
"""Where real processes meet real deadlines, and a machine that stands still for a second looks like a fault."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a failed test of real processes once more; pytest's count names every one that needed it."""
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in REAL_TIME):
            item.add_marker(pytest.mark.flaky(reruns=1))
