"""The documentation and the program say the same: generated pages are current, and nothing public is left out."""

import re
import tomllib

import pytest

from docs.generate import FOLDER, PAGES
from docs.generators.errors import found_codes
from docs.generators.states import machines
from ostler.protocol.problem import PROBLEMS
from tests.tidy.sources import ROOT


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_pages_are_current(name: str) -> None:
    path = FOLDER / name
    assert path.exists(), f"run `make docs` and commit docs/{name}"
    assert path.read_text(encoding="utf-8") == PAGES[name](), f"docs/{name} is out of date: run `make docs`"


def test_every_error_code_is_documented() -> None:
    text = (FOLDER / "reference/errors.md").read_text(encoding="utf-8")
    codes = {found.code for found in found_codes()} | PROBLEMS.keys()
    assert len(codes) > len(PROBLEMS), "no code was found in the source: the generator looks in the wrong place"
    missing = sorted(code for code in codes if f"`{code}`" not in text)
    assert not missing, f"undocumented error codes: {missing}"


def test_every_error_code_has_a_form_that_programs_can_rely_on() -> None:
    odd = sorted(found.code for found in found_codes() if not re.fullmatch(r"[a-z0-9_{}]+", found.code))
    assert not odd, f"codes are lower case words joined by underscores: {odd}"


def test_every_error_code_says_what_it_means() -> None:
    silent = sorted({f"{found.package}: {found.code}" for found in found_codes() if not found.meaning})
    explained = {f"{found.package}: {found.code}" for found in found_codes() if found.meaning}
    silent = [code for code in silent if code not in explained and code.partition(": ")[2] not in PROBLEMS]
    assert not silent, f"give the exception a docstring, or the refusal a literal reason: {silent}"


def test_every_state_machine_is_drawn() -> None:
    text = (FOLDER / "reference/states.md").read_text(encoding="utf-8")
    nouns = [machine.noun for _, machine in machines()]
    assert "job" in nouns
    assert all(f"## {noun.capitalize()}" in text for noun in nouns)


def test_the_site_lists_every_page() -> None:
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    nav = str(tomllib.loads(config)["project"]["nav"])
    pages = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md")}
    listed = set(re.findall(r"'([\w/.-]+\.md)'", nav))
    assert not pages - listed, f"add these to nav in zensical.toml: {sorted(pages - listed)}"
    assert not listed - pages, f"zensical.toml lists pages that do not exist: {sorted(listed - pages)}"


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in [*FOLDER.rglob("*.md"), *ROOT.glob("*.md")]
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert not broken, f"broken links: {broken}"
