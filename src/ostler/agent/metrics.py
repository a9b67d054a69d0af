"""What one agent process tells of itself: is it in contact, what does it hold, in words and in Prometheus' form.

Numbers only; how they are served is the business of ``health``. A library for this would cost 6 MB.
"""

from typing import NamedTuple

from ostler.agent.agent import Agent
from ostler.effects import Clock


class Contact(NamedTuple):
    """How one runner stands with the control plane."""

    runner: str
    healthy: bool
    ready: bool
    seconds_since_contact: float
    jobs: int
    unacknowledged: int
    breaker: str
    error: str


def contact(agent: Agent, clock: Clock, threshold_seconds: float) -> Contact:
    """Return how an agent stands now."""
    since = clock.monotonic() - max(agent.heartbeat.last_success, agent.poller.last_success)
    healthy = since <= threshold_seconds and not agent.heartbeat.error
    return Contact(
        runner=agent.settings.name,
        healthy=healthy,
        ready=healthy and agent.session.connected and agent.slots.open,
        seconds_since_contact=round(since, 1),
        jobs=len(agent.slots.lives),
        unacknowledged=len(agent.outbox),
        breaker=agent.client.breaker.state,
        error=agent.heartbeat.error,
    )


def exposition(agents: list[Agent], clock: Clock, threshold_seconds: float) -> str:
    """Return the metrics of all runners in Prometheus' text form."""
    rows: list[tuple[str, str, str, list[tuple[str, float]]]] = [
        ("ostler_agent_healthy", "gauge", "1 if the runner is in contact and has no fault", []),
        ("ostler_agent_jobs", "gauge", "Jobs that the runner holds", []),
        ("ostler_agent_jobs_finished_total", "counter", "Jobs that ended on this runner since its start", []),
        ("ostler_agent_unacknowledged_results", "gauge", "Results that the server has not acknowledged", []),
        ("ostler_agent_authentication_failures_total", "counter", "Refused access tokens", []),
        ("ostler_agent_breaker_open", "gauge", "1 while the circuit breaker keeps requests back", []),
        ("ostler_agent_seconds_since_contact", "gauge", "Time since the server last answered", []),
    ]
    for agent in agents:
        now = contact(agent, clock, threshold_seconds)
        values = (
            float(now.healthy),
            now.jobs,
            agent.finished_jobs,
            now.unacknowledged,
            agent.identity.failures,
            float(now.breaker != "closed"),
            now.seconds_since_contact,
        )
        for row, value in zip(rows, values, strict=True):
            row[3].append((now.runner, value))
    lines: list[str] = []
    for name, kind, text, samples in rows:
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        lines += [f'{name}{{runner="{_escaped(runner)}"}} {value:g}' for runner, value in samples]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
