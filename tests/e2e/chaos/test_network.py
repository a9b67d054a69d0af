"""The network between agents and server does what networks do, while jobs run."""

from collections.abc import Callable
from random import Random

from tests.e2e.chaos.ledger import Ledger
from tests.parts.installation import Installation
from tests.parts.process import wait_until
from tests.parts.proxy import TO_CLIENT, TO_SERVER, TcpProxy

_FAULTS: tuple[Callable[[TcpProxy], None], ...] = (
    lambda network: network.cut(),
    lambda network: network.delay(0.2),
    lambda network: network.half_close(TO_SERVER),
    lambda network: network.half_close(TO_CLIENT),
    lambda network: network.close_after(700, TO_SERVER),
    lambda network: network.close_after(300, TO_CLIENT),
    lambda network: network.blackhole(TO_CLIENT),
    lambda network: network.throttle(20_000, TO_SERVER),
)


def test_a_bad_network_loses_and_repeats_nothing(site: Installation, ledger: Ledger, dice: Random) -> None:
    server = site.server()
    with TcpProxy(server.port) as network:
        url = f"http://127.0.0.1:{network.port}"
        for name in ("one", "two"):
            site.agent(name, url, request_timeout="2s").connected()
        for _ in range(8):
            ledger.submit()
        for fault in dice.sample(_FAULTS, len(_FAULTS)):
            fault(network)
            wait_until(lambda: False, dice.uniform(0.1, 0.8))
            network.mend()
            wait_until(lambda: False, dice.uniform(0, 0.4))
        assert ledger.settle() == {"succeeded": 8}


def test_a_cancel_waits_for_a_runner_that_cannot_be_reached(site: Installation) -> None:
    server = site.server()
    with TcpProxy(server.port) as network:
        agent = site.agent("far", f"http://127.0.0.1:{network.port}").connected()
        job_id = site.submit("echo begun; exec sleep 60")
        site.until_logged(job_id, "begun")
        network.cut()
        assert site.ostler("run", "cancel", site.job(job_id)["run_id"]).status == 0
        assert site.job(job_id)["state"] == "cancelling"
        network.mend()
        assert site.until_ended(job_id)["state"] == "cancelled"
        assert agent.process.running
