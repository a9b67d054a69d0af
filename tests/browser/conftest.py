"""Chromium and the pages that it looks at."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, cast

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, ConsoleMessage, Page, StorageState, sync_playwright

from tests.parts.chromium import find_chromium
from tests.parts.errors import PartMissing
from tests.parts.installation import Installation

ROOT = Path(__file__).parents[2]
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
]
Theme = Literal["light", "dark"]
OpenPage = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    try:
        program = find_chromium()
    except PartMissing as missing:
        pytest.skip(str(missing))
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(program), args=QUIET)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def address() -> Iterator[str]:
    """The fake server, in a process of its own so that it does not share the tests' time."""
    command = [sys.executable, "-m", "tests.browser.fake_log_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ}) as server:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        assert port, "the fake server did not start"
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.fixture(scope="package")
def site() -> Iterator[Installation]:
    """A real installation with two runners, for the tests that do not stop at the pages."""
    with Installation() as installation:
        installation.up(runners=2, OSTLER_AGENT_NAME="builder")
        for number in (1, 2):
            installation.until_idle(f"builder-{number}")
        yield installation


@pytest.fixture(scope="package")
def session(browser: Browser, site: Installation) -> StorageState:
    """The cookie of a browser that has signed in."""
    token = site.post("/api/v1/tokens", {"kind": "api", "name": "a browser"})["secret"]
    context = browser.new_context(base_url=site.url)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Access token").fill(token)
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def open_real(browser: Browser, site: Installation, session: StorageState) -> Iterator[OpenPage]:
    """Opens a page of the installation, signed in; complains as `open_page` does."""
    yield from _opener(browser, site.url, session)


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    """Opens a page of the fake server; fails the test on any script error or broken security policy."""
    yield from _opener(browser, address, None)


def _opener(browser: Browser, address: str, state: StorageState | None) -> Iterator[OpenPage]:
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_it(path: str, *, width: int = 1280, height: int = 800, theme: Theme = "light", wait: str = "body") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            timezone_id="UTC",
            locale="en-GB",
            base_url=address,
            has_touch=width < 500,
            storage_state=state,
        )
        contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
        page.goto(path)
        page.wait_for_selector(wait)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(said: ConsoleMessage) -> bool:
    """A browser also complains of a page that says what is wrong with a form (422) or with a token (401)."""
    return said.type == "error" and not re.search(r"status of (401|422)", said.text)


def log_page(job: str, hash_: str = "") -> str:
    return f"/runs/run_1/jobs/{job}{hash_}"


ROW = ".log-row[data-line] .log-text"


def devtools(page: Page) -> CDPSession:
    return page.context.new_cdp_session(page)


def heap_used(page: Page) -> int:
    """Bytes of JavaScript heap in use, after a collection."""
    session = devtools(page)
    session.send("HeapProfiler.collectGarbage")  # pyright: ignore[reportUnknownMemberType]
    usage = cast("dict[str, int]", session.send("Runtime.getHeapUsage"))  # pyright: ignore[reportUnknownMemberType]
    session.detach()
    return usage["usedSize"]


def wait_until(page: Page, condition: str) -> None:
    """Waits for a condition in the page, frame by frame; Playwright's own way needs eval, which the policy forbids."""
    page.evaluate(f"async () => {{ while (!({condition})) await new Promise(requestAnimationFrame); }}")
