"""A real server over SQLite with a person, two runners, a run and a pool in it."""

import gzip
import hashlib
import re
import signal
import sys
import time
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import OKPKey

from ostler.protocol.v1.runner_messages import AUDIENCE
from tests.parts.process import GuardedProcess, log_tail, remove_tree, short_directory, wait_until

_SPEC: dict[str, Any] = {"name": "hello", "steps": [{"name": "say", "script": "echo hello"}]}


class World(NamedTuple):
    """Where the server is, who may call it, and what exists, by the names of path parameters."""

    url: str
    user_token: str
    runner_token: str
    job_token: str
    existing: dict[str, str]


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    directory = short_directory("api")
    log = directory / "server.log"
    program = [sys.executable, "-c", "from ostler.cli.main import main; main()", "server", "--port", "0"]
    places = [f"--database=sqlite:///{directory}/ostler.db", f"--blobs=file://{directory}/blobs"]
    key = directory / "key"
    key.write_text(b64encode(bytes(32)).decode())
    command = [*program, *places, f"--key-file={key}"]
    server = GuardedProcess(command, directory=directory, log=log)
    try:
        assert wait_until(lambda: "/sign-in/" in _text(log) or not server.running, 30), log_tail(log)
        link = re.search(r"(http://\S+)/sign-in/(\S+)", _text(log))
        assert link is not None, log_tail(log)
        yield _furnished(link[1], link[2], directory)
    finally:
        server.stop(signal.SIGTERM)
        remove_tree(directory)


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""


def _furnished(url: str, code: str, directory: Path) -> World:
    with httpx2.Client(base_url=url) as client:
        user = _posted(client, "/api/v1/login", {"code": code})["secret"]
        client.headers["authorization"] = f"Bearer {user}"
        token = _posted(client, "/api/v1/tokens", {"kind": "registration", "pool": "hosted", "uses": 2})
        _enrolled(client, token["secret"], "spare")
        runner = _enrolled(client, token["secret"], "worker")
        run = _posted(client, "/api/v1/runs", {"spec": _SPEC})
        job = _started(client, runner[1])
        pool = _posted(client, "/api/v1/pools", {"name": "spare-pool"})
        repository = _posted(client, "/api/v1/repositories", {"name": "shop", "clone_url": f"file://{directory}/none"})
        existing = {
            "repository": repository["id"],
            "name": "API_KEY",
            "workflow": "ci.yml",
            "run_id": run["id"],
            "job_id": run["jobs"][0]["id"],
            "pool": pool["id"],
            "runner": "spare",
            "runner_id": runner[0],
            "token_id": token["token"]["id"],
            **_kept(client, job),
        }
    return World(url, user, runner[1], job, existing)


def _enrolled(client: httpx2.Client, secret: str, name: str) -> tuple[str, str]:
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    body = {
        "registration_token": secret,
        "name": name,
        "public_key": urlsafe_b64encode(public).rstrip(b"=").decode(),
        "key": uuid.uuid4().hex,
    }
    runner_id = _posted(client, "/agent/v1/enrolments", body)["runner_id"]
    now = int(time.time())
    claims = {"iss": runner_id, "sub": runner_id, "jti": uuid.uuid4().hex, "iat": now, "exp": now + 60}
    claims["aud"] = AUDIENCE
    assertion = jwt.encode({"alg": "Ed25519"}, claims, OKPKey.import_key(key), algorithms=["Ed25519"])
    return runner_id, _posted(client, "/agent/v1/tokens", {"assertion": assertion})["access_token"]


def _started(client: httpx2.Client, access_token: str) -> str:
    """The token of the job that waits, which the runner begins."""
    headers = {"authorization": f"Bearer {access_token}"}
    _posted(client, "/agent/v1/hello", {"protocol": 1, "version": "1"}, headers)
    poll = {"key": "poll-first", "slots": ["primary"]}
    claim = _posted(client, "/agent/v1/claims", poll, headers)["claims"][0]
    start = {"job_id": claim["job_id"], "fence": claim["fence"], "key": "start-first"}
    return _posted(client, "/agent/v1/starts", start, headers)["job_token"]


def _kept(client: httpx2.Client, job_token: str) -> dict[str, str]:
    """An artifact and an action, and a cache entry that does not exist: the job belongs to no repository."""
    headers = {"authorization": f"Bearer {job_token}"}
    artifact_id = _posted(client, "/job/v1/artifacts", {"name": "report"}, headers)["id"]
    client.put(f"/job/v1/artifacts/{artifact_id}/content", content=b"hello", headers=headers).raise_for_status()
    finish = {"size": 5, "digest": f"sha256:{hashlib.sha256(b'hello').hexdigest()}"}
    _posted(client, f"/job/v1/artifacts/{artifact_id}/finish", finish, headers)
    tree = gzip.compress(b"")
    action = client.put("/api/v1/actions/acme/hello", params={"ref": "v1"}, content=tree).raise_for_status().json()
    return {"artifact_id": artifact_id, "cache_id": "cache_none", "action_id": action["id"], "owner": "acme"}


def _posted(
    client: httpx2.Client, path: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    reply = client.post(path, json=body, headers=headers)
    assert reply.is_success, reply.text
    return reply.json()
