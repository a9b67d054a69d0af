"""A forge's API over real HTTP: it writes down what it is told and answers as it was bidden."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Told(NamedTuple):
    """One call."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class FakeForge:
    """See the module. ``answers`` are given in their order, then the last one for ever."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self.told: list[Told] = []
        self._answers = list(answers) or [(201, "{}")]
        forge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                forge.told.append(Told(self.path, headers, json.loads(body)))
                status, text = forge.answer()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self) -> tuple[int, str]:
        """The next answer."""
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
