# Every target sets up .venv by itself; nothing but Python >= 3.11 and the package index is needed.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
CHECKS := check-format check-lint check-types check-layers check-lit

# What Python has compiled is kept: tests start a hundred processes that import the same files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs faults fuzz gpu-day mutants test test-all test-cuda checks $(CHECKS) format clean

demo: $(VENV)/.installed
	@$(BIN)/mini-infer demo

# All checks are run, whichever fails, on as many processes as there are cores; pytest's summary comes last but for
# complaints about types: pyright is one process, which runs beside all others. test-all runs the slow tests too, and
# checks kernels on an emulated GPU beside the CPU. A process that dies has its test's name reported and the others go on.
test-all: $(VENV)/.installed-ray $(VENV)/.installed-torch
test test-all: $(VENV)/.installed-dev
	@mkdir -p build; $(BIN)/pyright >build/types.txt 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory --keep-going --output-sync --jobs=2 $(filter-out check-types,$(CHECKS)); checks=$$?; \
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q --numprocesses=auto --dist=worksteal $(if $(filter test,$@),-m "not slow and not cuda",--gpu -m "not cuda"); tests=$$?; \
	wait $$types || { checks=1; cat build/types.txt; }; \
	test $$tests -eq 0 && exit $$checks

# What needs an NVIDIA GPU and CuPy; where there is none, each test says so and is skipped.
test-cuda: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -q -rs test/cuda

# All that is to be measured and checked where there is an NVIDIA GPU: docs/cuda.md. The same command goes on where it was
# cut. MODELS="FOLDER..." DAY="--parts models --limit 300" say of what, and which parts.
gpu-day: $(VENV)/.installed-dev
	@$(BIN)/python -m mini_infer.tools.bench.gpu_day $(addprefix --models ,$(MODELS)) $(DAY)

# Random graphs, broken files and hostile models; failing ones are kept in fuzz-found/.
# GRAPHS=5000 FILES=5000 SEED=1 JOBS=2 say how many, from which seed on, on how many processes.
fuzz: $(VENV)/.installed-dev
	@PYTHONPATH=.:test OPENBLAS_NUM_THREADS=1 $(BIN)/python -m fuzz $(if $(GRAPHS),--graphs $(GRAPHS)) \
	$(if $(FILES),--files $(FILES)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS))

# The pages that are made: docs/api.md from docstrings, docs/walkthrough.md from what its commands print.
docs: $(VENV)/.installed-dev
	@PYTHONPATH=.:test $(BIN)/python -m api_page
	@PYTHONPATH=.:test $(BIN)/python -m walkthrough_page

# Faults sown into GPU code, and how many of them each of the two emulations finds.
# FAULTS=200 SEED=1 say how many and which.
faults: $(VENV)/.installed-dev
	@PYTHONPATH=.:test $(BIN)/python -m faults $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED))

# Faults sown into the compiler's own code, and how many of them `make test` finds. FAULTS=150 SEED=1 as above.
mutants: $(VENV)/.installed-mutants
	@PYTHONPATH=.:test $(BIN)/python -m mutants $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED))

checks: $(CHECKS)

check-format: $(VENV)/.installed-dev
	@$(BIN)/ruff format --check --quiet --output-format concise .

check-lint: $(VENV)/.installed-dev
	@$(BIN)/ruff check --quiet --output-format concise .

check-types: $(VENV)/.installed-dev
	@$(BIN)/pyright

check-layers: $(VENV)/.installed-dev
	@$(BIN)/lint-imports --no-logo

check-lit: $(VENV)/.installed-dev
	@$(BIN)/lit -s test

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

# A cluster to test on, of this machine: only for all tests.
$(VENV)/.installed-ray: $(VENV)/.installed-dev
	@echo "installing Ray into $(VENV)"
	@$(PIP) install --editable '.[ray]'
	@touch $@

# PyTorch, whose modules are compiled: only for all tests. TORCH=torch==2.13.0+cpu chooses a build, which is smaller
# without what GPUs need.
$(VENV)/.installed-torch: $(VENV)/.installed-dev
	@echo "installing PyTorch into $(VENV)"
	@$(PIP) install --editable '.[torch]' $(TORCH)
	@touch $@

# What sows faults and notes which test runs which line.
$(VENV)/.installed-mutants: $(VENV)/.installed-dev
	@$(PIP) install --editable '.[mutants]'
	@touch $@
