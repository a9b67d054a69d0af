"""The table can be served, called and described: what its derivations rely on."""

import re
from collections import Counter
from typing import Any, cast

import pytest

from ostler.protocol.endpoint import Auth, Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.problem import FENCED, PROBLEMS
from ostler.protocol.refusals import by_status, codes
from ostler.protocol.v1 import simple_table, table
from ostler.protocol.v1.noun_tables import NOUN_TABLES
from ostler.protocol.v1.table import ENDPOINTS

Row = Endpoint[Any, Any]
every_row = pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ENDPOINTS])


def test_the_table_holds_every_row_of_every_module() -> None:
    values = [value for module in (table, *NOUN_TABLES) for value in vars(module).values()]
    rows = [cast("Row", value) for value in values if isinstance(value, Endpoint)]
    assert sorted(row.name for row in rows) == sorted(row.name for row in ENDPOINTS)


def test_names_and_addresses_are_unique() -> None:
    for found in (Counter(row.name for row in ENDPOINTS), Counter((row.method, row.path) for row in ENDPOINTS)):
        assert [key for key, times in found.items() if times > 1] == []


@every_row
def test_a_path_has_a_known_prefix_and_plain_segments(row: Row) -> None:
    assert re.fullmatch(r"/(agent/v1|job/v1|api/v1|runners)(/[a-z-]+|/\{[a-z_]+\})*", row.path)


@every_row
def test_every_problem_code_of_a_row_is_in_the_problem_table(row: Row) -> None:
    assert set(row.problems) <= PROBLEMS.keys()
    assert len(set(row.problems)) == len(row.problems)


@every_row
def test_a_read_takes_no_body_and_may_be_repeated(row: Row) -> None:
    if row.method == "GET":
        assert row.request is Nothing
        assert row.retryable
    else:
        assert row.query is NoQuery or row.request is Binary


@every_row
def test_a_reply_fits_its_status(row: Row) -> None:
    assert row.status in (200, 201, 204)
    assert (row.status == 204) == (row.reply is Nothing and row.stream is None)


@every_row
def test_only_enrolment_and_sign_in_are_open(row: Row) -> None:
    open_rows = {
        "enrol",
        "access_token",
        "login",
        "simple_register_runner",
        "webhook",
    }  # each proves itself by its body
    assert (row.auth is Auth.NONE) == (row.name in open_rows)


@every_row
def test_the_agent_protocol_admits_runners_only(row: Row) -> None:
    if row.path.startswith("/agent/"):
        assert row.auth in (Auth.RUNNER, Auth.NONE)


@every_row
def test_every_message_with_a_fence_may_find_that_it_is_stale(row: Row) -> None:
    if "fence" in row.request.__struct_fields__ if row.request not in (Nothing, Binary) else _is_log(row):
        assert set(FENCED) <= set(row.problems)


@every_row
def test_a_mutation_that_may_be_repeated_carries_a_key_or_a_fence_or_says_the_same_again(row: Row) -> None:
    if row.method != "POST" or not row.retryable or row.request in (Nothing, Binary):
        return
    idempotent = {"cancel_run", "hello", "heartbeat", "bye", "admit_runner"}
    idempotent |= {"simple_runner_status", "simple_runner_heartbeat", "create_artifact", "finish_artifact"}
    idempotent |= {"finish_cache", "prune_caches"}
    fields = set(row.request.__struct_fields__)
    assert fields & {"key", "fence"} or row.name in idempotent


def test_a_path_is_filled_with_one_segment_per_parameter() -> None:
    assert table.GET_POOL.filled(pool="a/b c?é") == "/api/v1/pools/a%2Fb%20c%3F%C3%A9"
    assert simple_table.SIMPLE_ASSIGN_JOB.parameters == ("runner_id",)


def test_refusals_follow_from_what_a_row_says() -> None:
    assert codes(table.WHO_AM_I) == ["forbidden", "internal", "unauthenticated", "unavailable"]
    assert set(codes(table.BYE)) >= {"body_malformed", "body_too_large", "token_expired", "runner_revoked"}
    assert "csrf_refused" in codes(table.CREATE_POOL)
    assert "forbidden" in codes(table.CREATE_POOL)
    assert "query_malformed" in codes(table.APPEND_LOG)
    assert "body_malformed" not in codes(table.APPEND_LOG)
    assert "unauthenticated" not in codes(table.ENROL)


@every_row
def test_refusals_are_grouped_under_their_status(row: Row) -> None:
    grouped = by_status(row)
    assert sorted(code for found in grouped.values() for code in found) == codes(row)
    assert list(grouped) == sorted(grouped)


def _is_log(row: Row) -> bool:
    """Whether raw bytes come from a runner, whose query names the fence."""
    return row.request is Binary and row.auth is Auth.RUNNER
