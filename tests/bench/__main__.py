"""Runs the benches: `python -m tests.bench [--only PREFIX] [--json FILE] [--quick]`.

A goal that is missed is a row in the table, not a failure. The exit code is 1 only if a bench could not run at all for
a reason other than a part that this machine lacks.
"""

import argparse
import asyncio
import inspect
import sys
import traceback
from pathlib import Path

import msgspec

from tests.bench.context import Context
from tests.bench.discovery import Bench, discover
from tests.bench.figure import Figure
from tests.bench.report import Machine, Report, print_figures
from tests.parts.errors import PartMissing


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    report = Report(machine=Machine.here(), quick=options.quick)
    with Context(quick=options.quick) as context:
        for bench in discover(options.only):
            _run(bench, context, report, options.only)
    print_figures(report)
    if options.json is not None:
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    return 1 if report.failed else 0


def _run(bench: Bench, context: Context, report: Report, only: str) -> None:
    print(f"measuring {bench.name} ...", file=sys.stderr, flush=True)
    try:
        figures = asyncio.run(_measured(bench, context))
    except PartMissing as missing:
        report.skipped[bench.name] = str(missing)
    except Exception as error:  # noqa: BLE001 (one broken bench must not take the others' figures with it)
        traceback.print_exc()
        report.failed[bench.name] = f"{type(error).__name__}: {error}"
    else:
        report.figures.extend(figure for figure in figures if figure.goal.startswith(only) or bench.named(only))


async def _measured(bench: Bench, context: Context) -> list[Figure]:
    figures = bench.measure(context)
    return await figures if inspect.isawaitable(figures) else figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure against the goals.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="goals (2, 2.1) or modules (blobs) to measure")
    parser.add_argument("--json", metavar="FILE", help="also write everything there")
    parser.add_argument("--quick", action="store_true", help="small and once: to see that the benches work")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
