"""A runner whose part the test plays: it begins jobs, and the test does what they would do."""

import time
import uuid
from base64 import urlsafe_b64encode
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import OKPKey

from tests.parts.installation import Installation

_SPEC: dict[str, object] = {"name": "by hand", "steps": [{"name": "wait", "script": "exit 1"}]}


class HandRunner:
    """Enrolled and connected; no other runner gets the jobs that are submitted for it."""

    def __init__(self, site: Installation, name: str) -> None:
        self._site = site
        self._name = name
        key = Ed25519PrivateKey.generate()
        public = urlsafe_b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).rstrip(b"=").decode()
        enrolment = {"registration_token": site.registration_token(), "name": name, "public_key": public}
        runner_id = site.post("/agent/v1/enrolments", {**enrolment, "key": uuid.uuid4().hex})["runner_id"]
        now = int(time.time())
        claims = {"iss": runner_id, "sub": runner_id, "aud": "ostler", "jti": uuid.uuid4().hex, "iat": now}
        assertion = jwt.encode(
            {"alg": "Ed25519"}, {**claims, "exp": now + 60}, OKPKey.import_key(key), algorithms=["Ed25519"]
        )
        self._token: str = site.post("/agent/v1/tokens", {"assertion": assertion})["access_token"]
        self._call("/agent/v1/hello", {"protocol": 1, "version": "1"})

    def begin(self) -> tuple[dict[str, Any], str]:
        """Submit a job and begin it: its claim, and the token that it was given."""
        self._site.post("/api/v1/runs", {"spec": _SPEC, "runner_name": self._name})
        claim = self._call("/agent/v1/claims", {"key": uuid.uuid4().hex, "slots": ["primary"], "wait_ms": 5000})
        first = claim["claims"][0]
        start = {"job_id": first["job_id"], "fence": first["fence"], "key": uuid.uuid4().hex}
        return first, self._call("/agent/v1/starts", start)["job_token"]

    def _call(self, path: str, body: object) -> Any:  # noqa: ANN401 - the edge
        answer = self._site.call("POST", path, body, token=self._token)
        assert answer.status < 300, answer
        return answer.body
