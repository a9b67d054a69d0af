"""``ostler validate``: what is wrong in workflows and actions, where, and what would mend it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ostler.cli.errors import USAGE, CommandFailed
from ostler.cli.validation import reports
from ostler.cli.validation.checked_file import CheckedFile, check_file
from ostler.cli.validation.discovery import Candidate, find
from ostler.workflow.schema import SCHEMAS


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--json", "form", flag_value="json", help="Print the findings as JSON.")
@click.option("--sarif", "form", flag_value="sarif", help="Print the findings as SARIF 2.1.0, for code scanning.")
@click.option("--strict", is_flag=True, help="Fail on hints too.")
@click.option("--schema", type=click.Choice(tuple(SCHEMAS)), help="Print a JSON Schema for editors; check nothing.")
@click.pass_context
def validate(context: click.Context, *, paths: Sequence[Path], form: str | None, strict: bool, schema: str) -> None:
    """Check workflows and actions.

    PATH is a file or a folder. Without one, everything is checked that the current repository has in .github/workflows
    and .ostler/workflows, and every action.yml. Exits with 1 if there are errors or warnings.
    """
    if schema:
        sys.stdout.write(reports.as_json(SCHEMAS[schema]()))
        return
    candidates = _candidates(paths)
    checked = [check_file(candidate) for candidate in candidates]
    if form == "json":
        sys.stdout.write(reports.as_json(reports.document(checked)))
    elif form == "sarif":
        sys.stdout.write(reports.as_json(reports.sarif(checked)))
    else:
        for file in checked:
            sys.stdout.write(reports.text(file))
    sys.stderr.write(reports.summary(checked) + "\n")
    context.exit(1 if _fails(checked, strict=strict) else 0)


def _candidates(paths: Sequence[Path]) -> list[Candidate]:
    candidates = find(paths)
    if not candidates:
        where = ", ".join(map(str, paths)) or "this repository"
        raise CommandFailed(
            f"there is no workflow and no action in {where}",
            fix="name a file, or put workflows into .github/workflows or .ostler/workflows",
            exit_code=USAGE,
            code="nothing_to_validate",
        )
    return candidates


def _fails(checked: Sequence[CheckedFile], *, strict: bool) -> bool:
    return any(strict or finding.severity != "hint" for file in checked for finding in file.findings)
