"""Structured logs: JSON lines for machines, coloured lines for a terminal, always to stderr.

Every line that is written while a call is served carries the ids of its request, runner, run and job; they are looked
up only if a line is written, because most calls write none.
"""

import logging
import sys

import structlog

from ostler.server.call import CURRENT, RunnerCaller

_NAMED = ("run_id", "job_id", "runner_id")


def configure_logging(*, json: bool, debug: bool) -> None:
    """Set up the process's logging once, before anything logs."""
    level = logging.DEBUG if debug else logging.INFO
    structlog.configure(
        processors=[
            name_call,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *_rendering(json=json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")


def _rendering(*, json: bool) -> list[structlog.typing.Processor]:
    """How a line is written. A traceback names places, never values: credentials and secrets are among them."""
    if json:
        places = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        return [structlog.processors.ExceptionRenderer(places), structlog.processors.JSONRenderer()]
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]


def name_call(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Add who and what the present call is about."""
    del logger, method
    call = CURRENT.get(None)
    if call is None:
        return event
    event.setdefault("request_id", call.request_id)
    if isinstance(call.caller, RunnerCaller):
        event.setdefault("runner_id", call.caller.runner_id)
    for name in _NAMED:
        value = call.path.get(name) or getattr(call.body, name, "")
        if value:
            event.setdefault(name, value)
    return event
