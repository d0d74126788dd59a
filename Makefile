# make run    try vaultd on a sample vault in demo/
# make test   all checks and tests
# Needs Python 3.11 or newer; PYTHON=/path/to/python3 names another than the first that is found.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
DEMO ?= demo
PORT ?= 8000
NOTES ?= 10000

.DEFAULT_GOAL := help
.PHONY: docs help run test check mcp-check bench soak torture screenshots clean plugin

help:
	@sed -n 's/^# //p' Makefile | head -2
	@echo 'make check  linters, types and layers only'
	@echo 'make mcp-check  the MCP conformance suite, the inspector and real agents (needs npm)'
	@echo 'make bench  measure starts, the road and questions with NOTES (10000) notes, beside a scan of the files; and peers'
	@echo 'make screenshots  pictures of the dashboard, into docs/images'
	@echo 'make soak   random operations, index and rebuild compared; kill -9; git between three clones (an hour)'
	@echo 'make torture  a vault with one file per hazard, the heavy ones too'
	@echo 'make docs   the documentation as a site; a dead link fails'
	@echo 'make plugin lint, test and build the Obsidian plugin; needs Node 20 or newer'

run: .venv/run.stamp
	@$(BIN)/vaultd demo $(DEMO) --port $(PORT)

test: check
	@$(BIN)/pytest -n auto

check: .venv/dev.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy --platform win32
	@$(BIN)/lint-imports --no-logo

mcp-check: .venv/dev.stamp
	@$(BIN)/python -m tests.conformance.check $(ARGS)

bench: .venv/dev.stamp
	@$(BIN)/python bench/start_time.py
	@$(BIN)/python -m bench.road --notes $(NOTES)
	@$(BIN)/python -m bench.question --notes $(NOTES)
	@if [ -n "$(HARNESS)" ]; then $(BIN)/python -m bench.peers --harness $(HARNESS) --base $(BASE) --out $(OUT) $(PEERS); \
	else echo 'Peers are measured too where HARNESS, BASE and OUT name folders: see bench/README.md'; fi

soak: .venv/dev.stamp
	@$(BIN)/python bench/soak.py --operations 10000
	@$(BIN)/python bench/kill.py --kills 300
	@$(BIN)/python bench/git_sync.py --steps 1000
	@$(BIN)/python bench/storm.py --notes 10000

torture: .venv/dev.stamp
	@$(BIN)/python bench/torture.py

plugin: obsidian-plugin-stub/node_modules .venv/dev.stamp
	@cd obsidian-plugin-stub && npm run --silent types && npm run --silent lint && npm run --silent test
	@scripts/build_plugin.sh
	@$(BIN)/pytest tests/test_plugin_build.py tests/e2e/test_plugin_contract.py

obsidian-plugin-stub/node_modules: obsidian-plugin-stub/package-lock.json
	@npm ci --prefix obsidian-plugin-stub --ignore-scripts --no-progress
	@touch $@

screenshots: .venv/dev.stamp
	@$(BIN)/python scripts/screenshots.py

clean:
	rm -rf .venv $(DEMO)

.venv/python.stamp:
	@test -n "$(PYTHON)" || { echo 'vaultd needs Python 3.11 or newer; name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo 'Python lacks venv; on Debian: apt install python3-venv' >&2; exit 1; }
	@echo 'Making .venv'
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/run.stamp: .venv/python.stamp pyproject.toml
	@echo 'Installing vaultd into .venv (once; takes a few minutes)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev.stamp: .venv/run.stamp pyproject.toml
	@echo 'Installing what tests and checks need'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

docs: .venv/dev.stamp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
