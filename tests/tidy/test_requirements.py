"""Every listed requirement is proven by something that exists."""

import re

from docs.generators.requirements import sections
from tests.tidy.sources import ROOT, functions, sources

ROWS = [row for section in sections() for row in section.row]
# Nothing exists yet that could prove these; each names what will.
WAITING: dict[int, str] = {}


def test_rows_are_listed_once_and_in_order() -> None:
    numbers = [row.number for row in ROWS]
    assert numbers == sorted(set(numbers))


def test_every_row_has_a_proof() -> None:
    assert {row.number for row in ROWS if not row.proofs} == WAITING.keys()


def test_every_proof_exists() -> None:
    tests = {f"{source.name}::{function.name}" for source in sources() for function in functions(source)}
    proofs = {(row.number, proof) for row in ROWS for proof in row.proofs}
    missing = sorted(
        f"{number}: {proof}"
        for number, proof in proofs
        if not (re.sub(r"\[.*\]$", "", proof) in tests or (proof.endswith(".md") and (ROOT / proof).is_file()))
    )
    assert not missing, f"docs/requirements.toml names proofs that do not exist: {missing}"
