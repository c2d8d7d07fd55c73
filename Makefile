# Every target creates the environment it needs in .venv. `make help` lists the targets.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
export PYTHONHASHSEED := 0

# `make paper RESULTS=DIRECTORY` starts from an empty store, if the directory has no results.
RESULTS ?= docs/results
STORE ?= $(RESULTS)/paper.sqlite
REFERENCE ?= $(RESULTS)/reference.sqlite
JOBS ?= 2
SPLITS ?= 20

# One thread for linear algebra in each of the processes that run tests.
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

# Rows of the generated directory of `make test-large`.
LARGE_ROWS ?= 10000000

# What `make test-versions` runs: each Python with each set of dependencies.
PYTHONS ?= 3.11 3.12 3.13
SETS ?= oldest current pre

.PHONY: help demo test test-quick test-slow test-browser test-faults test-large test-versions fuzz \
	lint format bench paper beyond large docs dist audit clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

$(VENV)/bin/python:
	@echo "Creating $(VENV); the first installation takes a few minutes."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -qq --upgrade pip

$(VENV)/.study: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[study]"
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[dev]"
	@touch $@

$(VENV)/.browser: $(VENV)/.dev
	$(BIN)/pip install -qq -e ".[browser]"
	@touch $@

$(VENV)/.release: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq --group release
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -qq -e ".[docs]"
	@touch $@

demo: $(VENV)/.study  ## compare methods on a file of real data, fit a model, and write a page, all in the folder demo
	mkdir -p demo
	$(BIN)/raremetric datasets libras --export demo/libras.csv
	$(BIN)/raremetric compare demo/libras.csv --target class --positive 1 --folds 3 --jobs 2 -o demo/comparison.html
	$(BIN)/raremetric fit demo/libras.csv --target class --positive 1 -o demo/model.skops

# The generated cases run without coverage, which nearly doubles their time.
test: $(VENV)/.dev lint  ## run the linters, the fast tests with coverage, and the kernels without compilation
	$(PYTEST) -m "not slow and not browser and not fault" --ignore=tests/fuzz \
		--cov=raremetric --cov=paper --cov-report=
	$(PYTEST) -q tests/fuzz
	NUMBA_DISABLE_JIT=1 $(PYTEST) -q -m kernels --cov=raremetric --cov=paper --cov-append \
		--cov-report=term-missing:skip-covered

test-quick: $(VENV)/.dev  ## run the tests of the inner loop
	HYPOTHESIS_PROFILE=quick $(PYTEST) -q -m "not slow and not browser and not fault and not long"

test-slow: $(VENV)/.dev  ## run the slow tests
	$(PYTEST) -m slow

test-browser: $(VENV)/.browser  ## test the HTML pages in headless Chromium, which is installed if possible
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; } \
		|| { echo "Chromium is not installed, and this user cannot install it."; exit 1; }
	$(BIN)/python -m pytest -m browser tests/browser

test-faults: $(VENV)/.dev  ## kill commands, fill disks and break files, and check that nothing is lost
	$(BIN)/python -m pytest -m fault

# Needs 3 GB of disk space in the directory for temporary files.
test-large: $(VENV)/.dev  ## fit and predict LARGE_ROWS rows on two small workers, and kill one during each
	$(BIN)/python -m benchmarks.large_collection --rows $(LARGE_ROWS)

# Environments are kept in .venv-versions; uv creates them much faster than pip.
test-versions: $(VENV)/.release  ## run the fast tests on PYTHONS with the oldest, current and newest SETS
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/versions.py --pythons "$(PYTHONS)" --sets "$(SETS)"

fuzz: $(VENV)/.dev  ## run the generated cases of tests/fuzz, thousands for each estimator and reader
	HYPOTHESIS_PROFILE=nightly $(PYTEST) tests/fuzz

lint: $(VENV)/.dev  ## check style, types, the order of imports between packages, and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/.dev  ## fix style with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## compare speeds with other implementations
	$(BIN)/python benchmarks/run.py

# The results are kept in version control as text. A store that is missing is rebuilt from it.
define import_results
	@test -e $(1) || test ! -e $(1:.sqlite=.csv.gz) || \
		$(BIN)/raremetric study import $(1:.sqlite=.csv.gz) $(1)
endef

# What the store has is not run again: the target can be interrupted and repeated.
paper: $(VENV)/.study  ## run what is missing of the paper's experiments, then report
	$(call import_results,$(STORE))
	$(BIN)/raremetric study run paper/table2.toml paper/table3-smote.toml paper/table3-rus.toml \
		paper/ablation.toml paper/imbalance.toml --store $(STORE) --jobs $(JOBS) --splits $(SPLITS)
	$(BIN)/raremetric study export $(STORE) $(STORE:.sqlite=.csv.gz)
	$(BIN)/python -m paper --store $(STORE) --out $(RESULTS)
	$(call import_results,$(REFERENCE))
	$(BIN)/raremetric study run paper/table2.toml --learners IML,IML-reference \
		--datasets wine,hayes,newthyroid,glass --store $(REFERENCE) --jobs $(JOBS) --splits $(SPLITS)
	$(BIN)/raremetric study export $(REFERENCE) $(REFERENCE:.sqlite=.csv.gz)
	$(BIN)/python -m paper --store $(REFERENCE) --out $(RESULTS)/reference \
		--title "The fast solver and the reference solver"

beyond: STORE = $(RESULTS)/beyond.sqlite
beyond: $(VENV)/.study  ## run what is missing of RareClassifier against its alternatives, then report
	$(call import_results,$(STORE))
	$(BIN)/raremetric study run paper/beyond.toml --store $(STORE) --jobs $(JOBS) --splits $(SPLITS)
	$(BIN)/raremetric study run paper/rare-regime-*.toml --store $(STORE) --jobs $(JOBS)
	$(BIN)/raremetric study export $(STORE) $(STORE:.sqlite=.csv.gz)
	$(BIN)/python -m paper --store $(STORE) --out $(RESULTS)/beyond --title "Beyond the paper"

large: STORE = $(RESULTS)/large.sqlite
large: $(VENV)/.study  ## run what is missing of RareClassifier against its alternatives on large tables, then report
	$(call import_results,$(STORE))
	$(BIN)/raremetric study run paper/large-*.toml --store $(STORE) --jobs $(JOBS)
	$(BIN)/raremetric study export $(STORE) $(STORE:.sqlite=.csv.gz)
	$(BIN)/python -m paper --store $(STORE) --out $(RESULTS)/large --title "Large tables"

# From a clean state: a page that is not read again would not repeat its warnings.
docs: $(VENV)/.docs  ## build the HTML documentation in docs/_build, count its words and check its links
	rm -rf docs/_build docs/generated docs/gallery
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -d docs/generated/doctrees -b html \
		docs docs/_build
	$(BIN)/python tools/links.py docs/_build

dist: $(VENV)/.release  ## build the wheel and the sdist of the last commit, and test them as a user would
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/dist.py

audit: $(VENV)/.release  ## look for known vulnerabilities in the dependencies
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/audit.py

clean:  ## remove the environment and all generated files
	rm -rf $(VENV) .venv-versions dist docs/_build docs/generated docs/gallery .coverage* .pytest_cache .mypy_cache .ruff_cache
