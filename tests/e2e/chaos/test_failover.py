"""The database's primary dies under load and its standby takes over: what was acknowledged is there."""

import threading
from random import Random

import pytest

from tests.e2e.chaos.ledger import Ledger
from tests.parts.errors import PartFailed
from tests.parts.installation import Installation
from tests.parts.postgres import PostgresCluster
from tests.parts.process import wait_until

pytestmark = pytest.mark.postgres


@pytest.mark.usefixtures("postgres_cluster")  # Skips where there is no PostgreSQL.
def test_a_failover_loses_nothing_that_was_acknowledged(dice: Random) -> None:
    with PostgresCluster() as primary:
        primary.create_database("ostler")
        standby = primary.standby(synchronous=True)
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        with Installation(database=f"postgresql://postgres@{hosts}/ostler") as site:
            site.server("a")
            for name in ("one", "two"):
                site.agent(name).connected()
            ledger = Ledger(site)
            loading = _Load(ledger)
            loading.start()
            wait_until(lambda: len(ledger.entries) >= 6, 20)
            wait_until(lambda: False, dice.uniform(0, 0.5))
            primary.crash()
            standby.promote()
            accepted = len(ledger.entries)
            site.until("submissions are accepted again", lambda: len(ledger.entries) >= accepted + 4)
            loading.stop()
            try:
                assert set(ledger.settle()) == {"succeeded"}
            except BaseException:
                site.complain()
                raise


class _Load(threading.Thread):
    """Submits jobs one after the other; what is refused or unanswered is not in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(daemon=True)
        self._ledger = ledger
        self._stopped = threading.Event()
        self.failures: list[str] = []

    def run(self) -> None:
        while not self._stopped.wait(0.1):
            try:
                self._ledger.submit(lines=50, pause=0.05)
            except (OSError, PartFailed) as error:
                self.failures.append(str(error))

    def stop(self) -> None:
        self._stopped.set()
        self.join(30)
