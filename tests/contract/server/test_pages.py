"""The pages over HTTP: who may see them, what a form must carry, and what every answer forbids."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlencode

import pytest

from ostler.store import sign_in
from tests.contract.server.asgi_client import Reply
from tests.contract.server.installation import SECOND, Installation

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]
ORIGIN = {"host": "ostler.test", "origin": "http://ostler.test"}
PAGES = ("/runs", "/queue", "/pools", "/pools/hosted", "/runners", "/pools/new", "/runs?state=failed&q=x&pool=hosted")


class Window:
    """A browser that is signed in: it keeps its cookie and sends the form token of the page that it saw last."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.cookie = ""
        self.token = ""

    async def see(self, target: str, **headers: str) -> Reply:
        sent = {"accept": "text/html", "cookie": f"ostler_session={self.cookie}", **headers}
        reply = await self.installation.client.request("GET", target, headers=sent)
        found = re.search(rb'name="csrf_token" value="([^"]+)"', reply.body)
        self.token = found[1].decode() if found else self.token
        return reply

    async def post(self, target: str, origin: dict[str, str] | None = None, **form: str) -> Reply:
        headers = {
            "content-type": "application/x-www-form-urlencoded",
            "cookie": f"ostler_session={self.cookie}",
            **(ORIGIN if origin is None else origin),
        }
        body = urlencode({"csrf_token": self.token, **form}).encode()
        reply = await self.installation.client.request("POST", target, body, headers=headers)
        cookie = re.match(r"ostler_session=([^;]*)", reply.headers.get("set-cookie", ""))
        self.cookie = cookie[1] if cookie else self.cookie
        await asyncio.sleep(0)  # nothing here waits for a network: let what was hinted be heard
        return reply


async def signed_in(installation: Installation, role: str = "owner") -> Window:
    person = await installation.user(role=role, name=role)
    window = Window(installation)
    reply = await window.post("/sign-in", token=person.token)
    assert (reply.status, reply.headers["location"]) == (303, "/runs")
    await window.see("/runs")
    return window


async def one_time_code(installation: Installation, seconds: int = 60) -> str:
    now = installation.clock.now()
    user = await installation.database.run(sign_in.ensure_user, "usr_1", "grace", "owner", now)
    await installation.database.run(sign_in.create_code, "code-1", user.user_id, now + seconds * SECOND)
    return "code-1"


@pytest.mark.parametrize("target", ["/", *PAGES, "/runs/run_1", "/jobs/job_1", "/palette?q=x"])
def test_whoever_is_not_signed_in_is_sent_to_sign_in(served_inline: Served, target: str) -> None:
    async def scene(installation: Installation) -> None:
        reply = await Window(installation).see(target)
        assert reply.status == 303
        assert reply.headers["location"].startswith("/sign-in")
        assert reply.body == b""

    served_inline(scene)


@pytest.mark.parametrize("target", [*PAGES, "/sign-in", "/sign-in/code", "/api", "/nothing", "/runs/run_nope"])
def test_every_page_forbids_what_is_not_its_own(served_inline: Served, target: str) -> None:
    async def scene(installation: Installation) -> None:
        window = Window(installation) if target.startswith("/sign-in") else await signed_in(installation)
        reply = await window.see(target)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["cross-origin-opener-policy"] == "same-origin"
        assert b"<script>" not in reply.body
        assert b" style=" not in reply.body

    served_inline(scene)


def test_a_link_signs_in_once_and_only_when_its_button_is_pressed(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        code = await one_time_code(installation)
        window = Window(installation)
        for _ in range(2):  # a program that previews links looks, and uses nothing up
            assert (await window.see(f"/sign-in/{code}")).status == 200
        reply = await window.post("/sign-in", code=code, next="/queue")
        assert (reply.status, reply.headers["location"]) == (303, "/queue")
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert (await window.see("/runs")).status == 200
        again = await Window(installation).post("/sign-in", code=code)
        assert again.status == 401
        assert b"used before" in again.body

    served_inline(scene)


def test_a_link_expires(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        code = await one_time_code(installation, seconds=60)
        installation.clock.micros += 61 * SECOND
        assert (await Window(installation).post("/sign-in", code=code)).status == 401

    served_inline(scene)


def test_signing_in_again_ends_the_session_before(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        before = window.cookie
        person = await installation.user()
        await window.post("/sign-in", token=person.token)
        assert window.cookie != before
        assert (await window.see("/runs")).status == 200
        window.cookie = before
        assert (await window.see("/runs")).status == 303

    served_inline(scene)


def test_signing_out_ends_the_session(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        before = window.cookie
        reply = await window.post("/sign-out")
        assert (reply.status, window.cookie) == (303, "")
        window.cookie = before
        assert (await window.see("/runs")).status == 303

    served_inline(scene)


def test_a_session_in_use_goes_on_and_an_unused_one_ends(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        day = 86_400 * SECOND
        window = await signed_in(installation)
        installation.clock.micros += 10 * day
        assert "set-cookie" in (await window.see("/runs")).headers
        installation.clock.micros += 10 * day
        assert (await window.see("/runs")).status == 200
        installation.clock.micros += 15 * day
        assert (await window.see("/runs")).status == 303

    served_inline(scene)


@pytest.mark.parametrize(
    "following",
    ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:1", "/a\r\nb", "", "/\u202ex"],
)
def test_nobody_is_sent_to_another_site(served_inline: Served, following: str) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        reply = await Window(installation).post("/sign-in", token=person.token, next=following)
        assert reply.headers["location"] == "/runs"

    served_inline(scene)


@pytest.mark.parametrize(
    "origin", [{}, {"host": "ostler.test", "origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_another_site_signs_nobody_in(served_inline: Served, origin: dict[str, str]) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        reply = await Window(installation).post("/sign-in", origin=origin, token=person.token)
        assert reply.status == 403
        assert "set-cookie" not in reply.headers

    served_inline(scene)


@pytest.mark.parametrize("token", ["", "guess", "é"])
def test_a_form_without_the_sessions_token_does_nothing(served_inline: Served, token: str) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        window.token = token
        reply = await window.post("/pools", name="mine")
        assert reply.status == 403
        assert b"csrf_refused" in reply.body
        assert b"mine" not in (await window.see("/pools")).body

    served_inline(scene)


def test_the_token_of_another_session_is_worth_nothing(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        first, second = await signed_in(installation), await signed_in(installation)
        second.token, known = first.token, second.token
        assert first.token != known
        assert (await second.post("/pools", name="mine")).status == 403

    served_inline(scene)


FORMS = ("/pools", "/pools/hosted/disable", "/pools/hosted/tokens", "/runners/rnr_1/pause")


@pytest.mark.parametrize("target", FORMS)
def test_only_an_operator_changes_the_fleet(served_inline: Served, target: str) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation, role="viewer")
        reply = await window.post(target, name="mine")
        assert reply.status == 403
        assert b"forbidden" in reply.body
        page = await window.see("/pools/hosted")
        assert b"Create token" not in page.body
        assert b"Disable" not in page.body

    served_inline(scene)


def test_a_pool_is_created_changed_and_joined(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        refused = await window.post("/pools", name="a!", labels="linux gpu")
        assert refused.status == 422
        assert b'aria-invalid="true"' in refused.body
        assert b'value="linux gpu"' in refused.body
        created = await window.post("/pools", name="build", labels="linux, gpu", multiple="1")
        place = created.headers["location"]
        assert created.status == 303
        assert b"gpu" in (await window.see(place)).body
        token = await window.post(f"{place}/tokens", uses="3")
        secret = re.search(rb"ostr_[\w-]+", token.body)
        assert secret is not None
        assert secret[0] not in (await window.see(place)).body
        assert (await window.post(f"{place}/default")).status == 303
        assert (await window.post(f"{place}/disable")).status == 303
        page = (await window.see(place)).body
        assert b"Default" in page
        assert b"Enable" in page
        assert (await window.post(f"{place}/explode")).status == 404

    served_inline(scene)


def test_a_runner_is_paused_with_a_note_and_resumed(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner("builder")
        window = await signed_in(installation)
        place = f"/runners/{runner.runner_id}"
        assert (await window.post(f"{place}/pause", note="new <driver>")).headers["location"] == place
        page = (await window.see(place)).body
        assert b"Paused" in page
        assert b"New &lt;driver&gt;" in page
        assert (await window.post(f"{place}/resume")).status == 303
        assert b"Idle" in (await window.see(place)).body
        assert (await window.post(f"{place}/enable")).status == 409

    served_inline(scene)


def test_a_waiting_run_is_explained_cancelled_and_run_again(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        run = await person.submit(spec={"name": "build <b>", "steps": [{"name": "say", "argv": ["true"]}]})
        window = await signed_in(installation)
        page = (await window.see(f"/runs/{run['id']}")).body
        assert b"has never had a runner" in page
        assert b"<b>" not in page.partition(b"<h1>")[2].partition(b"</h1>")[0]
        assert (await window.post(f"/runs/{run['id']}/cancel")).status == 303
        ended = (await window.see(f"/runs/{run['id']}")).body
        assert b"Cancelled" in ended
        again = await window.post(f"/runs/{run['id']}/rerun")
        assert again.status == 303
        assert again.headers["location"] not in ("", f"/runs/{run['id']}")
        assert b"build &lt;b&gt;" in (await window.see(again.headers["location"])).body

    served_inline(scene)


def test_a_run_whose_secrets_are_erased_says_that_it_cannot_run_again(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person = await installation.user()
        steps = [{"name": "say", "argv": ["true"]}]
        run = await person.submit(spec={"name": "deploy", "steps": steps, "secrets": {"KEY": "hunter22"}})
        window = await signed_in(installation)
        await window.post(f"/runs/{run['id']}/cancel")
        page = (await window.see(f"/runs/{run['id']}")).body
        assert b"its secrets were erased" in page
        assert b'id="rerun"' not in page
        refused = await window.post(f"/runs/{run['id']}/rerun")
        assert refused.status == 409
        assert b"Submit it again from where its secrets are kept" in refused.body
        assert b"hunter22" not in page

    served_inline(scene)


def test_what_is_not_there_looks_like_what_one_may_not_see(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        for target in (
            "/runs/run_x",
            "/runs/run_x/jobs/job_x",
            "/jobs/job_x",
            "/pools/pool_x",
            "/runners/rnr_x",
            "/x/y",
        ):
            reply = await window.see(target)
            assert reply.status == 404, target
            assert b"not_found" in reply.body
        assert (await window.post("/runs")).status == 405

    served_inline(scene)


def test_a_fragment_without_a_session_sends_the_page_to_sign_in(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        reply = await Window(installation).see("/fragments/runs", **{"hx-current-url": "http://x/runs?state=failed"})
        assert reply.status == 401
        assert reply.headers["hx-redirect"] == "/sign-in?next=%2Fruns%3Fstate%3Dfailed"

    served_inline(scene)


def test_a_stream_tells_of_changes_and_ends_with_the_session(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        headers = {"cookie": f"ostler_session={window.cookie}"}
        async with installation.client.stream("/stream?topics=runs", headers) as stream:
            assert (await stream.started)[1]["content-type"] == "text/event-stream"
            assert await stream.pieces.get() == b"retry: 500\n\n"
            await (await installation.user()).submit()
            assert await stream.pieces.get() == b'event: changed\ndata: {"topic":"runs"}\n\n'
        async with installation.client.stream("/stream?topics=runs", {}) as stream:
            pieces = [await stream.pieces.get() for _ in range(3)]
            assert b"event: signed-out\ndata: {}\n\n" in pieces

    served_inline(scene)


def test_a_change_just_before_listening_is_told(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        run = await (await installation.user()).submit()
        await window.post(f"/runs/{run['id']}/cancel")
        headers = {"cookie": f"ostler_session={window.cookie}"}
        async with installation.client.stream(f"/stream?topics=run:{run['id']}", headers) as stream:
            assert await stream.pieces.get() == b"retry: 500\n\n"
            assert b"event: changed" in (await stream.pieces.get() or b"")

    served_inline(scene)


def test_static_files_are_kept_for_ever_under_a_name_of_their_content(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        page = await Window(installation).see("/sign-in")
        script = re.search(rb'src="(/static/\w{16}/page\.js)"', page.body)
        assert script is not None
        kept = await Window(installation).see(script[1].decode(), **{"accept-encoding": "gzip"})
        assert "immutable" in kept.headers["cache-control"]
        assert kept.headers["content-encoding"] == "gzip"
        plain = await Window(installation).see("/static/page.js")
        assert plain.headers["cache-control"] == "no-cache"
        known = await Window(installation).see("/static/page.js", **{"if-none-match": plain.headers["etag"]})
        assert (known.status, known.body) == (304, b"")
        for missing in ("/static/../wiring.py", "/static/nothing.js", "/static/0000000000000000/page.js"):
            assert (await Window(installation).see(missing)).status == 404

    served_inline(scene)


def test_below_runners_a_program_gets_the_call_and_a_browser_the_page(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        window, person = await signed_in(installation), await installation.user()
        assert b"<!doctype html>" in (await window.see("/runners")).body
        called = await person.get("/runners")
        assert called.headers["content-type"] == "application/json"

    served_inline(scene)
