"""With which problems a call may be refused: those of its row, and those that follow from what the row says.

The document and the reference pages list them per call; a server that answers with another code is wrong, and the
tests of the running API say so.
"""

from collections import defaultdict
from typing import Any

from ostler.protocol.endpoint import Auth, Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.problem import PROBLEMS


def codes(endpoint: Endpoint[Any, Any]) -> list[str]:
    """Return all codes, sorted."""
    found = {"internal", "unavailable", *endpoint.problems}
    if endpoint.request is not Nothing:
        found.add("body_too_large")
    if endpoint.request not in (Nothing, Binary):
        found.add("body_malformed")
    if endpoint.query is not NoQuery:
        found.add("query_malformed")
    if endpoint.auth is Auth.RUNNER:
        found |= {"unauthenticated", "token_expired", "runner_revoked", "forbidden"}
    elif endpoint.auth is Auth.JOB:
        found.add("unauthenticated")
    elif endpoint.auth is not Auth.NONE:
        found |= {"unauthenticated", "forbidden"}
        if endpoint.method != "GET":
            found.add("csrf_refused")
    return sorted(found)


def by_status(endpoint: Endpoint[Any, Any]) -> dict[int, list[str]]:
    """Return the codes under their HTTP status, lowest first."""
    grouped: defaultdict[int, list[str]] = defaultdict(list)
    for code in codes(endpoint):
        grouped[PROBLEMS[code].status].append(code)
    return dict(sorted(grouped.items()))
