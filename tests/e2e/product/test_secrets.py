"""Where a secret must not be: the canary is searched for in everything that an installation writes or shows."""

import sqlite3
from contextlib import suppress
from pathlib import Path

import msgspec

from tests.parts.installation import Installation, gated

_CANARY = "c4n4ry-0f-th3-s3cr3t-k33p3r"


def test_a_secret_is_nowhere_but_in_its_job(site: Installation, gate: Path) -> None:
    script = f'echo "plain $CANARY"; printf %s "$CANARY" | base64; printf %s "$CANARY" | od -An -tx1; {gated(gate)}'
    job_id = site.submit(script, secrets={"CANARY": _CANARY})
    site.until_logged(job_id, "begun")
    forms = [_CANARY.encode(), _CANARY.encode().hex().encode()]
    assert not [path for path in _written(site.directory) if _holds(path, forms)]
    assert _exposed_to(forms) == 1, "only the job's own processes have it"
    gate.touch()
    assert site.until_ended(job_id)["state"] == "succeeded"
    assert "***" in site.log(job_id)
    shown = msgspec.json.encode(site.job(job_id)) + site.log(job_id).encode()
    assert _CANARY.encode() not in shown
    assert b'"secret_names":["CANARY"]' in shown
    assert not [path for path in _written(site.directory) if _holds(path, forms)]
    assert not _database_text(site.directory / "data" / "ostler.db").count(_CANARY)


def test_the_file_with_the_token_is_private(site: Installation) -> None:
    path = site.directory / "config" / "client.toml"
    assert path.stat().st_mode & 0o777 == 0o600


def _written(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]


def _holds(path: Path, forms: list[bytes]) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return any(form in data for form in forms)


def _exposed_to(forms: list[bytes]) -> int:
    """Count the sessions whose processes have it in their environment; nobody may have it in the arguments."""
    sessions: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        assert not _holds(process / "cmdline", forms), process
        if _holds(process / "environ", forms):
            with suppress(OSError):
                sessions.add((process / "stat").read_text().rpartition(")")[2].split()[3])
    return len(sessions)


def _database_text(path: Path) -> str:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        text = "\n".join(connection.iterdump())
    connection.close()
    return text
