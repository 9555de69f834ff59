# Every target sets up .venv by itself; nothing but Python >= 3.11 and the package index is needed.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

.PHONY: demo test test-all format clean

demo: $(VENV)/.installed
	@$(BIN)/mini-infer demo

# The quick checks first; pytest's summary is the last line.
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory static
	@$(BIN)/python -m pytest -q -m "not slow"

test-all: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory static
	@$(BIN)/python -m pytest -q

.PHONY: static
static: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/lit -sv test

format: $(VENV)/.installed-dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist *.egg-info .lit .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# What running needs, and on top of it what checking needs: made again when pyproject.toml changes.
$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed; name it with PYTHON=..." >&2; exit 1; }
	@echo "setting up $(VENV)"
	@"$(PYTHON)" -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the development tools into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@touch $@
