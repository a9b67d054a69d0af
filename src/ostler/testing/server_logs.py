"""Where simulated servers log: to the trace of a replay; and a surprise that they survived by logging it is a finding.

A server answers an unforeseen exception with an error and goes on, which is right in production and would hide the
mistake from a campaign. Only what the database's wire does to it is foreseen.
"""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from traceback import format_exc

import structlog
from structlog.typing import EventDict, WrappedLogger

from ostler.store.errors import DatabaseUnavailable, DatabaseUncertain
from ostler.testing.loop import CURRENT_LIFE, SimLoop

_SURPRISES = frozenset({"call_failed", "loop_failed", "stream_broken", "start_failed"})
_REPORTED = frozenset({"round_failed", "seal_failed", "loop_right_kept"})
_FORESEEN = (DatabaseUnavailable, DatabaseUncertain)


@contextmanager
def traced_servers() -> Generator[None]:
    """Have everything that is logged by structlog go to the simulated loop."""
    before = structlog.get_config()
    structlog.configure(processors=[_to_the_loop], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def _to_the_loop(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    del logger
    loop = asyncio.get_running_loop()
    if isinstance(loop, SimLoop):
        name = str(event.get("event"))
        if loop.trace.listener is not None:
            life = CURRENT_LIFE.get()
            loop.trace.listener(loop.time(), f"{life.name if life else 'world'}: {method} {event}")
        error = sys.exc_info()[1]
        foreseen = isinstance(error, _FORESEEN) or any(kind.__name__ in str(event.get("error")) for kind in _FORESEEN)
        if (name in _SURPRISES or name in _REPORTED) and not foreseen:
            loop.unhandled.append(f"{name} {event}\n{format_exc()}")
    raise structlog.DropEvent
