"""Logs of real jobs in a real browser: a million lines, and twenty thousand new ones a second."""

import logging

from tests.browser.conftest import ROW, OpenPage, heap_used, wait_until
from tests.parts.installation import Installation

FIRST_LINE_MS = 250
HEAP_BYTES = 5_000_000
LIVE_LAG_MS = 500
TRIES = 6  # another program may have taken the machine meanwhile
MILLION = 'seq 1000000 | sed "s/^/compile package module_ line /; s/$/ took 12 ms and wrote 8191 bytes/"'
FLOOD = """
import sys, time
began, printed = time.time(), 0
while time.time() - began < 120:
    due = int((time.time() - began) * 20_000)
    lines = [f"line {n} printed {int((began + n / 20_000) * 1e6)} and more" for n in range(printed, due)]
    printed = due
    sys.stdout.write("\\n".join(lines) + "\\n")
    sys.stdout.flush()
    time.sleep(0.01)
"""
LAGS = """async () => {
  const lags = [];
  for (let at = 0; at < 60; at += 1) {
    await new Promise(requestAnimationFrame);
    await new Promise((resolve) => setTimeout(resolve, 33));
    const rows = document.querySelectorAll(".log-row[data-line] .log-text");
    lags.push(Date.now() - Number(rows[rows.length - 1].textContent.split(" ")[3]) / 1000);
  }
  return lags.slice(10).sort((a, b) => a - b);
}"""

report = logging.getLogger("ostler.browser").info


def test_a_million_lines_open_at_once_and_weigh_little(open_real: OpenPage, site: Installation) -> None:
    job = site.submit(MILLION)
    run = site.until_ended(job)["run_id"]
    page = open_real("/runs")
    taken: list[float] = []
    while len(taken) < TRIES and (len(taken) < 2 or min(taken) > FIRST_LINE_MS):
        page.goto(f"/runs/{run}")
        page.wait_for_selector(ROW)
        taken.append(page.evaluate("performance.getEntriesByName('log-first-line')[0].startTime"))
    page.keyboard.press("G")
    page.wait_for_selector('.log-row[data-line="1000000"]:not(.log-loading)')
    used = heap_used(page)
    report("first line after %s ms, heap %.2f MB", [round(each) for each in taken], used / 1e6)
    assert min(taken) <= FIRST_LINE_MS
    assert used <= HEAP_BYTES


def test_a_flood_is_followed_closely_with_its_history(open_real: OpenPage, site: Installation) -> None:
    spec = {"name": "flood", "steps": [{"name": "flood", "script": FLOOD, "shell": "python3 {0}"}]}
    run = site.post("/api/v1/runs", {"spec": spec})["id"]
    page = open_real(f"/runs/{run}", wait=ROW)
    wait_until(page, "document.querySelector('log-view').source.total > 60000")
    found: list[float] = []
    for _ in range(3):
        lags = page.evaluate(LAGS)
        found.append(lags[int(len(lags) * 0.95)])
        report("median %.0f ms behind, p95 %.0f ms", lags[len(lags) // 2], found[-1])
        if found[-1] <= LIVE_LAG_MS:
            break
    heap = heap_used(page)
    page.keyboard.press("g")
    page.wait_for_selector('.log-row[data-line="1"]:not(.log-loading)')
    site.post(f"/api/v1/runs/{run}/cancel", {})
    assert min(found) <= LIVE_LAG_MS
    assert heap <= HEAP_BYTES
