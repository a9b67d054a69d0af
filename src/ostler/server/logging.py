"""Structured logs: JSON lines for machines, coloured lines for a terminal, always to stderr.

Job, run and runner ids are bound as context by whoever handles a call, so that every line about a job carries them.
"""

import logging
import sys

import structlog


def configure_logging(*, json: bool, debug: bool) -> None:
    """Set up the process's logging once, before anything logs."""
    level = logging.DEBUG if debug else logging.INFO
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    exceptions: list[structlog.typing.Processor] = [structlog.processors.dict_tracebacks] if json else []
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *exceptions,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
