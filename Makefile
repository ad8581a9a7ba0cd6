# Needs make and Python 3.11 or newer; everything else is installed into .venv on first use.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq
# The first that is new enough and can make a virtual environment is taken.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: demo test lint types format bench soak clean help

demo: $(VENV)/.runtime ## an agent that stops for an approval and goes on, without a network or a key
	@PATH="$(abspath $(BIN)):$$PATH" sh sample-agents/demo.sh

test: lint types ## lint, types and all tests
	$(BIN)/pytest -n auto

lint: $(VENV)/.dev ## style, and that imports point down
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

format: $(VENV)/.dev ## lay the code out, sort the imports
	$(BIN)/ruff check --select I --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev ## what commands cost, as ratios to a bare Python
	$(BIN)/python tests/bench/bench.py

soak: $(VENV)/.dev ## the tests that run long and often
	$(BIN)/pytest -n auto -m soak

clean: ## remove what building and testing left behind; .venv stays
	rm -rf dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find cli store tests sample-agents -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | while IFS='	' read -r name what; do \
		printf '  make %-8s %s\n' "$$name" "$$what"; \
	done

$(VENV)/.runtime: pyproject.toml
	@# An environment whose Python was moved or removed is made anew.
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		python=; \
		for each in $(PYTHONS); do \
			if "$$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
				python=$$each; \
				if "$$each" -c 'import ensurepip, venv' 2>/dev/null; then break; fi; \
			fi; \
		done; \
		if [ -z "$$python" ]; then \
			echo "make: no Python 3.11 or newer on PATH; name one: make PYTHON=/path/to/python3" >&2; exit 1; \
		fi; \
		if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
			echo "make: $$python cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; \
			exit 1; \
		fi; \
		echo "Making $(VENV) with $$($$python --version)"; \
		rm -rf $(VENV); "$$python" -m venv $(VENV); \
	fi
	@echo "Installing agentctl into $(VENV)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.runtime
	@echo "Installing what tests need into $(VENV)"
	@# Dependency groups need this pip.
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --group dev
	@touch $@
