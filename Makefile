# Everything works on a machine with Python >= 3.11, make and git: each target makes its own environment first.
PYTHON ?= python3
VENV ?= .venv
LOWEST ?= .venv-lowest
DIST ?= .venv-dist
ECOSYSTEM ?= .venv-ecosystem
MLFLOW ?= .venv-mlflow
BIN := $(VENV)/bin
KERNEL := $(wildcard src/labelwise/_engine/*.[ch])
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# the first with --group is 25.1
PIP_VERSION := 26.3
PIP := $(BIN)/python $(PIP_INSTALL) -c constraints.txt
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := -m pytest -n 2 --dist worksteal
# Bytecode of the tests and of the library is kept even where the environment asks for none: both
# workers, and every process that a test starts, would compile all of it again.
TESTING := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE=

.PHONY: demo docs page test test-baseline test-lowest test-ecosystem lint types dist peers bench bench-quick fuzz clean help

help:
	@echo "make demo    real predictions as tables and as a page to explore, report.html"
	@echo "make test    the whole test suite, of the library and of the lab"
	@echo "make test-baseline   the same with the plainest instructions of the processor, for results that depend on the machine"
	@echo "make test-lowest     the same on Python 3.11 with the lowest version of every library (not of torch), in an environment of its own"
	@echo "make test-ecosystem  with real xgboost, lightgbm, catboost, transformers, ONNX Runtime, Keras, flax, laplace-torch, MONAI, Lightning and so on, in environments of their own"
	@echo "make lint    style, types and workflows; of the report's page too, if npm is there (make page)"
	@echo "make docs    the documentation site, build/docs/html/index.html, with executed tutorials and notebooks; no network once installed"
	@echo "make dist    source distributions and wheels of both packages in dist/, checked: contents, tags, sizes, tests, an installation"
	@echo "make bench   speed and memory beside plain formulas, and their growth; writes benchmarks/RESULTS.md (25 minutes on an idle machine); ARGS=--processors: each kernel"
	@echo "make bench-quick     the same table on fewer instances, printed (two minutes); ARGS=\"--only Dirichlet\""
	@echo "make fuzz    20,000 damaged predictions, costs and events; ARGS=\"--seed 1 --files 2000 --only csv\""

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("labelwise needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt setup.py $(KERNEL)
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml lab/pyproject.toml constraints.txt setup.py $(KERNEL)
	$(BIN)/python $(PIP_INSTALL) pip==$(PIP_VERSION)
	$(PIP) -e . -e lab --group dev
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/python -m labelwise demo -o report.html

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --group docs
	@touch $@

# any warning is an error: broken links, docstrings that do not parse, tutorials whose output changed
docs: $(VENV)/.docs
	rm -rf build/docs
	$(ONE_THREAD) $(BIN)/python -m sphinx -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/html
	LABELWISE_SITE=build/docs/html $(BIN)/python -m pytest -q tests/docs/built_site.py
	@echo "build/docs/html/index.html"

test: $(VENV)/.dev
	$(TESTING) $(BIN)/python $(PYTEST) $(ARGS)

test-baseline: $(VENV)/.dev
	$(TESTING) $(BIN)/python .ci/lowest_dispatch.py $(BIN)/python $(PYTEST) $(ARGS)

$(LOWEST)/.dev: pyproject.toml constraints.txt setup.py $(KERNEL) .ci/lowest_versions.py
	python3.11 -m venv $(LOWEST)
	$(LOWEST)/bin/python $(PIP_INSTALL) pip==$(PIP_VERSION)
	$(LOWEST)/bin/python .ci/lowest_versions.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python $(PIP_INSTALL) -c $(LOWEST)/constraints.txt -e . -e lab --group dev
	@touch $@

test-lowest: $(LOWEST)/.dev
	$(TESTING) $(LOWEST)/bin/python $(PYTEST) $(ARGS)

$(ECOSYSTEM)/.dev: pyproject.toml constraints.txt setup.py $(KERNEL) $(wildcard tests/ecosystem/*.txt)
	$(PYTHON) -m venv $(ECOSYSTEM)
	$(ECOSYSTEM)/bin/python $(PIP_INSTALL) pip==$(PIP_VERSION)
	$(ECOSYSTEM)/bin/python $(PIP_INSTALL) -c constraints.txt -e . -e lab --group dev -r tests/ecosystem/requirements.txt
	$(ECOSYSTEM)/bin/python $(PIP_INSTALL) --no-deps -r tests/ecosystem/requirements-no-deps.txt
	$(PYTHON) -m venv $(MLFLOW)
	$(MLFLOW)/bin/python $(PIP_INSTALL) -e . -r tests/ecosystem/requirements-mlflow.txt
	@touch $@

# warnings are those of the libraries
test-ecosystem: $(ECOSYSTEM)/.dev
	$(ONE_THREAD) $(ECOSYSTEM)/bin/python -m pytest -W default tests/ecosystem --ignore tests/ecosystem/test_mlflow.py $(ARGS)
	$(ONE_THREAD) $(MLFLOW)/bin/python -m pytest -W default tests/ecosystem/test_mlflow.py $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline .github/workflows
	$(MAKE) types page

# The app inside the report is built from page/ and committed; this checks its style, types and tests, and that it is what its source builds.
page:
	@if command -v npm > /dev/null; then \
	  { [ -d page/node_modules/axe-core ] || npm ci --prefix page --no-audit --no-fund --loglevel=error; } \
	  && npm run --silent --prefix page check && npm run --silent --prefix page build -- --check; \
	else echo "npm is not installed: page/ is not checked"; fi

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy tests/typing
	$(BIN)/pyright -p pyproject.toml --pythonpath $(BIN)/python

$(DIST)/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python $(PIP_INSTALL) pip==$(PIP_VERSION)
	$(DIST)/bin/python $(PIP_INSTALL) -c constraints.txt --group dist
	@touch $@

# The wheel is built from the source distribution, in an environment of its own. Only Linux has tags to be repaired.
dist: $(DIST)/.dev
	rm -rf dist
	LABELWISE_BUILD=strict $(DIST)/bin/python -m build --outdir dist/built .
	$(DIST)/bin/python -m build --outdir dist/lab lab
	mv dist/built/*.tar.gz dist
	PATH="$(abspath $(DIST)/bin):$$PATH" $(DIST)/bin/auditwheel repair --wheel-dir dist dist/built/*.whl
	rm -r dist/built
	$(DIST)/bin/validate-pyproject pyproject.toml lab/pyproject.toml
	$(DIST)/bin/twine check --strict dist/*.* dist/lab/*
	$(DIST)/bin/check-wheel-contents dist/*.whl dist/lab/*.whl
	$(DIST)/bin/abi3audit --strict --summary dist/*.whl
	$(PYTHON) .ci/check_dist.py dist $(ARGS)

# what labelwise is compared with, without its dependencies: only single files of it are used
$(VENV)/.peers: $(VENV)/.dev
	$(PIP) --target $(VENV)/peers --no-deps --upgrade --ignore-requires-python torch-uncertainty==0.13.0 torchmetrics==1.9.0 lightning-utilities==0.15.3 probly==0.9.1 uq360==0.2
	@touch $@

peers: $(VENV)/.peers

bench: $(VENV)/.peers
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-quick: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py --quick $(ARGS)

fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz $(ARGS)

clean:
	rm -rf $(VENV) $(LOWEST) $(DIST) $(ECOSYSTEM) $(MLFLOW) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis src/*.egg-info lab/src/*.egg-info
