"""Processes die at any moment: what was executed, printed and acknowledged survives them."""

import signal
from random import Random

from tests.e2e.chaos.ledger import NEVER_RAN, Ledger
from tests.parts.installation import Agent, Installation, Server, children_of, environment_of, kill
from tests.parts.process import wait_until


def _pause(dice: Random, longest: float) -> None:
    """Let a random time pass: when a kill strikes is what is being tried."""
    wait_until(lambda: False, dice.uniform(0, longest))


def _restart(victim: Server | Agent) -> None:
    victim.process.kill()
    victim.start()


def test_a_killed_server_loses_nothing(site: Installation, ledger: Ledger, dice: Random) -> None:
    server = site.server()
    for name in ("one", "two"):
        site.agent(name).connected()
    for _ in range(8):
        ledger.submit()
    for _ in range(4):
        _pause(dice, 1.0)
        _restart(server)
    assert ledger.settle() == {"succeeded": 8}


def test_a_killed_agent_loses_nothing_that_ran(site: Installation, ledger: Ledger, dice: Random) -> None:
    site.server()
    agents = [site.agent(name).connected() for name in ("one", "two")]
    for _ in range(8):
        ledger.submit()
    for _ in range(6):
        _pause(dice, 0.9)
        _restart(dice.choice(agents))
    outcomes = ledger.settle()
    assert set(outcomes) <= {"succeeded", *NEVER_RAN}
    assert outcomes["succeeded"] >= 2


def test_everything_is_killed_in_turn(site: Installation, ledger: Ledger, dice: Random) -> None:
    server = site.server()
    agents = [site.agent(name).connected() for name in ("one", "two")]
    for _ in range(8):
        ledger.submit()
    for _ in range(6):
        _pause(dice, 0.7)
        victims = dice.choice(([server], [agents[0]], [server, agents[1]], [server, *agents]))
        for victim in victims:
            victim.process.kill()
        for victim in victims:
            victim.start()
    outcomes = ledger.settle()
    assert set(outcomes) <= {"succeeded", *NEVER_RAN}


def test_a_killed_supervisor_is_told_and_leaves_nothing(site: Installation, ledger: Ledger) -> None:
    site.server()
    agent = site.agent("one").connected()
    entry = ledger.submit(pause=30)
    site.until_logged(entry.job_id, "60\n")
    before = set(_jobs_of(agent))
    assert before
    for pid in _supervisors_of(agent, before):
        kill(pid)
    job = site.until_ended(entry.job_id)
    assert ledger.check(entry, job) == "supervisor_lost"
    assert wait_until(lambda: not before & set(agent.process.descendants()), 10)
    ledger.submit(pause=0)
    assert ledger.settle() == {"supervisor_lost": 1, "succeeded": 1}


def test_an_agent_that_dies_with_its_supervisor_says_so_later(site: Installation, ledger: Ledger) -> None:
    site.server()
    agent = site.agent("one").connected()
    entry = ledger.submit(pause=30)
    site.until_logged(entry.job_id, "60\n")
    agent.process.send(signal.SIGSTOP)
    for pid in agent.process.descendants():
        if pid != agent.process.pid:
            kill(pid)
    agent.process.kill()
    agent.start()
    ledger.submit(pause=0)
    assert ledger.settle() == {"supervisor_lost": 1, "succeeded": 1}


def _jobs_of(agent: Agent) -> list[int]:
    """The processes of jobs: those that carry the marker of an attempt."""
    return [pid for pid in agent.process.descendants() if "OSTLER_ATTEMPT" in environment_of(pid)]


def _supervisors_of(agent: Agent, jobs: set[int]) -> list[int]:
    return [pid for pid in agent.process.descendants() if jobs & set(children_of(pid))]
