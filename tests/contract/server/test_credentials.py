"""Who is let in: every wrong credential at every kind of call, and revocations that count at once."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from ostler.protocol.endpoint import Auth, Endpoint
from ostler.protocol.v1.table import ENDPOINTS
from ostler.server.authentication import ACCESS_TOKEN_SECONDS, SESSION_COOKIE
from ostler.store import sign_in
from tests.contract.server.installation import SECOND, Caller, Installation, Runner

Served = Callable[[Callable[[Installation], Coroutine[Any, Any, None]]], None]

_GUARDED = [endpoint for endpoint in ENDPOINTS if endpoint.auth is not Auth.NONE]


_DEEP = b"[" * 1100 + b"]" * 1100


def _part(text: bytes) -> str:
    """A part of a token, as it is on the wire."""
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def _address(endpoint: Endpoint[Any, Any]) -> str:
    return endpoint.filled(**dict.fromkeys(endpoint.parameters, "x"))


def test_every_call_refuses_every_wrong_credential(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, viewer = await installation.user(), await installation.user("viewer", "eve")
        runner = await installation.runner()
        wrong: dict[Auth, list[Caller]] = {
            Auth.RUNNER: [person, viewer],
            Auth.JOB: [person, viewer, runner],
            Auth.USER: [runner],
            Auth.OPERATOR: [runner, viewer],
        }
        for endpoint in _GUARDED:
            bad = [Caller(installation, ""), Caller(installation, "x"), Caller(installation, "a.b.c")]
            for caller in [*bad, *wrong[endpoint.auth]]:
                reply = await caller.post(_address(endpoint), b"", endpoint.method)
                expected = (
                    (403, "forbidden")
                    if caller is viewer and endpoint.auth is Auth.OPERATOR
                    else (401, "unauthenticated")
                )
                assert (reply.status, reply.code) == expected, (endpoint.name, caller.token)
                if reply.status == 401:
                    assert reply.headers["www-authenticate"] == "Bearer"

    served_inline(scene)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "other"},
        {"aud": None},
        {"iss": "rnr_other"},
        {"jti": None},
        {"jti": ""},
        {"jti": 7},
        {"jti": "a\0b"},
        {"jti": "\x7f"},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 1},
        {"exp": 2**53},
        {"iat": 2**53, "exp": 2**53},
        {"iat": 0},
        {"sub": "rnr_unknown"},
        {"sub": "a\0b"},
        {"sub": 7},
    ],
)
def test_an_assertion_with_a_wrong_claim_is_refused(served_inline: Served, changes: dict[str, object]) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        refused = await runner.authenticate(runner.assertion(runner.claims(**changes)))
        assert (refused.status, refused.code) == (401, "assertion_refused")

    served_inline(scene)


def test_an_assertion_counts_once(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        assertion = runner.assertion()
        assert (await runner.authenticate(assertion)).status == 200
        again = await runner.authenticate(assertion)
        assert (again.status, again.code) == (401, "assertion_refused")

    served(scene)


def test_forged_assertions_are_refused(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner, other = await installation.runner(), Runner(installation, "other")
        public = OctKey.import_key(runner.public_key)
        stranger = OKPKey.import_key(other.key)
        good = runner.assertion()
        head, body, signature = good.split(".")
        forged = [
            jwt.encode({"alg": "HS256"}, runner.claims(), public, algorithms=["HS256"]),
            jwt.encode({"alg": "Ed25519"}, runner.claims(), stranger, algorithms=["Ed25519"]),
            jwt.encode({"alg": "Ed25519", "kid": "other"}, runner.claims(), stranger, algorithms=["Ed25519"]),
            f"eyJhbGciOiJub25lIn0.{body}.",
            f"eyJhbGciOiJub25lIn0.{body}.{signature}",
            f"{head}.{body}.",
            f"{head}.{body}",
            f"{head}.{body[:-2]}.{signature}",
            ".".join((_part(b'{"alg":"Ed25519","crit":5}'), body, signature)),
            ".".join((_part(b'{"alg":"Ed25519","crit":[[]]}'), body, signature)),
            ".".join((head, _part(b'{"sub":"%b","x":%b}' % (runner.runner_id.encode(), _DEEP)), signature)),
            "",
            "...",
            "é.é.é",
        ]
        for assertion in forged:
            reply = await runner.post("/agent/v1/tokens", {"assertion": assertion})
            assert (reply.status, reply.code) == (401, "assertion_refused"), assertion

    served_inline(scene)


def test_forged_and_expired_access_tokens_are_refused(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        runner = await installation.runner()
        good = runner.token
        claims = {"iss": "ostler", "sub": runner.runner_id, "iat": 0, "exp": 2**40}
        stranger = OctKey.import_key(b"x" * 32)
        body = good.split(".")[1]
        for token in [
            jwt.encode({"alg": "HS256"}, claims, stranger),
            jwt.encode({"alg": "Ed25519"}, claims, OKPKey.import_key(runner.key), algorithms=["Ed25519"]),
            f"eyJhbGciOiJub25lIn0.{body}.",
            ".".join((_part(b'{"alg":"HS256","crit":5}'), body, "")),
            ".".join((_part(b'{"alg":"HS256","x":%b}' % _DEEP), body, "")),
            good[:-4] + "AAAA",
            "é",
        ]:
            runner.token = token
            assert (await runner.poll()).code == "unauthenticated", token
        runner.token = good
        assert (await runner.poll()).status == 200
        installation.clock.micros += ACCESS_TOKEN_SECONDS * SECOND
        assert (await runner.poll()).code == "token_expired"

    served_inline(scene)


def test_revoking_answers_an_open_poll_at_once(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        poll = asyncio.create_task(runner.poll(60_000))
        other = await installation.runner("two")
        assert (await other.poll()).status == 200
        decision = {"decision": "revoke", "note": "lost"}
        assert (await person.post(f"/api/v1/runners/{runner.runner_id}/admission", decision)).status == 200
        async with asyncio.timeout(1):
            reply = await poll
        assert (reply.status, reply.code) == (403, "runner_revoked")
        assert (await runner.post("/agent/v1/heartbeats", {})).code == "runner_revoked"
        assert (await runner.authenticate()).status in (401, 403)
        assert (await other.poll()).status == 200

    served(scene)


def test_a_revoked_runner_may_come_back_with_a_new_token(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, runner = await installation.user(), await installation.runner()
        await person.post(f"/api/v1/runners/{runner.runner_id}/admission", {"decision": "revoke"})
        old = runner.runner_id
        again = Runner(installation, runner.name)
        reply = await again.enrol(await installation.registration_token())
        assert reply.status == 201, reply.body
        assert again.runner_id != old
        assert (await again.authenticate()).status == 200
        assert (await again.hello()).status == 200

    served(scene)


def test_a_registration_token_counts_as_often_as_it_says(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        token = await installation.registration_token(uses=2)
        runners = [Runner(installation, f"runner-{number}") for number in range(6)]
        replies = await asyncio.gather(*(runner.enrol(token) for runner in runners))
        assert sorted(reply.status for reply in replies) == [201, 201, 401, 401, 401, 401]
        first = next(runner for runner, reply in zip(runners, replies, strict=True) if reply.status == 201)
        runner_id = first.runner_id
        assert ((await first.enrol(token)).status, first.runner_id) == (201, runner_id)

    served(scene)


def test_a_public_key_that_is_none_is_refused(served_inline: Served) -> None:
    async def scene(installation: Installation) -> None:
        token = await installation.registration_token()
        person = Caller(installation, "")
        for public_key in ("!" * 43, "A" * 42 + "!", "é" * 43):
            request = {"registration_token": token, "name": "bad", "public_key": public_key, "key": "12345678"}
            reply = await person.post("/agent/v1/enrolments", request)
            assert (reply.status, reply.code) == (422, "value_refused"), public_key

    served_inline(scene)


def test_a_revoked_api_token_stops_at_once(served: Served) -> None:
    async def scene(installation: Installation) -> None:
        person, other = await installation.user(), await installation.user(name="bob")
        tokens = (await person.get("/api/v1/tokens")).json()["tokens"]
        mine = next(token for token in tokens if token["kind"] == "api")
        assert (await other.get("/api/v1/me")).status == 200
        assert (await person.get("/api/v1/me")).status == 200
        assert (await person.post(f"/api/v1/tokens/{mine['id']}", b"", "DELETE")).status == 204
        await asyncio.sleep(0)
        statuses = {(await caller.get("/api/v1/me")).status for caller in (person, other)}
        assert statuses == {200, 401}

    served(scene)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "https://evil.test", "host": "ostler.test"}, 403),
        ({"origin": "null", "host": "ostler.test"}, 403),
        ({"host": "ostler.test"}, 403),
        ({}, 403),
        ({"sec-fetch-site": "same-origin"}, 422),
        ({"origin": "https://ostler.test", "host": "ostler.test"}, 422),
    ],
)
def test_a_session_changes_nothing_for_another_site(
    served_inline: Served, headers: dict[str, str], status: int
) -> None:
    async def scene(installation: Installation) -> None:
        await installation.user()
        now = installation.clock.now()
        user = await installation.database.run(sign_in.ensure_user, "usr_new", "ada", "owner", now)
        await installation.database.run(sign_in.create_session, "secret", user.user_id, now, now + 3600 * SECOND)
        signed_in = {**headers, "cookie": f"a=b; {SESSION_COOKIE}=secret"}
        client = installation.client
        body = b'{"name": "x y"}'
        assert (await client.request("GET", "/api/v1/me", headers=signed_in)).status == 200
        assert (await client.request("POST", "/api/v1/pools", body, headers=signed_in)).status == status

    served_inline(scene)
