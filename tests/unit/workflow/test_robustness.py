"""No bytes make the reader or the checks fail, hang, or report a place that is not there."""

from datetime import timedelta

from hypothesis import HealthCheck, given, settings, strategies as st

from ostler.workflow.check import check_action, check_workflow
from ostler.workflow.checks.sheet import FilesAtHand
from ostler.workflow.reader import LARGEST
from ostler.workflow.rules import RULES
from tests.oracles.workflows.corpus import samples

_CORPUS = [sample.content for sample in samples()]
_PIECES = [
    *(
        "on",
        "jobs",
        "steps",
        "runs",
        "needs",
        "if",
        "with",
        "uses",
        "run",
        "matrix",
        "include",
        "env",
        "<<",
        "&a",
        "*a",
    ),
    *(
        ": ",
        "\n",
        "\n  ",
        "\n    - ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "'",
        '"',
        "|",
        ">",
        "!",
        "#",
        "\t",
        "\0",
        "\ufeff",
    ),
    *("${{", "}}", "github", ".", "*", "(", ")", "secrets", "format('{0}'", "==", "&&", "fromJSON", "::set-output"),
    *("0", "1e999", "true", "null", "~", "*/0 * * * *", "[a", "\\", "ü", "𝄞", "../..", "docker://", "@"),
]
_QUICK = settings(max_examples=300, deadline=timedelta(seconds=2), suppress_health_check=[HealthCheck.too_slow])


def _check(content: bytes) -> None:
    files = FilesAtHand({".github/workflows/x.yml": content, "a/action.yml": content})
    for check in (check_workflow, check_action):
        checked = check(".github/workflows/x.yml", content, files)
        lines = checked.document.text.count("\n") + 1
        for finding in checked.findings:
            assert finding.rule in RULES
            assert finding.message
            assert 1 <= finding.span.line <= lines + 1
            assert finding.span.column >= 1
            assert finding.span[2:] >= finding.span[:2]


@given(st.binary(max_size=400))
@_QUICK
def test_any_bytes(content: bytes) -> None:
    """They are a file too."""
    _check(content)


@given(st.lists(st.sampled_from(_PIECES), max_size=40))
@_QUICK
def test_pieces_of_the_language_in_any_order(pieces: list[str]) -> None:
    """What looks nearly right leads further in than noise."""
    _check("".join(pieces).encode("utf-8", "surrogatepass"))


@given(st.sampled_from(_CORPUS), st.integers(0, 2_000), st.integers(0, 60), st.sampled_from([*_PIECES, ""]))
@_QUICK
def test_damaged_files(content: str, start: int, length: int, piece: str) -> None:
    """A stretch of a file is lost, and something else stands there."""
    _check((content[:start] + piece + content[start + length :]).encode("utf-8", "surrogatepass"))


@given(st.sampled_from(_CORPUS), st.text(max_size=20))
@_QUICK
def test_any_text_in_expressions(content: str, text: str) -> None:
    """Strangers write titles; people write expressions."""
    expression = f"on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: |\n          ${{{{ {text} }}}}\n"
    _check(expression.encode("utf-8", "surrogatepass"))
    _check(f"{content}\nx: ${{{{{text}".encode("utf-8", "surrogatepass"))


def test_a_bomb_of_aliases_is_refused() -> None:
    """A billion laughs, at once."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]" for at in range(1, 10)]
    (finding,) = check_workflow("x.yml", "\n".join(lines)).findings
    assert (finding.rule, finding.span.line) == ("file-size", 6)


def test_aliases_below_the_cap_are_walked_in_time() -> None:
    """As many values as a file may stand for."""
    step = "{run: 'echo ${{ github.sha }}', env: {A: 1, B: 2}}"
    text = f"on: push\njobs:\n  a:\n    runs-on: x\n    steps: [&s {step}{', *s' * 5_000}]\n"
    assert check_workflow("x.yml", text).errors == ()


def test_ten_megabytes_are_refused() -> None:
    """Without reading them."""
    (finding,) = check_workflow("x.yml", b"a: b\n" * (2 * LARGEST)).findings
    assert finding.rule == "file-size"


def test_a_file_of_the_largest_size_is_checked() -> None:
    """In seconds, not in minutes."""
    job = "    runs-on: x\n    needs: [{}]\n    steps: [{{run: 'echo ${{{{ needs.{}.result }}}}'}}]\n"
    jobs = "".join(f"  j{at}:\n{job.format(f'j{at - 1}' if at else '', f'j{at - 1}')}" for at in range(3_000))
    text = f"on: push\njobs:\n{jobs}"
    assert len(text) < LARGEST
    assert {finding.rule for finding in check_workflow("x.yml", text).findings} == {"expression-property"}
