# The doors of a checkout. Each sets up what it needs by itself.

BIN := .venv/bin
READY := .venv/.ready
PAGE := src/regard/insight/page/index.html
WEB := $(shell find web/src web/public -type f) $(wildcard web/*.*)

.PHONY: setup demo page test check lock clean

setup: $(READY)

demo: $(READY)
	@$(BIN)/regard demo

# The explorer's page, from web/. Node is the machine's, or the one that comes with the locked dependencies.
page: $(PAGE)

$(PAGE): $(READY) $(WEB)
	@$(BIN)/python hatch_build.py build
	@touch $@

# Format, lint and types, then the tests, on two processes; REGARD_STRICT=1 makes failures of skips that need not be.
test: check $(PAGE)
	@$(BIN)/pytest --numprocesses 2 --cov --cov-report term:skip-covered

check: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/python hatch_build.py check test

$(READY): requirements.lock tests/networks.txt pyproject.toml tools/setup.sh
	@sh tools/setup.sh

# Write the lock file anew from pyproject.toml.
lock: $(READY)
	@sh tools/lock.sh

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist web/node_modules src/regard/insight/page
