# `make demo` and `make test` do all the set-up themselves; nothing is installed by hand.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell find src reproduction/peers -name '*.py')

.PHONY: demo test lint docs look links calibrate bench reproduce clean

# The demo needs the kernels of two models only; where all are compiled, none again.
demo: .venv/user $(if $(wildcard .venv/compiled),.venv/compiled,.venv/compiled-demo)
	$(BIN)/pasb demo

test: .venv/dev .venv/browser .venv/compiled lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"
	NUMBA_ENABLE_CUDASIM=1 $(BIN)/pytest -n 2 tests/engines/test_cuda_*.py tests/sampling/test_engine.py

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The website, in docs/_build/html. Warnings are errors.
docs: .venv/docs .venv/compiled
	$(BIN)/python docs/site/build.py

# Every page of the site in Chromium, wide and narrow, light and dark; pictures in docs/_build/shots.
look: docs .venv/browser
	$(BIN)/python docs/site/look.py --shots docs/_build/shots

# Links to other sites, which need a network. The build itself follows those within the site.
links: docs
	$(BIN)/python -m sphinx -q -b linkcheck docs/_build/source docs/_build/links

calibrate: .venv/dev .venv/compiled
	$(BIN)/python calibration/run.py --jobs 2
	$(BIN)/pytest -n 2 -m slow

bench: .venv/dev .venv/compiled .venv/peers/ready
	$(BIN)/python benchmarks/run.py

# The report of the paper's experiments, from the finished cells that are committed.
reproduce: .venv/dev
	$(BIN)/python -m reproduction report

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/user: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[plots]'
	touch $@

.venv/dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ .venv/user

.venv/docs: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@

# Reports are tested in Chromium. Where none can be had, those tests are skipped and say so.
.venv/browser: | .venv/dev
	command -v chromium || command -v google-chrome || $(BIN)/playwright install chromium \
	  || (apt-get update -qq && apt-get install -y -qq chromium) \
	  || echo "no Chromium: the tests of reports in a browser are skipped"
	touch $@

# PyMC and nutpie may need an older Numba than ours, so they have an environment of their own;
# where they do not install, their lines of the table say so.
.venv/peers/ready: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/peers
	-.venv/peers/bin/python -m pip install --quiet -e '.[peers]'
	touch $@

# Numba does not see that a function it inlined from another file has changed, so
# a change of any source drops the whole cache of compiled code.
.venv/compiled: $(SOURCES) | .venv/user
	find src reproduction -name '*.nb[ic]' -delete
	$(BIN)/python -m pasb.precompile --paper
	touch $@

.venv/compiled-demo: $(SOURCES) | .venv/user
	find src reproduction -name '*.nb[ic]' -delete
	$(BIN)/python -m pasb.precompile logistic softplus
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
