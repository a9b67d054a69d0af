"""A real git server: `git http-backend` behind a small HTTP server, on a free port, with credentials if asked for.

It counts what it is asked, so that a test can show what was not fetched twice, and can be told to fall silent.
"""

import base64
import os
import subprocess
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from tests.parts.errors import PartMissing

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str, given: bytes = b"") -> str:
    """Run git as somebody whose commits have the same ids every time."""
    ended = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=given,
        capture_output=True,
        check=False,
        env={**os.environ, **_IDENTITY},
    )
    assert ended.returncode == 0, f"git {' '.join(arguments)}: {ended.stderr.decode(errors='replace')}"
    return ended.stdout.decode().strip()


def commit(folder: Path, files: Mapping[str, str | None], message: str = "change") -> str:
    """Write files (delete those with nothing), commit them in a repository that is made if need be, return the id."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


class GitServer:
    """Serves the repositories below a folder, as `http://127.0.0.1:PORT/owner/name`."""

    def __init__(self, root: Path, *, token: str = "") -> None:
        backend = Path(
            subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
        )
        self._backend = backend / "git-http-backend"
        if not self._backend.exists():
            raise PartMissing("git has no http-backend here: apt-get install git")
        self._root = root
        self.token = token
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def publish(self, work: Path, name: str) -> Path:
        """Serve a working repository under `owner/name`; call it again to push what is new."""
        bare = self._root / name
        if not bare.exists():
            bare.mkdir(parents=True)
            git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
            git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
            git(bare, "config", "uploadpack.allowFilter", "true")
        git(work, "push", "--quiet", "--force", "--mirror", str(bare))
        return bare

    @property
    def fetches(self) -> int:
        """How often objects were asked for."""
        return sum(request.startswith("POST") and "git-upload-pack" in request for request in self.requests)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class says so
                pass

            def do_GET(self) -> None:
                server.answer(self, b"")

            def do_POST(self) -> None:
                server.answer(self, _body(self))

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Run the CGI program for one request."""
        self.requests.append(f"{handler.command} {handler.path}")
        if self.token and not self._signed_in(handler):
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="git"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        parts = urlsplit(handler.path)
        ended = subprocess.run(
            [str(self._backend)],
            input=body,
            capture_output=True,
            check=False,
            env={
                **os.environ,
                "GIT_PROJECT_ROOT": str(self._root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": handler.command,
                "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
                "REMOTE_ADDR": "127.0.0.1",
            },
        )
        head, _, content = ended.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        handler.send_response(status)
        for name, value in headers:
            if name != "Status":
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _signed_in(self, handler: BaseHTTPRequestHandler) -> bool:
        given = handler.headers.get("Authorization", "")
        expected = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return given.lower() == f"basic {expected}".lower()


def _body(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length", "0")))
    parts: list[bytes] = []
    while size := int(handler.rfile.readline().strip() or b"0", 16):
        parts.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(parts)
