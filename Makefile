# Every target sets up what it needs in $(VENV) by itself; a stamp file there says what has been done.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

# Two busy numeric threads on two cores are slower than one.
export OMP_NUM_THREADS ?= 1
export CALIPERS_DATA   ?= ../shared/data

PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST  := $(BIN)/python -m pytest -q -n $(JOBS)
SCANNER := $(wildcard src/calipers/collection/*.pyx src/calipers/collection/*.pxd \
                      src/calipers/collection/*.hpp src/calipers/collection/*.h)

.PHONY: help demo check test bench lint typecheck compiled packaging dist clean

help:
	@echo "make demo    write a simulated collection, evaluate it from its files, print the table"
	@echo "make check   the quick core tests"
	@echo "make test    everything: lint, types, all tests, the wheel, every interpreter that is present"
	@echo "make bench   speed and memory against the other tools (benchmarks/results.md)"
	@echo "make lint    ruff and mypy"
	@echo "make clean   remove everything that was built"

demo: $(VENV)/.package
	$(BIN)/calipers demo

check: $(VENV)/.test
	$(PYTEST) --quick $$(cat tests/core.txt)

# The packaging tests are one group and keep one worker busy while the others go through the rest.
test: $(VENV)/.peers lint compiled
	HYPOTHESIS_PROFILE=ci $(PYTEST) --dist loadgroup --doctest-modules src tests

bench: $(VENV)/.peers compiled
	$(BIN)/python -m benchmarks $(BENCH)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/mypy

# An optional extension that fails to build leaves a package which works, slowly. Nobody would notice.
compiled: $(VENV)/.package
	@$(BIN)/python -c "from calipers.collection import _scanner; assert _scanner.COMPILED" \
	  || { echo "the scanner is not compiled: is there a C++17 compiler?" >&2; exit 1; }

packaging: $(VENV)/.test
	$(BIN)/python -m pytest -q -m packaging

dist: $(VENV)/.test
	$(BIN)/python -m build

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Without build isolation the pinned Cython of this venv is used, and a changed scanner is rebuilt in seconds.
$(VENV)/.package: $(VENV)/.made pyproject.toml setup.py src/calipers/_version.py $(SCANNER) requirements/build.txt requirements/constraints.txt
	$(PIP) install -r requirements/build.txt
	$(PIP) install --no-build-isolation -c requirements/constraints.txt -e .
	@touch $@

$(VENV)/.test: $(VENV)/.package requirements/test.txt
	$(PIP) install -r requirements/test.txt
	@touch $@

$(VENV)/.peers: $(VENV)/.test requirements/peers.txt
	$(PIP) install -r requirements/peers.txt
	@touch $@

clean:
	rm -rf $(VENV) .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/calipers/collection/_scanner.cpp src/calipers/collection/_scanner.c src/calipers/collection/_scanner*.so
