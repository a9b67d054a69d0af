"""Whatever a job prints stays text: nothing runs, nothing is injected, nothing is hidden (threats 28 and 29)."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROW, OpenPage, Theme, log_page
from tests.browser.fake_logs import TORTURE

ALLOWED = {"A", "SPAN", "MARK", "BUTTON", "TIME"}


def test_nothing_of_a_log_becomes_markup(open_page: OpenPage) -> None:
    page = open_page(log_page("job_torture"), wait=ROW)
    expect(page.locator(".log-row[data-line]")).to_have_count(len(TORTURE))
    assert page.evaluate("window.injected") is None
    assert page.title() == "Run · Ostler"
    names = page.evaluate("[...document.querySelectorAll('.log-row *')].map((element) => element.tagName)")
    assert set(names) <= ALLOWED
    attributes = page.evaluate(
        "[...document.querySelectorAll('.log-row *')].flatMap((element) => element.getAttributeNames())"
    )
    assert not [name for name in attributes if name.startswith("on")]


def test_only_http_addresses_are_links(open_page: OpenPage) -> None:
    page = open_page(log_page("job_torture"), wait=ROW)
    links = page.locator(".log-text a:not(.log-more)")
    found = links.evaluate_all("(all) => all.map((link) => [link.href, link.rel, link.target])")
    assert [link[0] for link in found] == [
        "https://example.org/path?a=1&b=",
        "http://example.org/in-brackets",
        "https://example.org/",
    ]
    assert all(link[1:] == ["noopener noreferrer nofollow", "_blank"] for link in found)


def test_hidden_characters_are_shown(open_page: OpenPage) -> None:
    page = open_page(log_page("job_torture"), wait=ROW)
    direction = page.locator('.log-row[data-line="9"] .log-text')
    expect(direction).to_have_text("user U+202Etxt.exeU+202C and U+2066isolatedU+2069 and zeroU+200Bwidth")
    control = page.locator('.log-row[data-line="10"] .log-text')
    expect(control).to_have_text("before^Mafter^H^H bell^G nul^@ del^? nextU+0085line U+009B31m")
    concealed = page.locator('.log-row[data-line="8"] .log-text')
    expect(concealed).to_contain_text("concealed")


def test_huge_lines_are_cut_on_screen(open_page: OpenPage) -> None:
    page = open_page(log_page("job_torture"), wait=ROW)
    huge = page.locator('.log-row[data-line="13"] .log-text')
    assert len(huge.text_content() or "") < 10_000
    expect(huge.locator("a.log-more")).to_contain_text("1,991,900 more characters in the raw log")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_colour_can_be_read(open_page: OpenPage, theme: Theme) -> None:
    page = open_page(log_page("job_torture"), theme=theme, wait=ROW)
    worst = page.evaluate(
        """async () => {
          const { readable, contrast } = await import("/static/log-view/colour.js");
          let worst = 21;
          const levels = [0, 51, 102, 153, 204, 255];
          for (const red of levels) for (const green of levels) for (const blue of levels)
            for (const paper of [[255, 255, 255], [16, 18, 24], [blue, red, green]])
              worst = Math.min(worst, contrast(readable([red, green, blue], paper), paper));
          return worst;
        }"""
    )
    assert worst >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sixteen_colours_can_be_read(open_page: OpenPage, theme: Theme) -> None:
    page = open_page(log_page("job_build"), theme=theme, wait=ROW)
    faint = page.evaluate(
        """async () => {
          const { contrast } = await import("/static/log-view/colour.js");
          const parts = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
          const view = document.querySelector("log-view");
          const paper = parts(getComputedStyle(view).backgroundColor);
          const sample = document.querySelector(".log-text").appendChild(document.createElement("span"));
          return [...Array(16).keys()].filter((index) => {
            sample.className = `ansi-${index}`;
            return contrast(parts(getComputedStyle(sample).color), paper) < 4.5;
          });
        }"""
    )
    assert faint == []
