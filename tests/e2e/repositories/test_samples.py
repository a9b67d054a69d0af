"""Workflows as teams have them already: the sample of a Node.js project, and one over two pools of machines."""

import shutil

import pytest

from tests.e2e.repositories.conftest import Repository
from tests.parts.installation import Installation

_NODE = """\
name: Node.js CI
on: [push, pull_request, workflow_dispatch]
jobs:
  build:
    runs-on: [self-hosted, linux, node]
    steps:
      - uses: actions/checkout@v3
      - name: Install dependencies
        run: npm install
      - name: Run tests
        run: npm test
"""
_PACKAGE = '{"name": "sample", "version": "1.0.0", "private": true, "scripts": {"test": "node test.js"}}'
_HYBRID = """\
on: workflow_dispatch
jobs:
  generic:
    runs-on: ubuntu-latest
    outputs: {version: "${{ steps.v.outputs.version }}"}
    steps: [{id: v, run: 'echo "version=7" >> "$GITHUB_OUTPUT"'}]
  sensitive:
    needs: generic
    runs-on: {group: vault, labels: [inside]}
    steps: [{run: 'echo "$RUNNER_NAME deploys ${{ needs.generic.outputs.version }}"'}]
"""


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not there: apt-get install npm")
def test_the_sample_of_a_node_project_runs_unchanged(site: Installation, repository: Repository) -> None:
    site.agent("with-node", labels="linux,node").connected()
    bare = repository("sample-node", {"ci.yml": _NODE})
    bare.commit({"package.json": _PACKAGE, "test.js": 'console.log("sample passed");\n'})
    done = site.ostler("workflow", "run", "ci.yml", "--repository", "sample-node", "--watch")
    assert done.status == 0, done.out + done.err
    assert "sample passed" in done.out


def test_one_workflow_uses_hosted_and_own_machines(site: Installation, repository: Repository) -> None:
    site.ostler("pool", "create", "vault")  # there already when a test is run once more
    site.agent("in-the-vault", pool="vault", labels="inside").connected()
    repository("hybrid", {"ci.yml": _HYBRID})
    done = site.ostler("workflow", "run", "ci.yml", "--repository", "hybrid", "--watch")
    assert done.status == 0, done.out + done.err
    assert "in-the-vault deploys 7" in done.out
