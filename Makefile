# Two commands on a fresh machine: make run, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Twice as many as the cores it is made for: many a test waits for a daemon.
WORKERS ?= 4
# As pip does with what it installs, except in place: hundreds of processes of the tests would each do it again.
COMPILE := $(BIN)/python -m compileall -q yaadwatch bridges
# The files of tests are in memory where that has 4 GB to spare, and programs may be run from it.
IN_MEMORY = $(shell { test -z "$$TMPDIR" && ! grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts && \
	test "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 4194304 && echo TMPDIR=/dev/shm; } 2>/dev/null)
# pytest keeps the test modules as it rewrites them; without that each worker does it again in each run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install run test test-agents bench truth soak format clean

install: $(INSTALLED)  ## a virtual environment with everything, and .venv/bin/yaadwatch

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable . --group dev
	$(COMPILE)
	touch $@

# With the home folder of an installed yaadwatch: its other commands, in another terminal, find it.
run: $(INSTALLED)  ## watch this checkout in the foreground; Ctrl-C ends it
	$(BIN)/yaadwatch up .

test: $(INSTALLED)  ## everything: layers, types, lint, laws, real processes
	$(COMPILE)
	$(IN_MEMORY) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-agents: $(INSTALLED)  ## real coding agents read what we write; installs them from npm
	YAAD_REQUIRE=npm $(BIN)/python -m pytest tests/e2e -k 'real_agents or connected_agents or transcript or codex_trusts'

bench: $(INSTALLED)  ## what it costs: medians, and ratios within one run
	$(BIN)/python -m tests.bench

truth: $(INSTALLED)  ## which false statements are found; writes the table of docs/truth.md
	$(BIN)/python -m tests.bench.drift --page

soak: $(INSTALLED)  ## the long forms: 2,000 examples a law, 100 kills, every combination
	YAAD_SOAK=1 $(IN_MEMORY) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --timeout 3600

format: $(INSTALLED)
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
