"""The long comparison: as many expressions as one has patience for."""

import argparse
import sys

from tests.oracles.expressions.comparison import compare
from tests.parts.errors import PartMissing
from tests.parts.oracles import find_oracles

_SHOWN = 20


def main() -> int:
    """Compare, print what came of it, and fail on any difference without a reason."""
    arguments = argparse.ArgumentParser(prog="python -m tests.oracles.expressions")
    arguments.add_argument("--count", type=int, default=100_000, help="how many expressions (100,000)")
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    try:
        report = compare(find_oracles(), chosen.seed, chosen.count)
    except PartMissing as missing:
        print(f"not compared: {missing}", file=sys.stderr)
        return 2
    for case in report.unexplained[:_SHOWN]:
        print(f"{case.text!r}\n  ostler {case.ours}\n  github {case.theirs}")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds.most_common())
    print(f"{report.asked:,} expressions, seed {chosen.seed}: {kinds}")
    for reason, count in report.explained.most_common():
        print(f"{count:,} explained: {reason}")
    print(f"{len(report.unexplained):,} differ without a reason")
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
