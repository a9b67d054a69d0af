"""``schedule``: five fields of cron that let in some time, and a time zone that exists."""

from collections.abc import Iterator
from typing import Final

from ostler.domain.machine import Refused
from ostler.expr.spelling import did_you_mean
from ostler.workflow import plain
from ostler.workflow.checks.sheet import Sheet, literal
from ostler.workflow.cron import parse_cron
from ostler.workflow.findings import Finding
from ostler.workflow.language.time_zones import TIME_ZONES
from ostler.workflow.nodes import Node, SequenceNode

SHORTEST: Final = 5
"""Minutes between two runs of one schedule at GitHub."""


def check(sheet: Sheet) -> Iterator[Finding]:
    """Check every entry of ``schedule``."""
    schedule = plain.get(sheet.root.get("on"), "schedule")
    for item in schedule.items if isinstance(schedule, SequenceNode) else ():
        yield from _cron(plain.get(item, "cron"))
        yield from _zone(plain.get(item, "timezone"))


def _cron(node: Node | None) -> Iterator[Finding]:
    text = literal(node)
    if node is None or not text:
        return
    times = parse_cron(text)
    if isinstance(times, Refused):
        yield Finding("cron-syntax", times.reason, node.span, "For every day at 4 o'clock write '0 4 * * *'.")
    elif times.never:
        yield Finding("cron-never", "no month has such a day, so this never comes", node.span, severity="warning")
    elif times.shortest_gap < SHORTEST:
        message = f"this asks for runs {times.shortest_gap} min apart, and GitHub starts them every {SHORTEST} at most"
        yield Finding("cron-frequent", message, node.span, "Write '*/5' for the minutes.", "warning")


def _zone(node: Node | None) -> Iterator[Finding]:
    zone = literal(node)
    if node is not None and zone and zone not in TIME_ZONES:
        fix = did_you_mean(zone, TIME_ZONES) or "Take a name such as 'Europe/Rome'."
        yield Finding("time-zone", f"there is no time zone {zone[:60]!r}", node.span, fix)
