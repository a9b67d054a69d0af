"""The log view with a million lines and with twenty thousand new ones a second: speed, memory, keys, links, search."""

import logging
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import ROW, OpenPage, heap_used, log_page, wait_until

FIRST_LINE_MS = 250
HEAP_BYTES = 5_000_000
LEAST_FRAMES = 50
LIVE_LAG_MS = 500

report = logging.getLogger("ostler.browser").info  # what was measured, seen with --log-cli-level=info
FRAMES = """async (seconds) => {
  let frames = 0, running = true, worst = 0, last = performance.now();
  const count = (now) => {
    frames += 1;
    worst = Math.max(worst, now - last);
    last = now;
    if (running) requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  running = false;
  return { rate: frames / seconds, worst };
}"""


def top_line(page: Page) -> int:
    """The number of the first line that is really in the window."""
    return page.evaluate(
        """() => {
          const edge = document.querySelector(".log-scroller").getBoundingClientRect().top;
          const rows = [...document.querySelectorAll(".log-row[data-line]")];
          return Number(rows.find((row) => row.getBoundingClientRect().bottom > edge + 1).dataset.line);
        }"""
    )


def wait_for_line(page: Page, line: int) -> None:
    page.wait_for_selector(f'.log-row[data-line="{line}"]:not(.log-loading)')


def test_the_first_line_of_a_million_is_there_at_once(open_page: OpenPage) -> None:
    page = open_page("/runs")  # so that what is measured is a page, not the start of a browser
    page.goto(log_page("job_million"))
    page.wait_for_selector(ROW)
    shown = page.evaluate(
        """async (address) => {
          const frame = document.createElement("log-view");
          frame.setAttribute("job", "job_million");
          document.querySelector("log-view").replaceWith(frame);
          const start = performance.now();
          while (!frame.querySelector(".log-text")) await new Promise(requestAnimationFrame);
          return performance.now() - start;
        }""",
        page.url,
    )
    whole = [since_asked(page) for _ in range(3)]
    report("first line: %.0f ms in an open page, %.0f ms after asking for the page", shown, min(whole))
    assert shown <= FIRST_LINE_MS
    assert min(whole) <= FIRST_LINE_MS


def since_asked(page: Page) -> float:
    """Milliseconds from asking for the page to the first line on it."""
    page.reload()
    page.wait_for_selector(ROW)
    return page.evaluate("performance.getEntriesByName('log-first-line')[0].startTime")


def test_the_heap_stays_small_all_over_the_log(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million"), wait=ROW)
    for share in [0.1 * step for step in range(1, 10)]:
        page.evaluate(
            "([box, share]) => { box.scrollTop = box.scrollHeight * share; }",
            [page.query_selector(".log-scroller"), share],
        )
        page.wait_for_selector(".log-row[data-line]:not(.log-loading)")
    page.keyboard.press("G")
    wait_for_line(page, 1_000_000)
    used = heap_used(page)
    report("%s", f"heap: {used / 1e6:.2f} MB")
    assert used <= HEAP_BYTES


def test_scrolling_is_smooth(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million"), wait=ROW)
    page.locator(".log-scroller").hover()
    rates = [scroll_rate(page)]
    while rates[-1] < LEAST_FRAMES and len(rates) < 3:  # another program may have taken the machine meanwhile
        rates.append(scroll_rate(page))
    assert top_line(page) > 500
    assert max(rates) >= LEAST_FRAMES


def scroll_rate(page: Page) -> float:
    """Frames a second while the wheel turns."""
    page.evaluate(f"() => {{ window.measured = ({FRAMES})(3); }}")
    for _ in range(60):
        page.mouse.wheel(0, 400)
        page.evaluate("new Promise(requestAnimationFrame)")
    frames = page.evaluate("window.measured")
    report("scrolling: %.0f frames/s, worst %.0f ms", frames["rate"], frames["worst"])
    return frames["rate"]


def test_the_scrollbar_reaches_every_part(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million"), wait=ROW)
    move = """(share) => {
      const box = document.querySelector('.log-scroller');
      box.scrollTop = (box.scrollHeight - box.clientHeight) * share;
    }"""
    page.evaluate(move, 0.5)
    wait_until(page, "document.querySelector('.log-row[data-line]').dataset.line > 400000")
    assert abs(top_line(page) - 500_000) < 1000
    page.evaluate(move, 1)
    wait_for_line(page, 1_000_000)
    page.evaluate(move, 0)
    wait_for_line(page, 1)
    assert top_line(page) == 1


def test_small_movements_are_exact_deep_inside(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million", "#L700000"), wait=ROW)
    wait_for_line(page, 700_000)
    before = top_line(page)
    page.locator(".log-scroller").focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    wait_until(page, f"document.querySelector('.log-row[data-line]').dataset.line == {before + 4}")
    assert top_line(page) == before + 10


def test_a_live_log_is_followed_closely(open_page: OpenPage) -> None:
    page = open_page(log_page("job_live"), wait=ROW)
    lags = page.evaluate(
        """async () => {
          const lags = [];
          for (let at = 0; at < 60; at += 1) {
            await new Promise(requestAnimationFrame);
            await new Promise((resolve) => setTimeout(resolve, 33));
            const rows = document.querySelectorAll(".log-row[data-line] .log-text");
            lags.push(Date.now() - Number(rows[rows.length - 1].textContent.split(" ")[3]) / 1000);
          }
          return lags.slice(10).sort((a, b) => a - b);
        }"""
    )
    median, worst, heap = lags[len(lags) // 2], lags[-1], heap_used(page)
    report("live: median %.0f ms behind, worst %.0f ms; heap %.2f MB", median, worst, heap / 1e6)
    assert lags[int(len(lags) * 0.95)] <= LIVE_LAG_MS
    assert heap <= HEAP_BYTES


def test_following_pauses_on_scroll_and_goes_on_when_asked(open_page: OpenPage) -> None:
    page = open_page(log_page("job_live"), wait=ROW)
    follow = page.get_by_role("button", name="Follow")
    expect(follow).to_have_attribute("aria-pressed", "true")
    page.locator(".log-scroller").hover()
    page.mouse.wheel(0, -600)
    expect(follow).to_have_attribute("aria-pressed", "false")
    newest = page.get_by_role("button", name="Jump to newest")
    expect(newest).to_contain_text("lines)")
    grow(page, 4_000)  # until the wheel has come to rest
    still = top_line(page)
    grow(page, 12_000)
    assert top_line(page) == still
    newest.click()
    expect(follow).to_have_attribute("aria-pressed", "true")
    expect(newest).to_be_hidden()


def grow(page: Page, lines: int) -> None:
    """Waits until a live log has so many lines more."""
    total = page.evaluate("document.querySelector('log-view').source.total")
    wait_until(page, f"document.querySelector('log-view').source.total > {total + lines}")


def test_the_whole_history_is_there_while_live(open_page: OpenPage) -> None:
    page = open_page(log_page("job_live"), wait=ROW)
    page.keyboard.press("g")
    wait_for_line(page, 1)
    assert top_line(page) == 1
    expect(page.locator('.log-row[data-line="1"] .log-text')).to_contain_text("line 1 printed")


def test_links_select_lines_and_scroll_to_them(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million", "#L120-L140"), wait=ROW)
    wait_for_line(page, 120)
    expect(page.locator(".log-row.is-selected")).to_have_count(21)
    page.locator('.log-row[data-line="125"] .log-number').click()
    expect(page).to_have_url(re.compile("#L125$"))
    page.locator('.log-row[data-line="130"] .log-number').click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile("#L125-L130$"))
    expect(page.locator(".log-row.is-selected")).to_have_count(6)
    page.evaluate("location.hash = '#L900000'")
    wait_for_line(page, 900_000)
    expect(page.locator('.log-row[data-line="900000"]')).to_have_class(re.compile("is-selected"))


def test_search_streams_its_hits(open_page: OpenPage) -> None:
    page = open_page(log_page("job_million"), wait=ROW)
    page.keyboard.press("/")
    page.keyboard.type("needle in")
    wait_for_line(page, 250_000)
    expect(page.locator(".log-row mark")).to_have_text("needle in")
    expect(page.locator(".log-count")).to_have_text("1 of 4")
    page.keyboard.press("Enter")
    wait_for_line(page, 500_000)
    page.locator(".log-scroller").focus()
    page.keyboard.press("n")
    wait_for_line(page, 750_000)
    page.keyboard.press("N")
    wait_for_line(page, 500_000)
    expect(page.locator(".log-count")).to_have_text("2 of 4")
    page.keyboard.press("Escape")
    expect(page.locator(".log-row mark")).to_have_count(0)


def test_everything_works_by_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page(log_page("job_build"), wait=ROW)
    page.keyboard.press("j")
    expect(page.locator(".is-cursor")).to_have_attribute("data-line", "1")
    page.keyboard.press("j")
    page.keyboard.press("Shift+J")
    expect(page).to_have_url(re.compile("#L2-L3$"))
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile("#L2$"))
    page.keyboard.press("t")
    expect(page.locator(".log-time").first).to_have_text("00:00.000")
    page.keyboard.press("t")
    expect(page.locator(".log-time").first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d\.\d{3}$"))
    page.keyboard.press("w")
    expect(page.locator("log-view")).to_have_class(re.compile("is-wrapped"))
    page.reload()
    page.wait_for_selector(".log-time")
    expect(page.get_by_role("button", name="Time: UTC")).to_be_visible()
    expect(page.locator("log-view")).to_have_class(re.compile("is-wrapped"))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of the log")).to_be_visible()


def test_groups_and_steps_fold(open_page: OpenPage) -> None:
    page = open_page(log_page("job_build"), wait=ROW)
    page.get_by_role("button", name="Fold group").click()
    expect(page.locator('.log-row[data-line="8"]')).to_have_count(0)
    expect(page.locator('.log-row[data-line="12"]')).to_have_count(1)
    page.get_by_role("button", name="Open group").click()
    expect(page.locator('.log-row[data-line="8"]')).to_have_count(1)
    page.get_by_role("button", name="Fold step Test").click()
    expect(page.locator('.log-row[data-line="12"]')).to_have_count(0)
    page.evaluate("location.hash = '#L20'")  # a link opens what hides its line
    expect(page.locator('.log-row[data-line="20"]')).to_have_count(1)


@pytest.mark.parametrize("wrap", [False, True])
def test_a_wrapped_log_scrolls_both_ways(open_page: OpenPage, wrap: bool) -> None:
    page = open_page(log_page("job_million", "#L5000"), width=390, height=844, wait=ROW)
    if wrap:
        page.keyboard.press("w")
    wait_for_line(page, 5000)
    page.locator(".log-scroller").focus()
    before = top_line(page)
    for _ in range(8):
        page.keyboard.press("PageDown")
        page.evaluate("new Promise(requestAnimationFrame)")
    assert top_line(page) > before + 40
    for _ in range(8):
        page.keyboard.press("PageUp")
        page.evaluate("new Promise(requestAnimationFrame)")
    assert abs(top_line(page) - before) <= 3


def test_an_empty_log_says_so(open_page: OpenPage) -> None:
    page = open_page(log_page("job_empty"))
    expect(page.locator(".log-note")).to_have_text("This job printed nothing.")


def test_a_new_attempt_takes_the_place_of_the_old(open_page: OpenPage) -> None:
    page = open_page(log_page("job_build"), wait=ROW)
    page.evaluate("document.getElementById('run-steps').dataset.attempt = '2'")
    expect(page.locator("log-view")).to_have_attribute("attempt", "2")
    page.wait_for_selector(ROW)


def test_lines_are_asked_for_again_when_the_server_failed(open_page: OpenPage) -> None:
    page = open_page("/runs")
    broken = True

    def answer(route: Route) -> None:
        if broken:
            route.fulfill(status=204)
        else:
            route.continue_()

    page.route("**/api/v1/jobs/job_build/log?*", answer)
    page.goto(log_page("job_build"))
    expect(page.locator(".log-note")).to_contain_text("shown again as soon as it answers")
    broken = False
    page.wait_for_selector(ROW)
    expect(page.locator(".log-note")).to_be_hidden()
