"""The recorded messages: a folder per release, a file per endpoint, in it what was sent and what was answered."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ostler.protocol.endpoint import Binary, Endpoint, NoQuery, Nothing
from ostler.protocol.v1.table import ENDPOINTS
from tests.contract.protocol.examples import example

FOLDER = Path(__file__).parent / "recorded"


class Recorded(NamedTuple):
    """One message of one release."""

    label: str
    kind: type[Any]
    body: object


def messages_of(row: Endpoint[Any, Any]) -> dict[str, type[Any]]:
    """Return the messages of an endpoint by their part in the call."""
    parts = {"query": row.query, "request": row.request, "reply": row.reply}
    return {part: kind for part, kind in parts.items() if kind not in (Nothing, NoQuery, Binary)}


def recorded() -> list[Recorded]:
    """Return everything that was ever recorded."""
    rows = {row.name: row for row in ENDPOINTS}
    found: list[Recorded] = []
    for path in sorted(FOLDER.glob("*/*.json")):
        bodies = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        kinds = messages_of(rows[path.stem])
        for part, body in bodies.items():
            found.append(Recorded(f"{path.parent.name}/{path.stem}.{part}", kinds[part], body))
    return found


def record(release: str) -> list[Path]:
    """Write the examples of endpoints that no release has recorded, or that carry new fields; return what is new."""
    folder = FOLDER / release
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for row in ENDPOINTS:
        bodies = {part: example(kind) for part, kind in messages_of(row).items()}
        text = msgspec.json.format(msgspec.json.encode(bodies), indent=2) + b"\n"
        if not bodies or any(path.read_bytes() == text for path in FOLDER.glob(f"*/{row.name}.json")):
            continue
        path = folder / f"{row.name}.json"
        path.write_bytes(text)
        written.append(path)
    return written
