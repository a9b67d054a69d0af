"""A migration that has been released is history: other people's databases were made by exactly those bytes."""

import hashlib
import re

from tests.tidy.sources import ROOT

MIGRATIONS = ROOT / "src/ostler/store/migrations"
RELEASED = ROOT / "src/ostler/store/migrations/released.sha256"


def _migrations() -> list[str]:
    return sorted(path.name for path in MIGRATIONS.glob("[0-9]*") if path.is_file())


def _released() -> dict[str, str]:
    """The digests by file name; the file looks like the output of `sha256sum`."""
    if not RELEASED.exists():
        return {}
    lines = RELEASED.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines if line.strip())}


def test_released_migrations_never_change() -> None:
    digests = {name: hashlib.sha256((MIGRATIONS / name).read_bytes()).hexdigest() for name in _migrations()}
    changed = [name for name, digest in _released().items() if digests.get(name) != digest]
    assert not changed, f"write a new migration instead of changing a released one: {changed}"


def test_new_migrations_come_after_released_ones() -> None:
    released = _released()
    early = [name for name in _migrations() if name not in released and any(name < old for old in released)]
    assert not early, f"these would never run on an existing database: {early}"


def test_a_release_records_its_migrations() -> None:
    releases = re.findall(r"^## \d", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if releases and _migrations():
        assert _released(), (
            "a version was released: run `cd src/ostler/store/migrations && sha256sum [0-9]* > released.sha256`"
        )


def test_the_store_keeps_its_migrations_where_this_looks() -> None:
    if (ROOT / "src/ostler/store").exists():
        assert _migrations(), f"no numbered migration in {MIGRATIONS.relative_to(ROOT)}"
