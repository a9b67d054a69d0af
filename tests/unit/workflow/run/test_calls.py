"""Trap 40: reusable workflows."""

import msgspec
import pytest

from ostler.domain.machine import Refused
from ostler.workflow.run.calling import call_key, calls, missing
from ostler.workflow.run.secrets import secret_values
from ostler.workflow.run.state import NodeState
from tests.unit.workflow.run.driven import GIVEN, driven, plan_of, refusable_plan, workflow_of

CALLER = """
    on: push
    env: {OUTER: 1}
    jobs:
      first: {STEPS}
      call:
        needs: first
        name: Deploy
        uses: ./inner.yml
        with: {to: prod, count: '${{ fromJSON(needs.first.outputs.n) }}', dry: true}
        secrets: {token: '${{ secrets.MINE }}', other: 'x-${{ secrets.NONE }}'}
      last: {needs: call, STEPS}
"""
INNER = """
    on:
      workflow_call:
        inputs:
          to: {type: string, required: true}
          count: {type: number, default: 3}
          dry: {type: boolean}
          region: {type: string, default: 'for ${{ github.actor }}'}
          flag: {type: boolean}
          size: {type: number}
          text: {type: string}
        secrets: {token: {required: true}, other: {}, unused: {}}
        outputs: {url: {value: 'at ${{ jobs.b.outputs.url }}'}, none: {value: '${{ jobs.a.outputs.x }}'}}
    env: {INNER: 1}
    jobs:
      a:
        name: ${{ inputs.to }}
        runs-on: x
        env: {T: '${{ secrets.token }}', O: '${{ secrets.OTHER }}'}
        steps: [{run: 'true'}]
      b: {needs: a, if: inputs.dry, STEPS}
"""


def test_a_called_workflow_from_end_to_end() -> None:
    run = driven(CALLER, inner=INNER)
    run.end("first", outputs={"n": "7"})
    assert run.node("call").state is NodeState.RUNNING
    assert run.started() == ["first", "call/a"]
    program = run.job("call/a").program
    assert program.inputs == {
        "to": "prod",
        "count": 7.0,
        "dry": True,
        "region": "for ada",
        "flag": False,
        "size": 0.0,
        "text": "",
    }
    assert program.env[0] == {"INNER": 1.0}
    assert program.github["workflow"] == "W"
    assert program.github["job"] == "a"
    assert program.needs == {}
    assert run.job("call/a").name == "Deploy / prod"
    run.end("call/a")
    assert run.job("call/b").name == "Deploy / b"
    run.end("call/b", outputs={"url": "here"})
    needs = run.job("last").program.needs
    assert needs["call"].outputs == {"url": "at here", "none": ""}
    run.end("last")
    assert run.conclusion == "success"


def test_secrets_are_passed_by_name() -> None:
    given = msgspec.structs.replace(GIVEN, secrets=("MINE", "NONE", "THIRD"))
    run = driven(CALLER, given, inner=INNER)
    run.end("first", outputs={"n": "7"})
    assert run.job("first").secrets == ()
    assert run.job("call/a").secrets == ("MINE", "NONE")
    values = {"MINE": "m", "THIRD": "t"}
    assert secret_values(run.plan, run.state, "call/a", values) == {"token": "m", "other": "x-"}
    assert secret_values(run.plan, run.state, "first", values) == values


def test_secrets_are_inherited() -> None:
    given = msgspec.structs.replace(GIVEN, secrets=("token", "Other", "third"))
    inner = (
        "on: workflow_call\njobs: {a: {runs-on: x, steps: [{run: '${{ secrets.TOKEN }} ${{ secrets[''other''] }}'}]}}"
    )
    run = driven("on: push\njobs: {c: {uses: ./inner.yml, secrets: inherit}}", given, inner=inner)
    assert run.job("c/a").secrets == ("token", "Other")
    assert secret_values(run.plan, run.state, "c/a", {"token": "t"}) == {"token": "t"}


def test_any_secret_may_be_meant() -> None:
    given = msgspec.structs.replace(GIVEN, secrets=("a", "b"))
    run = driven("on: push\njobs: {j: {runs-on: x, steps: [{run: '${{ toJSON(secrets) }}'}]}}", given)
    assert run.job("j").secrets == ("a", "b")


def test_a_caller_whose_condition_is_false_skips_all_inside() -> None:
    run = driven(
        "on: push\njobs: {c: {if: false, uses: ./inner.yml}, d: {needs: c, STEPS}}",
        inner="on: workflow_call\njobs: {a: {STEPS}}",
    )
    assert run.conclusions() == {"c": "skipped", "d": "skipped"}


def test_a_failure_inside_is_a_failure_of_the_call() -> None:
    run = driven(
        "on: push\njobs: {c: {uses: ./inner.yml}, d: {needs: c, if: failure(), STEPS}}",
        inner="on: workflow_call\njobs: {a: {STEPS}, b: {STEPS}, z: {needs: a, STEPS}}",
    )
    run.fail("c/a")
    run.end("c/b")
    assert run.node("c").conclusion == "failure"
    assert run.started()[-1] == "d"


def test_a_matrix_of_calls() -> None:
    run = driven(
        """
        on: push
        jobs:
          c: {strategy: {matrix: {x: [1, 2]}}, uses: ./inner.yml, with: {n: '${{ matrix.x }}'}}
          d: {needs: c, STEPS}
        """,
        inner="""
        on:
          workflow_call:
            inputs: {n: {type: number}}
            outputs: {o: {value: '${{ jobs.a.outputs.o }}'}}
        jobs:
          a: {strategy: {matrix: {y: [p, q]}}, STEPS}
        """,
    )
    assert run.started() == ["c[0]/a[0]", "c[0]/a[1]", "c[1]/a[0]", "c[1]/a[1]"]
    assert run.job("c[1]/a[0]").name == "c (2) / a (p)"
    assert run.job("c[1]/a[0]").program.inputs == {"n": 2.0}
    run.end("c[1]/a[0]", "c[1]/a[1]", outputs={"o": "from the second"})
    run.end("c[0]/a[1]")
    run.fail("c[0]/a[0]")
    assert run.node("c[1]").outputs == {"o": "from the second"}
    assert run.node("c").outputs == {"o": "from the second"}
    assert run.node("c").conclusion == "failure"


def test_a_failed_call_of_a_matrix_cancels_the_others_with_all_inside() -> None:
    run = driven(
        "on: push\njobs: {c: {strategy: {matrix: {x: [1, 2]}}, uses: ./inner.yml}}",
        inner="on: workflow_call\njobs: {a: {STEPS}, b: {needs: a, if: always(), STEPS}}",
    )
    run.fail("c[0]/a")
    run.fail("c[0]/b")
    assert run.cancelled() == ["c[1]/a"]
    run.end("c[1]/a", result="cancelled")
    assert run.node("c[1]").conclusion == "cancelled"
    assert run.conclusion == "failure"


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ("count: '${{ github.actor }}'", "with.count: the input takes a number"),
        ("dry: '${{ 1 }}'", "with.dry: the input takes true or false"),
        ("to: '${{ github }}'", "with.to: the input takes text"),
        ("to: '${{ fromJSON(1.2.3) }}'", "with.to: "),
    ],
)
def test_an_input_of_the_wrong_type_fails_the_call(given: str, note: str) -> None:
    inputs = "to: {type: string}, count: {type: number}, dry: {type: boolean}"
    inner = f"on: {{workflow_call: {{inputs: {{{inputs}}}}}}}\njobs: {{a: {{STEPS}}}}"
    run = driven(f"on: push\njobs: {{c: {{uses: ./inner.yml, with: {{{given}}}}}}}", inner=inner)
    assert run.node("c").note.startswith(note)
    assert run.node("c").cause == "configuration"
    assert run.conclusion == "failure"


def test_what_the_other_file_does_not_declare() -> None:
    declared = "inputs: {n: {type: number, required: true}}, secrets: {s: {required: true}}"
    inner = f"on: {{workflow_call: {{{declared}}}}}\njobs: {{a: {{STEPS}}}}"
    for arguments, fault in {
        "": "does not pass the input n",
        ", with: {n: 1}": "does not pass the secret s",
        ", with: {n: x}, secrets: {s: x}": "the input n, which takes a number",
        ", with: {n: 1, m: 2}, secrets: {s: x}": "the input m, which ./inner.yml does not know",
        ", with: {n: 1}, secrets: {s: x, t: y}": "the secret t, which ./inner.yml does not know",
    }.items():
        refused = refusable_plan(f"on: push\njobs: {{c: {{uses: ./inner.yml{arguments}}}}}", {"inner": inner})
        assert isinstance(refused, Refused)
        assert refused.code == "call_wrong"
        assert fault in refused.reason
    plan_of("on: push\njobs: {c: {uses: ./inner.yml, with: {N: 1}, secrets: inherit}}", inner=inner)


def test_circles_depth_and_missing_files_are_refused() -> None:
    chain = {f"w{at}": f"on: workflow_call\njobs: {{a: {{uses: ./w{at + 1}.yml}}}}" for at in range(1, 12)}
    last = "on: workflow_call\njobs: {a: {STEPS}}"
    start = "on: push\njobs: {a: {uses: ./w1.yml}}"
    assert not isinstance(refusable_plan(start, chain | {"w9": last}), Refused)
    cases = {
        "calls_too_deep": refusable_plan(start, chain | {"w10": last}),
        "calls_circular": refusable_plan(start, chain | {"w2": "on: workflow_call\njobs: {a: {uses: ./w1.yml}}"}),
        "workflow_missing": refusable_plan(start),
        "workflow_not_callable": refusable_plan(start, {"w1": "on: push\njobs: {a: {STEPS}}"}),
        "workflow_invalid": refusable_plan("on: push\njobs: {a: {needs: b, STEPS}, b: {needs: a, STEPS}}"),
    }
    for code, refused in cases.items():
        assert isinstance(refused, Refused)
        assert refused.code == code


def test_permissions_only_shrink() -> None:
    inner = "on: workflow_call\npermissions: {contents: write}\njobs: {a: {STEPS}}"
    outer = "on: push\npermissions: {contents: read, issues: write}\njobs: {c: {uses: ./inner.yml}}"
    refused = refusable_plan(outer, {"inner": inner})
    assert isinstance(refused, Refused)
    assert refused.code == "permissions_exceeded"
    refused = refusable_plan(outer, {"inner": "on: workflow_call\njobs: {a: {permissions: write-all, STEPS}}"})
    assert isinstance(refused, Refused)
    run = driven(outer, inner="on: workflow_call\njobs: {a: {STEPS}, b: {permissions: {issues: read}, STEPS}}")
    for node, levels in {"c/a": {"contents": "read", "issues": "write"}, "c/b": {"issues": "read"}}.items():
        permissions = run.job(node).permissions
        assert permissions is not None
        assert {scope: level for scope, level in permissions.items() if level != "none"} == levels
    assert driven("on: push\njobs: {a: {STEPS}}").job("a").permissions is None


def test_local_paths_in_other_repositories() -> None:
    key = "o/r/.github/workflows/a.yml@v1"
    assert call_key("./.github/workflows/b.yml", key) == "o/r/.github/workflows/b.yml@v1"
    assert call_key("./b.yml", "./a.yml") == "./b.yml"
    assert call_key("p/q/x.yml@v2", key) == "p/q/x.yml@v2"
    outer = workflow_of(f"on: push\njobs: {{a: {{uses: {key}}}, b: {{uses: ./l.yml}}}}")
    inner = workflow_of("on: workflow_call\njobs: {a: {uses: ./.github/workflows/b.yml}}")
    assert calls(outer) == (key, "./l.yml")
    assert missing(outer, {key: inner}) == ("./l.yml", "o/r/.github/workflows/b.yml@v1")


def test_a_fan_of_calls_is_checked_in_no_time_and_stopped_while_it_grows() -> None:
    """Eight levels of ten calls each are a hundred million jobs."""
    each = "on: workflow_call\njobs: {{{jobs}}}"
    called = {
        f"w{at}": each.format(jobs=", ".join(f"j{job}: {{uses: ./w{at + 1}.yml}}" for job in range(10)))
        for at in range(8)
    }
    called["w8"] = "on: workflow_call\njobs: {a: {STEPS}}"
    plan = refusable_plan("on: push\njobs: {a: {uses: ./w0.yml}}", called)
    assert not isinstance(plan, Refused)
    assert plan.workflow.jobs[0].uses == "./w0.yml"
