# The doors of a checkout. Each sets up what it needs by itself.

BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo test check lock clean

setup: $(READY)

demo: $(READY)
	@$(BIN)/regard demo

# Format, lint and types, then the tests, on two processes; REGARD_STRICT=1 makes failures of skips that need not be.
test: check
	@$(BIN)/pytest --numprocesses 2 --cov --cov-report term:skip-covered

check: $(READY)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright

$(READY): requirements.lock pyproject.toml tools/setup.sh
	@sh tools/setup.sh

# Write the lock file anew from pyproject.toml.
lock: $(READY)
	@sh tools/lock.sh

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
