# `make demo` and `make test` need Python 3.11 or later, and nothing else installed.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
BIN = $(VENV)/bin

# Without bytecode each of the thousands of processes that tests start would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test attacks fixtures pins docs conformance unfinished lint types coverage damage mutants fuzz fuzz-native lock sbom wheel check-dist clean

NATIVE = $(wildcard src/corpusfmt/*.hpp src/corpusfmt/*/*.hpp src/corpusfmt/*/_native.cpp src/corpusfmt/*/*/_native.cpp)

PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED = --require-hashes --requirement

# Installed once for each state of the project file, the locks and the native kernels.
$(VENV)/.runs: pyproject.toml setup.py locks/build.txt $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpusfmt needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(LOCKED) locks/build.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.develops: $(VENV)/.runs locks/dev.txt
	$(PIP) $(LOCKED) locks/dev.txt
	@touch $@

$(VENV)/.releases: $(VENV)/.develops locks/release.txt
	$(PIP) $(LOCKED) locks/release.txt
	@touch $@

## Build a corpus from the bundled WET sample, validate it, convert it, describe it.
demo: $(VENV)/.runs
	@$(BIN)/python pipeline/demo.py $(DEMO)

## Run every test; with CORPUSFMT_INSTALLS=1 also those that install from a package index.
test: $(VENV)/.develops
	$(BIN)/python -m pytest -n auto

## Run every attack on untrusted data, in full size.
attacks: $(VENV)/.develops
	CORPUSFMT_ATTACKS=1 CORPUSFMT_NESTED=100000 $(BIN)/python -m pytest -n auto tests/security

## Write the fixtures that their functions make; what no function makes is named, and nothing is written.
fixtures: $(VENV)/.develops
	@PYTHONPATH=tests $(BIN)/python -m fixtures.make

## Pin what users see of each finding of the fixtures and of each command: read the difference before you commit it.
pins: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m fixtures.pin

## Pack the fixtures as a conformance suite for other validators: dist/corpusfmt-conformance-VERSION.tar.gz.
conformance: $(VENV)/.develops
	@PYTHONPATH=tests $(BIN)/python -m fixtures.conformance dist

## Write the page of rules and the list of their codes.
docs: $(VENV)/.develops
	$(BIN)/python docs/make_rules.py

## Keep what an unfinished build and conversion leave on disk, once their CODE_FORMAT has been raised.
unfinished: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m golden.unfinished

lint: $(VENV)/.develops
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.develops
	$(BIN)/mypy

## Measure which lines and branches the tests run; fails below the floor in pyproject.toml.
coverage: $(VENV)/.develops
	$(BIN)/python -m pytest -n auto --cov=corpusfmt --cov-branch --cov-report=term:skip-covered --cov-report=html:build/coverage

## Damage valid data of each format in every known way, and count what is noticed.
DAMAGED ?= 5000
damage: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m damage.run --mutants $(DAMAGED)

## Change the code, one small thing at a time, and see whether a test fails. `make mutants MUTANTS=200` tries fewer.
MUTANTS ?= 1000
MUTANTS_SEED ?= 1
mutants: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m mutants.run --size $(MUTANTS) --seed $(MUTANTS_SEED)

## Mutate and mistreat inputs by the thousand: FUZZ_CASES of them, from number FUZZ_START on.
FUZZ_CASES ?= 100000
FUZZ_START ?= 0
FUZZ_SEED ?= 1
fuzz: $(VENV)/.develops
	CORPUSFMT_FUZZ=5000 $(BIN)/python -m pytest -n auto tests -k mutation
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --cases $(FUZZ_CASES) --start $(FUZZ_START) --seed $(FUZZ_SEED)

## Run each native kernel under AddressSanitizer and UBSan on odd and damaged inputs for FUZZ_SECONDS; where Clang has
## libFuzzer, as long again on what that comes up with, led by coverage. What it keeps for the next time is in build/fuzz.
FUZZ_SECONDS ?= 60
CLANG ?= clang++
CHECKED = -std=c++17 -O1 -g -ffp-contract=off -fno-sanitize-recover=all
SANITIZED = $(CXX) $(CHECKED) -fsanitize=address,undefined
GUIDED = $(CLANG) $(CHECKED) -fsanitize=fuzzer,address,undefined -DCORPUSFMT_LIBFUZZER
FUZZED = $(patsubst tests/%/fuzz_native.cpp,%,$(wildcard tests/*/fuzz_native.cpp))
HAS_LIBFUZZER = echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' | $(GUIDED) -x c++ - -o build/fuzz/.probe

fuzz-native: $(FUZZED:%=fuzz-native-%)

$(FUZZED:%=fuzz-native-%): fuzz-native-%: build/fuzz/%
	$< $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ_FILES)
	@if $(HAS_LIBFUZZER) 2>/dev/null; then $(MAKE) --no-print-directory fuzz-guided-$*; \
	else echo "not led by coverage: \`$(CLANG)\` makes no programs with libFuzzer here"; fi

$(FUZZED:%=fuzz-guided-%): fuzz-guided-%: build/fuzz/%-guided build/fuzz/%
	@mkdir -p build/fuzz/$*-seeds build/fuzz/$*-corpus
	build/fuzz/$* seeds build/fuzz/$*-seeds $(FUZZ_FILES)
	$< -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) -max_len=65536 -timeout=20 $(FUZZ_OPTIONS) -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/$*- build/fuzz/$*-corpus build/fuzz/$*-seeds >build/fuzz/$*.log 2>&1 || { cat build/fuzz/$*.log; exit 1; }
	@echo "led by coverage: $$(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/$*.log) inputs, $$(ls build/fuzz/$*-corpus | wc -l) kept: nothing found"

$(FUZZED:%=build/fuzz/%): build/fuzz/%: tests/%/fuzz_native.cpp tests/fuzzing.hpp $(NATIVE)
	@mkdir -p $(@D)
	$(SANITIZED) $< -o $@

$(FUZZED:%=build/fuzz/%-guided): build/fuzz/%-guided: tests/%/fuzz_native.cpp tests/fuzzing.hpp $(NATIVE)
	@mkdir -p $(@D)
	$(GUIDED) $< -o $@

# Damaged models ask for more memory than there is.
fuzz-native-langid fuzz-guided-langid: export ASAN_OPTIONS = allocator_may_return_null=1
fuzz-native-langid fuzz-guided-langid: FUZZ_FILES = build/fuzz/*.model
fuzz-native-langid fuzz-guided-langid: build/fuzz/.models
fuzz-guided-langid: FUZZ_OPTIONS = -malloc_limit_mb=1048576

build/fuzz/.models: tests/langid/fasttext_writer.py
	@mkdir -p $(@D)
	$(PYTHON) $< $(@D)
	@touch $@

## Pin what is installed, with hashes, for every Python and platform: `run` is what the Action installs, `build` the demo.
lock: $(VENV)/.releases
	$(BIN)/python locks/make_locks.py

## Write a CycloneDX bill of materials of what users install, without and with `[build]`.
sbom: $(VENV)/.releases
	$(BIN)/python locks/make_sbom.py dist

wheel: $(VENV)/.releases
	rm -rf dist
	$(BIN)/python -m build --no-isolation

## Check the packages in `dist`; with TAG=v1.2.3 also that they are those of this release.
check-dist: $(VENV)/.releases
	$(BIN)/python locks/check_dist.py dist $(TAG)

clean:
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
