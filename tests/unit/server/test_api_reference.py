"""The page ``/api`` names every call and is where the type of every problem leads to."""

import re

from ostler.protocol.problem import PROBLEMS, problem
from ostler.protocol.v1.table import ENDPOINTS
from ostler.server.pages.api_reference import reference_view
from ostler.server.pages.rendering import Renderer, environment
from ostler.server.pages.views import PageFrame

HTML = Renderer(environment()).page("api", PageFrame(title="API"), reference_view())


def test_every_call_is_there() -> None:
    assert [row.name for row in ENDPOINTS if f'id="call-{row.name}"' not in HTML] == []


def test_every_type_of_a_problem_leads_to_its_row() -> None:
    for code in PROBLEMS:
        path, _, anchor = problem(code).type.partition("#")
        assert path == "/api"
        assert f'<tr id="{anchor}">' in HTML


def test_every_link_on_the_page_leads_somewhere() -> None:
    identities = re.findall(r'\bid="([^"]+)"', HTML)
    assert len(identities) == len(set(identities))
    assert set(re.findall(r'href="#([^"]+)"', HTML)) <= set(identities)


def test_nothing_runs_or_is_drawn_from_elsewhere() -> None:
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', HTML)
    assert not re.findall(r"<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=", HTML)
