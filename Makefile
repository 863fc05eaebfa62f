# `make demo` and `make test` need Python 3.11 or later, and nothing else installed.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
BIN = $(VENV)/bin

.PHONY: demo test lint types fuzz fuzz-native wheel clean

NATIVE = $(wildcard src/corpusfmt/*.hpp src/corpusfmt/*/*.hpp src/corpusfmt/*/_native.cpp src/corpusfmt/*/*/_native.cpp)

# Installed once for each state of the project file and the native kernels.
$(VENV)/.runs: pyproject.toml setup.py $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpusfmt needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[build]'
	@touch $@

$(VENV)/.develops: $(VENV)/.runs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

## Build a corpus from the bundled WET sample, validate it, convert it, describe it.
demo: $(VENV)/.runs
	@$(BIN)/python pipeline/demo.py $(DEMO)

## Run every test.
test: $(VENV)/.develops
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.develops
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.develops
	$(BIN)/mypy

## Mutate and mistreat inputs by the thousand.
fuzz: $(VENV)/.develops
	CORPUSFMT_FUZZ=5000 $(BIN)/python -m pytest -n auto tests -k mutation

## Run each native kernel under AddressSanitizer and UBSan on odd and damaged inputs for FUZZ_SECONDS.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 1
SANITIZED = $(CXX) -std=c++17 -O1 -g -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZED = $(patsubst tests/%/fuzz_native.cpp,%,$(wildcard tests/*/fuzz_native.cpp))

fuzz-native: $(FUZZED:%=fuzz-native-%)

$(FUZZED:%=fuzz-native-%): fuzz-native-%: build/fuzz/%
	$< $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ_FILES)

$(FUZZED:%=build/fuzz/%): build/fuzz/%: tests/%/fuzz_native.cpp tests/fuzzing.hpp $(NATIVE)
	@mkdir -p $(@D)
	$(SANITIZED) $< -o $@

# Damaged models ask for more memory than there is.
fuzz-native-langid: export ASAN_OPTIONS = allocator_may_return_null=1
fuzz-native-langid: FUZZ_FILES = build/fuzz/*.model
fuzz-native-langid: build/fuzz/.models

build/fuzz/.models: tests/langid/fasttext_writer.py
	@mkdir -p $(@D)
	$(PYTHON) $< $(@D)
	@touch $@

wheel: $(VENV)/.develops
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
