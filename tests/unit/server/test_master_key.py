"""The master key: made once for a single installation, and never by one of several replicas."""

from pathlib import Path

import pytest

from ostler.effects import seeded_random
from ostler.server.errors import KeyUnusable
from ostler.server.keys import make_master_key
from ostler.server.program import master_key
from ostler.server.settings import ServerSettings


def test_a_replica_does_not_make_a_key_of_its_own(tmp_path: Path) -> None:
    settings = ServerSettings(database="", blobs="", key_file=tmp_path / "key")
    with pytest.raises(KeyUnusable, match="cannot be read"):
        master_key(settings, {})
    made = make_master_key(tmp_path / "key", seeded_random(1))
    assert master_key(settings, {}).derive("seal") == made.derive("seal")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
