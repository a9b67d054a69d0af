"""The long comparison: as many altered files as one has patience for."""

import argparse
import sys
from random import Random

from tests.oracles.workflows.comparison import compare
from tests.oracles.workflows.corpus import samples, scenarios
from tests.oracles.workflows.mutation import mutations
from tests.parts.errors import PartMissing
from tests.parts.oracles import find_oracles

_SHOWN = 20


def main() -> int:
    """Compare, print what came of it, and fail on any difference without a reason."""
    arguments = argparse.ArgumentParser(prog="python -m tests.oracles.workflows")
    arguments.add_argument("--count", type=int, default=20_000, help="how many altered files (20,000)")
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    corpus = samples()
    bases = [sample for sample in corpus if sample.folder in ("valid", "actions")]
    files = [*corpus, *scenarios(), *mutations(bases, Random(chosen.seed), chosen.count)]
    try:
        report = compare(find_oracles(), files)
    except PartMissing as missing:
        print(f"skipped: {missing}", file=sys.stderr)
        return 0
    for difference in report.unexplained[:_SHOWN]:
        print(f"{difference.sample.name}\n  ostler {difference.ours}\n  github {difference.theirs}")
        print(difference.sample.content)
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in report.verdicts.most_common())
    print(f"{len(files):,} files, seed {chosen.seed}: {verdicts}")
    print(f"{report.explained:,} differ for a known reason, {len(report.unexplained):,} without one")
    return 1 if report.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
