# The commands of a checkout. `make up` and `make test` prepare whatever they need; nothing has to be installed by hand
# but Python 3.11 with pip.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup up test check fmt sim bench docs clean

BIN := .venv/bin
VENDOR := src/ostler/server/static/vendor/manifest.json
SEEDS ?= 200
ARGS ?=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: .venv/.ready $(VENDOR) ## Make the checkout ready; a no-op when it is

.venv/.ready: pyproject.toml uv.lock package-lock.json hatch_build.py tools/setup tools/environment.sh
	@tools/setup

$(VENDOR): | .venv/.ready
	@$(BIN)/python hatch_build.py

up: setup ## Start server, agent and pages: http://127.0.0.1:7080 (ARGS="--port 8080")
	@exec $(BIN)/ostler up $(ARGS)

test: setup ## Run every test (ARGS="tests/unit -k lease")
	@$(BIN)/python -m tests.prepare
	@$(BIN)/python -m pytest $(ARGS)

check: setup ## Format, lint, types, import contracts, tidiness
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest -q tests/tidy

fmt: setup ## Format, apply safe fixes, write the generated reference pages
	@$(BIN)/ruff check --fix --quiet --exit-zero .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/python -m docs.generate

sim: setup ## Simulate SEEDS=200 seeded worlds; a failing one prints the command that replays it
	@$(BIN)/python -m ostler.testing.campaign --seeds $(SEEDS) $(ARGS)

bench: setup ## Measure against the goals and print the table
	@$(BIN)/python -m tests.bench $(ARGS)

docs: setup ## Write the reference pages and build the site into site/
	@$(BIN)/python -m docs.generate
	@[ -x $(BIN)/zensical ] || tools/setup docs
	@$(BIN)/zensical build --clean

clean: ## Remove everything that setup, tests and builds made
	rm -rf .venv .uv dist build site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf src/ostler/server/static/vendor tests/browser/vendor
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
