"""Every page, in both themes and at both widths: accessible, never too wide, usable by keyboard."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROW, OpenPage, Theme, log_page

THEMES: tuple[Theme, ...] = ("light", "dark")
AXE = Path(__file__).parent / "vendor" / "axe.js"
PAGES = (
    "/runs",
    "/no-runs",
    "/queue",
    "/pools",
    "/pools/pool_2",
    "/pools/new",
    "/pools/pool_2/tokens",
    "/runners",
    "/runners/rnr_2",
    "/workflows",
    "/no-workflows",
    "/workflows/wf_1",
    "/runs/run_41",
    "/problem",
    "/sign-in",
    "/sign-in/code",
    "/api",
    log_page("job_build"),
    log_page("job_torture"),
    log_page("job_empty"),
    log_page("job_live"),
)


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(open_page: OpenPage, path: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there: run `.venv/bin/python hatch_build.py`")
    page = open_page(path, wait=ROW if path.endswith(("build", "torture")) else "main")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]] == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_too_wide(open_page: OpenPage, path: str) -> None:
    page = open_page(path, width=360)
    for width in (360, 390, 768, 920, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_tab_skips_to_the_content(open_page: OpenPage) -> None:
    page = open_page("/runs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_the_palette_goes_anywhere(open_page: OpenPage) -> None:
    page = open_page("/runs")
    page.keyboard.press("Control+k")
    page.keyboard.type("staging")
    option = page.get_by_role("option", name="Deploy checkout to staging")
    expect(option).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.keyboard.type("queu")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue")


def test_the_theme_is_remembered(open_page: OpenPage) -> None:
    page = open_page("/runs", theme="dark")
    switch = page.get_by_role("button", name="Theme: as the system")
    switch.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(24, 27, 34)"


def test_a_fragment_is_fetched_when_its_topic_changed(open_page: OpenPage) -> None:
    page = open_page("/queue")
    with page.expect_response("**/fragments/queue?"):
        page.locator("#queue").dispatch_event("changed")
    expect(page.locator("#queue")).to_contain_text("4 jobs waiting")


def test_markup_in_names_stays_text(open_page: OpenPage) -> None:
    page = open_page(log_page("job_torture"), wait=ROW)
    expect(page.locator(".side-row-name").last).to_have_text("<b>Bold</b>")
