"""The pages of a real installation: signing in, watching runs, cancelling, the queue's reasons, pools and runners."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROW, OpenPage, wait_until
from tests.parts.installation import Installation

AXE = Path(__file__).parent / "vendor" / "axe.js"


def submit(site: Installation, name: str, *steps: tuple[str, str], **request: object) -> str:
    """Submit a run of several steps and return its id."""
    spec = {"name": name, "steps": [{"name": step, "script": script} for step, script in steps]}
    return site.post("/api/v1/runs", {"spec": spec, **request})["id"]


@pytest.fixture(scope="module")
def gate(site: Installation) -> Path:
    return site.outside / "gate"


def waiting_step(gate: Path) -> tuple[str, str]:
    return ("Wait", f"echo waiting; while [ ! -e {gate} ]; do sleep 0.05; done; echo opened")


def test_an_empty_installation_says_how_to_begin(browser: Browser) -> None:
    with Installation() as fresh:
        server = fresh.up(runners=0)
        link = re.search(r"http://\S+/sign-in/\S+", server.process.text)
        assert link is not None
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{server.url}/queue?pool=hosted")
        expect(page).to_have_url(re.compile(r"/sign-in\?next="))
        page.goto(link[0])
        expect(page.get_by_role("button", name="Sign in")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/runs")
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
        assert fresh.ostler("job", "submit", "--no-wait", "--", "echo", "hello").status == 0
        expect(page.get_by_role("link", name="echo hello")).to_be_visible()  # without loading the page again
        page.get_by_role("link", name="echo hello").click()
        expect(page.locator(".notice")).to_contain_text("has never had a runner")
        page.goto(link[0])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("used before")
        context.close()


def test_a_run_is_watched_from_its_start_to_its_end(open_real: OpenPage, site: Installation, gate: Path) -> None:
    gate.unlink(missing_ok=True)
    page = open_real("/runs")
    submit(site, "Watched", ("Begin", "for i in 1 2 3; do echo line $i; done"), waiting_step(gate), ("End", "echo end"))
    row = page.locator("tr", has_text="Watched")
    expect(row).to_contain_text("Running")
    row.get_by_role("link", name="Watched").click()
    expect(page.locator(".run-title .status")).to_contain_text("Running")
    expect(page.locator(ROW).last).to_have_text("waiting")
    expect(page.locator(".log-state")).to_contain_text("following")
    expect(page.locator("#run-steps")).to_contain_text("Wait")
    page.keyboard.press("g")  # its history is there while it runs
    expect(page.locator('.log-row[data-line="1"] .log-text')).to_have_text("line 1")
    gate.touch()
    expect(page.locator(".run-title .status")).to_contain_text("Succeeded")
    expect(page.locator(".log-state")).to_have_text("6 lines")
    expect(page.locator('[data-step="2"][data-tone="ok"]')).to_have_count(1)
    expect(page.locator(".waterfall-row")).to_have_count(4)
    expect(page.get_by_role("button", name="Run again")).to_be_visible()


def test_the_first_lines_are_asked_for_only_once(open_real: OpenPage, site: Installation) -> None:
    job = site.submit("for i in $(seq 300); do echo $i; done")
    run = site.until_ended(job)["run_id"]
    page = open_real("/runs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/log?" in request.url else None)
    page.goto(f"/runs/{run}")
    page.wait_for_selector(ROW)
    assert len(asked) == 1, asked


def test_a_run_is_cancelled_by_its_button(open_real: OpenPage, site: Installation, gate: Path) -> None:
    gate.unlink(missing_ok=True)
    run = submit(site, "Cancelled", waiting_step(gate))
    page = open_real(f"/runs/{run}", wait=ROW)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".run-title .status")).to_contain_text("Cancelled")
    expect(page.locator(".log-state")).not_to_contain_text("following")
    page.get_by_role("button", name="Run again").click()
    expect(page).not_to_have_url(re.compile(run))
    expect(page.locator(".run-title .status")).to_contain_text("Running")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".run-title .status")).to_contain_text("Cancelled")


def test_a_failed_run_says_why(open_real: OpenPage, site: Installation) -> None:
    run = submit(site, "Failed", ("Build", "echo built"), ("Test", "echo '<b>broken</b>'; exit 3"), ("Ship", "echo no"))
    page = open_real(f"/runs/{run}")
    expect(page.locator(".notice")).to_contain_text("A step failed.")
    expect(page.locator(".notice")).to_contain_text("3")
    expect(page.locator(ROW).last).to_have_text("<b>broken</b>")
    expect(page.locator('[data-step="2"]')).to_have_attribute("data-tone", "skipped")


def test_the_queue_says_why_a_job_waits(open_real: OpenPage, site: Installation) -> None:
    page = open_real("/queue")
    run = submit(site, "Needs a label", ("Any", "true"), labels=["gpu"])
    row = page.locator("tr", has_text="Needs a label")
    expect(row.locator(".why")).to_contain_text("No runner of pool hosted has label gpu.")
    expect(page.locator("#nav-waiting")).to_contain_text("1")
    row.get_by_text("nearly match").click()
    expect(row.get_by_role("link", name="builder-1")).to_be_visible()
    site.post(f"/api/v1/runs/{run}/cancel", {})
    expect(page.get_by_role("heading", name="Nothing is waiting")).to_be_visible()


def test_a_pool_is_made_and_a_runner_joins_it(open_real: OpenPage, site: Installation) -> None:
    page = open_real("/pools")
    page.get_by_role("link", name="New runner pool").click()
    page.get_by_label("Name").fill("x")
    page.keyboard.press("Enter")
    expect(page.locator("#pool-name-help")).to_contain_text("3 to 64 characters")
    page.get_by_label("Name").fill("joined")
    page.get_by_label("Labels").fill("linux, fast")
    page.get_by_role("button", name="Create pool").click()
    expect(page.get_by_role("heading", name="joined", exact=True)).to_be_visible()
    page.get_by_role("button", name="Create token").click()
    token = page.locator("#join-token").text_content() or ""
    assert token.startswith("ostr_")
    expect(page.locator("#join-1")).to_contain_text(f"--service-url {site.url} --token {token}")
    page.get_by_role("link", name="Done").click()
    agent = site.agent("joiner", pool="joined", token=token)
    expect(page.locator("tr", has_text="joiner")).to_contain_text("Idle")
    page.get_by_role("link", name="joiner").click()
    page.get_by_label("Note for colleagues").fill("new disk")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".page-head")).to_contain_text("Paused")
    expect(page.locator(".page-head")).to_contain_text("New disk.")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".page-head")).to_contain_text("Idle")
    agent.process.close()


def test_the_palette_finds_what_is_there(open_real: OpenPage, site: Installation) -> None:
    run = submit(site, "Found by the palette", ("Any", "true"))
    page = open_real("/runs")
    page.keyboard.press("Control+k")
    page.keyboard.type("by the pal")
    expect(page.get_by_role("option", name="Found by the palette")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{run}")


def test_everything_can_be_done_by_keyboard(open_real: OpenPage, site: Installation, gate: Path) -> None:
    gate.unlink(missing_ok=True)
    run = submit(site, "By keyboard", waiting_step(gate))
    page = open_real(f"/runs/{run}", wait=ROW)
    reach(page, "Cancel")
    page.keyboard.press("Enter")
    expect(page.locator(".run-title .status")).to_contain_text("Cancelled")
    page.goto("/runs")
    reach(page, "By keyboard")
    submit(site, "Another one", ("Any", "true"))
    expect(page.locator("#runs")).to_contain_text("Another one")
    assert "By keyboard" in page.evaluate("document.activeElement.textContent"), "a live update took the focus away"
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/run_*")


def reach(page: Page, name: str) -> None:
    """Press Tab until something of this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if name in page.evaluate("document.activeElement.textContent"):
            return
    raise AssertionError(f"Tab never reaches {name!r}")


def test_a_tab_that_is_signed_out_elsewhere_goes_to_sign_in(browser: Browser, site: Installation) -> None:
    token = site.post("/api/v1/tokens", {"kind": "api", "name": "another browser"})["secret"]
    context = browser.new_context(base_url=site.url)
    first = context.new_page()
    first.goto("/sign-in?next=/pools")
    first.get_by_label("Access token").fill(token)
    first.keyboard.press("Enter")
    first.wait_for_url("**/pools")
    second = context.new_page()
    second.goto("/runs")
    second.get_by_role("button", name="Sign out").click()
    second.wait_for_url("**/sign-in")
    first.reload()
    expect(first).to_have_url(re.compile(r"/sign-in\?next=%2Fpools$"))
    context.close()


def places(site: Installation) -> list[str]:
    run = submit(site, "Looked at closely", ("One", "echo 1"), ("Two", "echo 2"))
    waits = submit(site, "Looked at in the queue", ("Any", "true"), labels=["gpu"])
    runner = site.get("/api/v1/runners")["runners"][0]["id"]
    return [
        "/runs",
        f"/runs/{run}",
        f"/runs/{waits}",
        "/queue",
        "/pools",
        "/pools/new",
        "/pools/hosted",
        "/runners",
        f"/runners/{runner}",
        "/api",
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_no_page_is_too_wide(open_real: OpenPage, site: Installation, theme: str) -> None:
    page = open_real("/runs", theme=theme)
    for place in places(site):
        page.goto(place)
        page.wait_for_selector("main")
        for width in (360, 390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            wait_until(page, f"document.documentElement.scrollWidth <= {width}")
        if AXE.exists():
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            broken = [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]]
            assert (place, broken) == (place, [])
