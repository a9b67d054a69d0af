import json
import re

import pytest

from ostler.actions.engine.matchers import BadMatcher, Matchers, TooSlow, in_time

ESLINT = {
    "owner": "eslint",
    "pattern": [
        {"regexp": r"^([^\s].*)$", "file": 1},
        {
            "regexp": r"^\s+(\d+):(\d+)\s+(error|warning|info)\s+(.*)\s\s+(.*)$",
            "line": 1,
            "column": 2,
            "severity": 3,
            "message": 4,
            "code": 5,
            "loop": True,
        },
    ],
}
GCC = {
    "owner": "gcc",
    "severity": "warning",
    "pattern": {"regexp": r"^(.+):(\d+):(\d+): (?<what>.*)$", "file": 1, "line": 2, "column": 3, "message": 4},
}


def matchers(*told: object) -> Matchers:
    made = Matchers()
    made.add(json.dumps({"problemMatcher": told}).encode())
    return made


def test_one_pattern() -> None:
    found = matchers(GCC).match("\x1b[1ma.c:3:14: \x1b[0mno semicolon")
    assert found is not None
    one = found.annotation
    assert (one.level, one.file, one.line, one.column, one.message) == ("warning", "a.c", 3, 14, "no semicolon")


def test_a_headline_serves_the_lines_below_it() -> None:
    on = matchers(ESLINT)
    lines = [
        "test.js",
        '  1:0   error  Missing "use strict" statement  strict',
        "  5:10  warning  'addOne' is defined but never used  no-unused-vars",
        "",
        "  9:9  error  belongs to no file  x",
    ]
    found = [on.match(line) for line in lines]
    assert [one is not None for one in found] == [False, True, True, False, False]
    assert found[1] is not None
    assert found[2] is not None
    assert (found[1].annotation.file, found[2].annotation.file) == ("test.js", "test.js")
    assert (found[1].annotation.level, found[2].annotation.level) == ("error", "warning")
    assert found[2].annotation.message == "'addOne' is defined but never used [no-unused-vars]"


def test_the_same_owner_replaces_and_is_removed() -> None:
    on = matchers(GCC, ESLINT)
    on.add(json.dumps({"problemMatcher": [{**GCC, "severity": "error"}]}).encode())
    assert sorted(on.owners) == ["eslint", "gcc"]
    found = on.match("a.c:1:1: m")
    assert found is not None
    assert found.annotation.level == "error"
    on.remove("GCC")
    on.remove("eslint")
    assert not on


BAD: list[object] = [
    {},
    {"problemMatcher": [{"owner": "a", "pattern": []}]},
    {"problemMatcher": [{"owner": "", "pattern": [{"regexp": "a", "message": 1}]}]},
    {"problemMatcher": [{"owner": "a", "pattern": [{"regexp": "(", "message": 1}]}]},
    {"problemMatcher": [{"owner": "a", "pattern": [{"regexp": "a"}]}]},
    {"problemMatcher": [{"owner": "a", "pattern": [{"regexp": "a", "message": 1, "loop": True}]}]},
    [],
]


@pytest.mark.parametrize("content", BAD, ids=[json.dumps(case) for case in BAD])
def test_bad_files_are_refused(content: object) -> None:
    with pytest.raises(BadMatcher):
        Matchers().add(json.dumps(content).encode())


def test_a_pattern_that_takes_for_ever_is_cut_off() -> None:
    with pytest.raises(TooSlow), in_time(0.02):
        re.search(r"^(a+)+$", "a" * 40 + "!")
