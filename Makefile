# Everything a newcomer needs: `make demo` and `make test` set up their own environment in .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
export PYTHONHASHSEED := 0

.PHONY: help demo test test-slow lint format bench docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/bin/python:
	@echo "Setting up $(VENV); the first installation takes a few minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --upgrade pip

$(VENV)/.study: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[study]"
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[dev]"
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[docs]"
	@touch $@

demo: $(VENV)/.study  ## learn a metric on real data, print the gain, draw the neighbourhoods
	$(BIN)/python examples/demo.py

test: $(VENV)/.dev lint  ## lint, then all fast tests with coverage, then the kernels uncompiled
	$(BIN)/python -m pytest -m "not slow" --cov=raremetric --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m kernels --cov=raremetric --cov-append \
		--cov-report=term-missing:skip-covered

test-slow: $(VENV)/.dev  ## the tests too slow for every commit
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.dev  ## style, types, spelling, and the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/.dev  ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## ratios of speed, side by side in one run
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.docs  ## the HTML documentation in docs/_build
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) docs/_build docs/generated demo .coverage* .pytest_cache .mypy_cache .ruff_cache
