"""What the pages do with addresses and forms that no browser sends by itself."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.contract.server.installation import Installation
from tests.contract.server.test_pages import signed_in

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]


@pytest.mark.parametrize("address", ["http://[", "http://[x]:y/", "//[", "é"])
def test_a_fragment_of_a_page_with_a_broken_address_is_sent_to_sign_in_too(served_inline: Served, address: str) -> None:
    async def scene(installation: Installation) -> None:
        reply = await installation.client.request("GET", "/fragments/runs", headers={"hx-current-url": address})
        assert reply.status == 401
        assert reply.headers["hx-redirect"].startswith("/sign-in?next=")

    served_inline(scene)


@pytest.mark.parametrize(
    "target",
    [
        *(f"/{noun}/%00" for noun in ("runs", "jobs", "runners", "pools")),
        *(f"/runs?{field}=%00" for field in ("q", "pool", "before")),
        "/runners?pool=%00",
        "/queue?pool=%00",
        "/fragments/runs?before=%00",
        "/palette?q=%00",
    ],
)
def test_no_page_takes_a_text_that_a_database_does_not(served: Served, target: str) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        reply = await window.see(target)
        expected = (400, b"query_malformed") if "?" in target else (404, b"not_found")
        assert (reply.status, expected[1] in reply.body) == (expected[0], True)

    served(scene)


def test_no_form_takes_a_text_that_a_database_does_not(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        window = await signed_in(installation)
        refused = await window.post("/pools", name="gpus", description="a\0b")
        assert (refused.status, b"query_malformed" in refused.body) == (400, True)
        assert (await window.post("/runs/%00/cancel")).status == 404

    served(scene)
