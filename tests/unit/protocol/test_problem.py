"""Problems have the shape of RFC 9457, and every code leads to its explanation."""

from pathlib import Path

import msgspec
import pytest

from ostler.protocol.problem import PROBLEMS, Problem, problem

ERRORS_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_code_has_a_status_a_title_and_a_fix(code: str) -> None:
    kind = PROBLEMS[code]
    assert 400 <= kind.status < 600
    assert kind.title
    assert not kind.title.endswith(".")
    assert kind.fix.endswith(".")


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_code_has_an_anchor_in_the_documentation(code: str) -> None:
    assert f'<a id="{code}"></a>`{code}`' in ERRORS_PAGE.read_text(encoding="utf-8")


def test_the_body_has_the_members_of_rfc_9457() -> None:
    body = msgspec.json.decode(
        msgspec.json.encode(problem("stale_fence", "attempt 2 runs elsewhere")), type=dict[str, object]
    )
    assert body == {
        "type": "/api#stale_fence",
        "title": PROBLEMS["stale_fence"].title,
        "status": 409,
        "detail": "attempt 2 runs elsewhere",
        "code": "stale_fence",
        "fix": PROBLEMS["stale_fence"].fix,
    }


def test_a_reply_may_carry_what_helps_the_caller_to_go_on() -> None:
    made = problem("log_offset", expected=4096, retry_after_ms=250, request_id="req_1", fix="Send from 4096.")
    assert (made.expected, made.retry_after_ms, made.request_id, made.fix) == (4096, 250, "req_1", "Send from 4096.")


def test_a_problem_of_somebody_else_can_be_read() -> None:
    foreign = b'{"code":"x","title":"X","status":418,"type":"https://example.org/x","instance":"/a","extra":[1]}'
    assert msgspec.json.decode(foreign, type=Problem).type == "https://example.org/x"


def test_an_unknown_code_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        problem("no_such_code")
