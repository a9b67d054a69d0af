"""Installations that a test may break, and how often and with which dice.

``CHAOS_ROUNDS`` plays every random test so many times, each with its own seed; a failing one is played again with
``CHAOS_SEED``.
"""

import os
from collections.abc import Iterator
from random import Random

import pytest

from tests.e2e.chaos.ledger import Ledger
from tests.parts.installation import Installation

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "1"))
SEED = int(os.environ.get("CHAOS_SEED", "7080"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each round of a random test its own seed."""
    if "dice" in metafunc.fixturenames:
        metafunc.parametrize("dice", [SEED + round_ for round_ in range(ROUNDS)], indirect=True)


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> Random:
    """Chance that can be repeated."""
    return Random(request.param)


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """An installation of the test's own; its logs are shown when the test failed."""
    before = request.session.testsfailed
    with Installation() as installation:
        yield installation
        if request.session.testsfailed > before:
            installation.complain()


@pytest.fixture
def ledger(site: Installation) -> Ledger:
    """The account of what was executed."""
    return Ledger(site)
