"""The tokens of jobs: each names one job and one fence, and is worth nothing once that attempt has ended.

A token is a JWT, because the clients of artifacts and caches that others wrote look into it for the ids of run and job
(the claim ``scp``). What it says can be computed by whoever holds the installation's key, so nothing is stored: a token
is read by computing the one that its claims would have and comparing the two in constant time. Whether the attempt is
still under way is the store's to say, at every call.
"""

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec

from ostler.server.keys import MasterKey

_LONGEST = 2048


class JobClaims(msgspec.Struct, frozen=True, kw_only=True):
    """What a token says. ``scp`` is there for clients; we go by the other claims."""

    iss: str
    sub: str
    """The job."""
    run: str
    fence: int
    scp: str


class JobTokens:
    """Issues and reads tokens; every replica with the same master key issues the same ones."""

    def __init__(self, key: MasterKey) -> None:
        self._key = key.derive("job-token")

    def issue(self, run_id: str, job_id: str, fence: int) -> str:
        """Return the token of an attempt; it is the same each time."""
        scope = f"Actions.Results:{run_id}:{job_id}"
        claims = JobClaims(iss="ostler", sub=job_id, run=run_id, fence=fence, scp=scope)
        signed = _HEADER + _text(msgspec.json.encode(claims))
        return f"{signed}.{_text(hmac.digest(self._key, signed.encode(), hashlib.sha256))}"

    def read(self, token: str) -> JobClaims | None:
        """Return what a token says if it is one of ours."""
        if not token.startswith(_HEADER) or len(token) > _LONGEST or not token.isascii():
            return None
        try:
            claims = _decode(urlsafe_b64decode(_padded(token.split(".")[1])))
        except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error):
            return None
        expected = self.issue(claims.run, claims.sub, claims.fence)
        return claims if hmac.compare_digest(token.encode(), expected.encode("utf-8", "replace")) else None


_decode = msgspec.json.Decoder(JobClaims).decode


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


_HEADER: Final = _text(b'{"alg":"HS256","typ":"job+jwt"}') + "."
"""The only header there is: nobody chooses an algorithm."""
