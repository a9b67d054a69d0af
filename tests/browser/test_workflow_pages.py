"""Workflows in the pages of a real installation: started by a form, watched as a graph, run again."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROW, OpenPage
from tests.e2e.repositories.bare import BareRepository
from tests.parts.installation import Installation

WORKFLOW = """\
name: Ship
on:
  workflow_dispatch:
    inputs:
      version: {description: The version to ship, required: true}
      dry: {type: boolean, default: true}
jobs:
  build:
    runs-on: ubuntu-latest
    strategy: {matrix: {part: [api, web]}}
    steps:
      - run: |
          echo "building ${{ matrix.part }} ${{ inputs.version }} dry=${{ inputs.dry }}"
          echo "::warning file=a.txt,line=3::careful with ${{ matrix.part }}"
          echo "# Built ${{ matrix.part }}" >> "$GITHUB_STEP_SUMMARY"
  publish:
    needs: build
    runs-on: [self-hosted, linux]
    steps: [{run: "exit ${{ github.run_attempt == 1 && 3 || 0 }}"}]
  tell:
    needs: publish
    runs-on: ubuntu-latest
    steps: [{run: echo told}]
"""


@pytest.fixture(scope="module")
def repository(site: Installation, tmp_path_factory: pytest.TempPathFactory) -> str:
    bare = BareRepository(tmp_path_factory.mktemp("git"), "shop")
    bare.commit({".github/workflows/ship.yml": WORKFLOW, ".github/workflows/broken.yml": "on: push\njobs: {a: {}}\n"})
    added = site.ostler("repository", "add", "shop", bare.url, "--json")
    assert added.status == 0, added
    assert site.ostler("repository", "sync", "shop").status == 0
    return "shop"


def test_a_workflow_is_started_watched_and_run_again(open_real: OpenPage, repository: str) -> None:
    page = open_real("/workflows")
    group = page.get_by_role("region", name=repository)
    expect(group).to_contain_text("has no steps")  # what is wrong with the broken one
    group.get_by_role("link", name="Ship").click()
    page.get_by_text("Run workflow").first.click()
    page.get_by_label("The version to ship").fill("1.2")
    page.get_by_label("dry").uncheck()
    page.get_by_role("button", name="Run workflow").click()
    page.wait_for_url("**/runs/run_*")
    expect(page.locator(".status-pill")).to_have_text("Failed", timeout=30_000)  # without loading the page again
    graph = page.get_by_role("group", name="Jobs and what they need")
    expect(graph.get_by_role("link")).to_have_count(3)
    expect(graph).to_contain_text("tell")
    expect(page.get_by_role("region", name="Annotations")).to_contain_text("careful with web")
    expect(page.locator(".prose h1").first).to_have_text("Built api")
    expect(page.locator(".jobs").first).to_contain_text("tell")
    graph.get_by_role("link", name="build (web)").click()
    expect(page.locator(ROW).get_by_text("building web 1.2 dry=false", exact=True)).to_be_visible()
    expect(page.locator("#run")).to_contain_text("ostler repro job_")
    page.get_by_role("link", name="All jobs of the run").click()
    page.get_by_role("button", name="Run failed jobs again").click()
    expect(page.get_by_role("link", name="Attempt 2")).to_have_attribute("aria-current", "page")
    expect(page.locator(".status-pill")).to_have_text("Succeeded", timeout=30_000)
    page.get_by_role("link", name="Attempt 1").click()
    expect(page.locator(".status-pill")).to_have_text("Failed")


def test_what_is_missing_in_the_form_is_said_beside_what_was_typed(open_real: OpenPage, repository: str) -> None:
    page = open_real("/workflows")
    page.get_by_role("region", name=repository).get_by_role("link", name="Ship").click()
    page.get_by_text("Run workflow").first.click()
    page.get_by_label("The version to ship").fill("1.3")
    page.get_by_label("Branch or tag").fill("no-such-branch")
    page.get_by_role("button", name="Run workflow").click()
    expect(page.locator("#dispatch .notice")).to_contain_text("no-such-branch")
    expect(page.get_by_label("The version to ship")).to_have_value("1.3")


def test_a_workflow_is_disabled_and_enabled(open_real: OpenPage, repository: str) -> None:
    page = open_real("/workflows")
    page.get_by_role("region", name=repository).get_by_role("link", name="Ship").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.locator("#dispatch")).to_have_count(0)
    page.get_by_role("button", name="Enable").click()
    expect(page.locator("#dispatch")).to_have_count(1)
