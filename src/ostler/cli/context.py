"""Which server the client commands talk to, and as whom.

The environment (``OSTLER_URL``, ``OSTLER_TOKEN``) beats the file, which ``ostler up`` and ``ostler login`` write with
mode 0600. The file is looked for in ``OSTLER_CONFIG_DIR``, else in ``ostler`` below ``XDG_CONFIG_HOME`` or
``~/.config``.
"""

import os
import tomllib
from pathlib import Path
from typing import NamedTuple

from ostler.cli.errors import NOT_AUTHORISED, CommandFailed


class Context(NamedTuple):
    """A server's address and the caller's token; ``source`` says where the token came from."""

    url: str
    token: str
    source: str


def context_path() -> Path:
    """Return where the client's file is, whether or not it exists."""
    explicit = os.environ.get("OSTLER_CONFIG_DIR")
    if explicit:
        return Path(explicit) / "client.toml"
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "ostler" / "client.toml"


def load_context() -> Context:
    """Return the server and token to use, or say how to get them."""
    url, token = os.environ.get("OSTLER_URL", "").strip(), os.environ.get("OSTLER_TOKEN", "").strip()
    source = "OSTLER_TOKEN" if token else str(context_path())
    if not (url and token):
        saved = _saved()
        url, token = url or saved.get("url", ""), token or saved.get("token", "")
    if not url:
        raise CommandFailed(
            "no server is known on this machine",
            fix="start one with `ostler up`, or sign in to one with `ostler login URL CODE`",
            code="context_missing",
        )
    if not token:
        raise CommandFailed(
            f"no token for {url}",
            fix=f"sign in with `ostler login {url} CODE`, or set OSTLER_TOKEN",
            exit_code=NOT_AUTHORISED,
            code="token_missing",
        )
    if not (token.isascii() and token.isprintable()):
        raise CommandFailed(
            f"the token of {source} holds a character that no token has, such as a line break",
            fix="copy it again, whole and alone",
            exit_code=NOT_AUTHORISED,
            code="token_malformed",
        )
    return Context(url.rstrip("/"), token, source)


def save_context(url: str, token: str) -> Path:
    """Write the file so that no other user can read it, replacing what was there."""
    path = context_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"url = {_quoted(url.rstrip('/'))}\ntoken = {_quoted(token)}\n")
    temporary.replace(path)
    return path


def _saved() -> dict[str, str]:
    path = context_path()
    try:
        values = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandFailed(
            f"{path} is not valid TOML: {error}", fix="correct it, or sign in again", code="context_malformed"
        ) from error
    return {key: value for key, value in values.items() if isinstance(value, str)}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
