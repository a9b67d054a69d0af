"""Standard output and error as they really are: closed, full, in another encoding, or with nobody left to read them."""

import io
import os
import sys

from ostler.cli.errors import CommandFailed


def prepare() -> None:
    """Let every command print, also in a locale without its characters and where a stream was closed."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - for the whole life
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def finish() -> None:
    """Write what is left, where a failure can still be told."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon()
        raise CommandFailed(f"cannot write the output: {error.strerror}", code="output_failed") from error


def abandon() -> None:
    """Let what is left go nowhere: its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
