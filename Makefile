# `make demo` and `make test` need only Python 3.11 or later.
PYTHON ?= python3
VENV ?= .venv
DEMO ?= demo
DIST ?= dist
PYTHONS ?= $(PYTHON)
BIN = $(VENV)/bin

# Without bytecode, each of the thousands of processes that tests start would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test deep action-test attacks flips kills mlcroissant hub neighbours compared release-test bench counts benchmarks-test browser screenshots remote-test engines-test cluster-test terminal-test fixtures pins rules docs snippets conformance unfinished parts-test lint types coverage damage mutants fuzz fuzz-native lock sbom release try-release size wheel check-dist clean

NATIVE = $(wildcard src/corpusfmt/*.hpp src/corpusfmt/*/*.hpp src/corpusfmt/*/_native.cpp src/corpusfmt/*/*/_native.cpp)

# Modules are compiled where they are imported: most never are.
INSTALL = -m pip install --quiet --disable-pip-version-check --no-compile
PIP = $(BIN)/python $(INSTALL)
LOCKED = --require-hashes --requirement

# Makes the environment in the folder of a target, from the lock that the target names first.
define ENVIRONMENT
$(PYTHON) -m venv $(@D)
$(@D)/bin/python $(INSTALL) $(LOCKED) $<
endef

# Reinstalled when the project file, the locks or the native kernels change.
$(VENV)/.runs: pyproject.toml setup.py locks/build.txt $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "corpusfmt needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(LOCKED) locks/build.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.develops: $(VENV)/.runs locks/dev.txt
	$(PIP) $(LOCKED) locks/dev.txt
	@touch $@

$(VENV)/.releases: $(VENV)/.runs locks/release.txt
	$(PIP) $(LOCKED) locks/release.txt
	@touch $@

## Build a corpus from the bundled WET sample, validate it, convert it, describe it.
demo: $(VENV)/.runs
	@$(BIN)/python pipeline/demo.py $(DEMO)

## Run the tests.
test: $(VENV)/.develops
	$(BIN)/python -m pytest -n auto

# Each worker imports all modules that it is given: not more than have such tests.
## Run what `make test` leaves out: all cases where it takes some.
deep: $(VENV)/.develops
	CORPUSFMT_DEEP=1 $(BIN)/python -m pytest -n auto --dist worksteal -m deep $$(grep -rl --include 'test_*.py' 'every(\|mark\.deep' tests)

# What runs corpusfmt: Neovim and pre-commit, in an environment of their own.
HOSTS ?= build/hosts
$(HOSTS)/.installed: locks/hosts.txt
	$(ENVIRONMENT)
	@touch $@

## Run the Action with its own installation, and the hook in pre-commit, from a package index.
action-test: $(VENV)/.develops $(HOSTS)/.installed
	CORPUSFMT_ACTION=1 CORPUSFMT_PRE_COMMIT=$(abspath $(HOSTS))/bin/pre-commit $(BIN)/python -m pytest tests/test_gate.py -k "installs_itself or pre_commit"

## Run every attack on untrusted data, in full size.
attacks: $(VENV)/.develops
	CORPUSFMT_ATTACKS=1 CORPUSFMT_NESTED=100000 $(BIN)/python -m pytest -n auto --dist worksteal tests/security

## Flip one bit in the state or the output of an unfinished run, FLIPS times, and resume the run.
FLIPS ?= 200
flips: $(VENV)/.develops
	CORPUSFMT_FLIPS=$(FLIPS) $(BIN)/python -m pytest -n auto tests/golden/test_flipped_bits.py

## Kill commands, or one of their workers, at KILLS random moments, run them again, and compare what they write with undisturbed runs.
KILLS ?= 200
kills: $(VENV)/.develops
	CORPUSFMT_DEEP=1 CORPUSFMT_RANDOM_KILLS=$(KILLS) CORPUSFMT_RAY=$(addsuffix /bin/python,$(abspath $(dir $(wildcard $(RAY)/.installed)))) $(BIN)/python -m pytest -n auto tests/runs/test_kills.py

## Divide the validation of every fixture into parts and join them; keep its results and use them again.
parts-test: $(VENV)/.develops
	CORPUSFMT_PARTS=1 $(BIN)/python -m pytest -n auto tests/shards -k "any_order or every_output"

## Test properties with PROPERTIES times as many examples as `make test`, and others every time, from the seed that is printed.
PROPERTIES ?= 10
PROPERTIES_SEED ?= $(shell $(PYTHON) -c 'import random; print(random.randrange(2**32))')
properties: $(VENV)/.develops
	CORPUSFMT_PROPERTIES=$(PROPERTIES) $(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-seed=$(PROPERTIES_SEED) $$(grep -rl --include 'test_*.py' '@given' tests)

## Load what `describe` and `fix` write with mlcroissant, in its own environment, and compare the records.
MLCROISSANT ?= build/mlcroissant
$(MLCROISSANT)/.installed: locks/mlcroissant.txt
	$(ENVIRONMENT)
	@touch $@

mlcroissant: $(VENV)/.develops $(MLCROISSANT)/.installed
	CORPUSFMT_DEEP=1 CORPUSFMT_MLCROISSANT=$(abspath $(MLCROISSANT))/bin/python $(BIN)/python -m pytest -n auto -k "mlcroissant or elsewhere" tests/description/test_mlcroissant.py tests/croissant/test_fix.py tests/croissant/test_errata.py tests/documentation/test_elsewhere.py

## Load what `build` and `convert` write with `datasets`, in its own environment, and compare the rows; and check that the
## profile `hub` says of generated folders what `datasets` does with them.
HUB ?= build/hub
$(HUB)/.installed: locks/hub.txt
	$(ENVIRONMENT)
	@touch $@

hub: $(VENV)/.develops $(HUB)/.installed
	CORPUSFMT_HUB=$(abspath $(HUB))/bin/python $(BIN)/python -m pytest -n auto tests/hub tests/documentation/test_elsewhere.py

## Run the page that compares: all tools on the same inputs, each in the environment that has it.
COMPARED ?= build/compared
$(COMPARED)/.installed: locks/compared.txt
	$(ENVIRONMENT)
	@touch $@

compared: $(VENV)/.develops $(COMPARED)/.installed $(MLCROISSANT)/.installed $(HUB)/.installed
	CORPUSFMT_REMOTE=1 CORPUSFMT_COMPARED=$(abspath $(COMPARED))/bin/python CORPUSFMT_MLCROISSANT=$(abspath $(MLCROISSANT))/bin/python \
	  CORPUSFMT_HUB=$(abspath $(HUB))/bin/python $(BIN)/python -m pytest -n auto -k compared-with tests/documentation/test_elsewhere.py

## Run the steps of the workflow that makes a release, in a clone.
release-test: $(VENV)/.develops
	CORPUSFMT_RELEASE=1 $(BIN)/python -m pytest tests/test_meta.py -k steps_of_a_release

## Run the tests of contracts with the newest releases of the libraries that they touch, together in an environment of their own, and print the versions.
NEIGHBOURS ?= build/neighbours
NEAR = datasets distributed fsspec huggingface_hub mlcroissant model-signing numpy pyarrow pyld ray rdflib s3fs typer warcio
neighbours: $(VENV)/.releases
	$(PYTHON) -m venv --clear $(NEIGHBOURS)
	$(BIN)/python -m uv pip install --quiet --upgrade --python $(NEIGHBOURS)/bin/python --editable '.[dev]' $(NEAR) datatrove duckdb orjson pandas pillow polars zstandard
	@$(NEIGHBOURS)/bin/python -c 'import sys; from importlib.metadata import version as of; print(*(f"{each} {of(each)}" for each in sys.argv[1:]), sep="\n")' $(NEAR)
	near=$(abspath $(NEIGHBOURS))/bin/python; CORPUSFMT_HUB=$$near CORPUSFMT_MLCROISSANT=$$near CORPUSFMT_RAY=$$near CORPUSFMT_REMOTE=1 \
	  $$near -m pytest -n auto --dist loadfile tests/hub tests/engines tests/parquet tests/remote/test_hub.py tests/remote/test_s3.py tests/description/test_mlcroissant.py \
	  tests/croissant/test_errata.py tests/croissant/test_expand.py tests/croissant/test_rdf.py tests/pipeline/test_wet.py tests/release/test_signatures.py tests/cli/test_usage.py

## Pin which packages commands import, and their fsyncs. Read the diff before you commit it.
counts: $(VENV)/.develops
	CORPUSFMT_PIN_COUNTS=1 $(BIN)/python -m pytest -q tests/counts

## Run the benchmarks, or the pieces ONLY=start,convert, against the peers that can be had; write the tables and plots of docs/performance.md.
## SCALE=0.1 takes a tenth of the data, ROUNDS=2 runs each contender twice, LARGEST=10000 draws the plots up to 10 GB.
PEERS ?= build/peers
SCALE ?= 1
LARGEST ?= 1000
$(PEERS)/.installed: locks/peers.txt
	$(ENVIRONMENT)
	@touch $@

bench: $(VENV)/.develops
	@for each in $(PEERS) $(MLCROISSANT); do \
	  $(MAKE) --no-print-directory $$each/.installed || echo "not compared with what cannot be installed into $$each"; done
	@for each in gzip igzip pigz; do command -v $$each >/dev/null || echo "not compared with $$each (Debian: apt-get install isal pigz)"; done
	$(BIN)/python benchmarks/suite.py --only "$(ONLY)" --scale $(SCALE) --largest $(LARGEST) $(if $(ROUNDS),--rounds $(ROUNDS)); \
	  status=$$?; $(BIN)/python benchmarks/page.py && exit $$status

## Use the HTML report, the datasheet and the page that validates in Chromium: filters, accessibility, all descriptions of the fixtures. Without Chromium or the package axe-core it says so.
BROWSER ?= build/browser
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
AXE = axe-core-4.14.1.tgz
AXE_SHA256 = e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
$(BROWSER)/.installed: locks/browser.txt $(BROWSER)/$(AXE)
	$(ENVIRONMENT)
	echo "$(AXE_SHA256)  $(BROWSER)/$(AXE)" | sha256sum --check --quiet
	tar -xzf $(BROWSER)/$(AXE) -C $(BROWSER)
	@touch $@

$(BROWSER)/$(AXE):
	@mkdir -p $(BROWSER)
	cd $(BROWSER) && npm pack --silent $(subst -4,@4,$(AXE:.tgz=))

## Fetch what the page that validates in the browser runs on: Pyodide, and wheels for it of the versions that users install.
PAGE ?= build/page
PYODIDE = pyodide-314.0.7.tgz
PYODIDE_SHA256 = 66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0
WASM = --only-binary :all: --platform pyemscripten_2026_0_wasm32 --python-version 3.14 --implementation cp --abi cp314
$(PAGE)/.installed: locks/run.txt docs/website/inbrowser.py $(PAGE)/$(PYODIDE) | $(VENV)/.runs
	echo "$(PYODIDE_SHA256)  $(PAGE)/$(PYODIDE)" | sha256sum --check --quiet
	tar -xzf $(PAGE)/$(PYODIDE) -C $(PAGE)
	rm -rf $(PAGE)/wheels
	PYTHONPATH=docs $(BIN)/python -m website.inbrowser --wheels >$(PAGE)/wheels.txt
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps $(WASM) --dest $(PAGE)/wheels $(LOCKED) $(PAGE)/wheels.txt
	@touch $@

$(PAGE)/$(PYODIDE):
	@mkdir -p $(PAGE)
	cd $(PAGE) && npm pack --silent $(subst -3,@3,$(PYODIDE:.tgz=))

browser: $(VENV)/.develops
	@if [ -z "$(CHROMIUM)" ]; then echo "not run: there is no Chromium (Debian: apt-get install chromium)"; \
	elif ! $(MAKE) --no-print-directory $(BROWSER)/$(AXE); then echo "not run: npm cannot fetch axe-core"; \
	else $(MAKE) --no-print-directory $(BROWSER)/.installed && \
	  if $(MAKE) --no-print-directory $(PAGE)/.installed; then rm -rf $(PAGE)/site && PYTHONPATH=docs $(BIN)/python -m website.inbrowser $(PAGE) $(PAGE)/site; \
	  else echo "not run: the page that validates in the browser, because Pyodide or its wheels cannot be fetched"; rm -rf $(PAGE)/site; fi && \
	  CORPUSFMT_PAGE=$$(cd $(PAGE)/site 2>/dev/null && pwd) CORPUSFMT_BROWSER=$(abspath $(BROWSER))/bin/python CORPUSFMT_CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -s tests/browser; fi

## Run the commands of the pages that measure, on small data.
benchmarks-test: $(VENV)/.develops
	CORPUSFMT_BENCHMARKS=1 $(BIN)/python -m pytest -n auto tests/documentation/test_elsewhere.py

## Take the screenshots of a report and of a datasheet that the docs show.
screenshots: $(VENV)/.develops $(BROWSER)/.installed
	PYTHONPATH=tests $(BIN)/python -m browser.screenshots docs/images $(abspath $(BROWSER))/bin/python $(CHROMIUM)

## Run commands on S3 (moto's server) and Google Cloud Storage (an emulator, in its own environment) behind a proxy that fails requests, on a web server, a Hub and a Dask cluster; kill builds REMOTE_KILLS times.
REMOTE_KILLS ?= 4
GS ?= build/gs
$(GS)/.installed: locks/gs.txt
	$(ENVIRONMENT)
	@touch $@

remote-test: $(VENV)/.develops $(GS)/.installed
	CORPUSFMT_REMOTE=1 CORPUSFMT_GS=$(abspath $(GS))/bin/python CORPUSFMT_KILLS=$(REMOTE_KILLS) $(BIN)/python -m pytest -n auto --dist loadfile tests/remote tests/documentation/test_elsewhere.py

## Run commands on clusters of Dask and Ray whose processes work in another folder; Ray has its own environment.
RAY ?= build/ray
$(RAY)/.installed: locks/ray.txt
	$(ENVIRONMENT)
	@touch $@

engines-test: $(VENV)/.develops $(RAY)/.installed
	CORPUSFMT_RAY=$(abspath $(RAY))/bin/python $(BIN)/python -m pytest -n auto tests/engines tests/documentation/test_elsewhere.py

## Run a build, one of whose four tasks is killed, and a validation as arrays under a Slurm of their own, on this machine. Without Slurm it says so.
cluster-test: $(VENV)/.develops
	@if ! (PATH="$$PATH:/usr/sbin"; command -v slurmctld && command -v slurmd && command -v sbatch) >/dev/null; then \
	  echo "not run: there is no Slurm (Debian: apt-get install slurmctld slurmd slurm-client)"; \
	elif [ "$$(id -u)" != 0 ]; then echo "not run: slurmd needs root"; \
	else CORPUSFMT_SLURM=1 $(BIN)/python -m pytest -rs tests/cluster; fi

## Write the fixtures from their functions; if a fixture has no function, it is named and nothing is written.
fixtures: $(VENV)/.develops
	@PYTHONPATH=tests $(BIN)/python -m fixtures.make

## Pin the messages of all fixtures and the output of all commands: read the diff before you commit it.
pins: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m fixtures.pin

## Pack the fixtures as a conformance suite for other validators: dist/corpusfmt-conformance-VERSION.tar.gz.
conformance: $(VENV)/.develops
	@PYTHONPATH=tests $(BIN)/python -m fixtures.conformance $(DIST)
	@command -v node >/dev/null || echo "runner.mjs was not run for lack of node (Debian: apt-get install nodejs)"
	@! command -v node >/dev/null || $(BIN)/python -m pytest -q tests/conformance

## Write the pages of rules and errata, the list of codes, and the shapes.
rules: $(VENV)/.develops
	$(BIN)/python docs/make_rules.py
	$(BIN)/python docs/make_settings.py
	$(BIN)/python docs/make_shapes.py
	$(BIN)/python docs/make_errata.py

## Use the command line in terminals (tmux), in the shells that there are and in Neovim: colours, progress, completion, findings.
terminal-test: $(VENV)/.develops $(HOSTS)/.installed
	@for each in tmux zsh fish nvim; do command -v $$each >/dev/null || echo "not run for lack of $$each (Debian: apt-get install tmux zsh fish neovim)"; done
	CORPUSFMT_TERMINAL=1 CORPUSFMT_NVIM=$(abspath $(HOSTS))/bin/nvim $(BIN)/python -m pytest -n auto tests/terminal

## Build the documentation site in its own environment, strictly, and test it: build/site/html. With CORPUSFMT_INSTALLS=DIR
## pages that install are run in a fresh environment, with the wheel in this folder. After `make browser` the site is searched in Chromium, too.
DOCS ?= build/docs
$(DOCS)/.installed: locks/docs.txt
	$(ENVIRONMENT)
	@touch $@

docs: rules $(DOCS)/.installed
	PYTHONPATH=docs $(BIN)/python -m website build/site
	$(DOCS)/bin/zensical build --strict --config-file build/site/zensical.toml
	@if $(MAKE) --no-print-directory $(PAGE)/.installed; then PYTHONPATH=docs $(BIN)/python -m website.inbrowser $(PAGE) build/site/html; \
	else echo "left out: the page that validates in the browser, because Pyodide or its wheels cannot be fetched"; fi
	CORPUSFMT_BROWSER=$(addsuffix /bin/python,$(abspath $(dir $(wildcard $(BROWSER)/.installed)))) CORPUSFMT_CHROMIUM=$(CHROMIUM) \
	  CORPUSFMT_SITE=$(abspath build/site/html) CORPUSFMT_INSTALLS=$(abspath $(CORPUSFMT_INSTALLS)) $(BIN)/python -m pytest -n auto --dist worksteal tests/documentation/test_site.py tests/documentation/test_sessions.py tests/documentation/test_elsewhere.py

## Write what the commands on PAGES print into these pages: read the diff before you commit it.
PAGES ?= $(wildcard docs/tutorials/*.md)
snippets: $(VENV)/.develops
	PYTHONPATH=tests:docs $(BIN)/python -m documentation.sessions $(PAGES)

## Store the state of an unfinished build and conversion, after raising their CODE_FORMAT.
unfinished: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m golden.unfinished

lint: $(VENV)/.develops
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.develops
	$(BIN)/mypy

## Measure which lines and branches the tests run; fails below the floor in pyproject.toml.
coverage: $(VENV)/.develops
	CORPUSFMT_DEEP=1 $(BIN)/python -m pytest -n auto --cov=corpusfmt --cov-branch --cov-report=term:skip-covered --cov-report=html:build/coverage

## Damage valid data of each format in every known way, and count the detected mutants.
DAMAGED ?= 5000
damage: $(VENV)/.develops
	PYTHONPATH=tests $(BIN)/python -m damage.run --mutants $(DAMAGED)

## Make one small change at a time to the modules that pyproject.toml names, and show those that no test notices.
mutants: $(VENV)/.develops
	$(PIP) install 'mutmut>=3.8'
	$(BIN)/mutmut run
	$(BIN)/mutmut results

## Fuzz all commands with FUZZ_CASES mutated inputs, starting at number FUZZ_START.
FUZZ_CASES ?= 100000
FUZZ_START ?= 0
FUZZ_SEED ?= 1
fuzz: $(VENV)/.develops
	CORPUSFMT_FUZZ=$$(($(FUZZ_CASES) / 20)) $(BIN)/python -m pytest -n auto $(wildcard tests/*/test_mutations.py)
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --cases $(FUZZ_CASES) --start $(FUZZ_START) --seed $(FUZZ_SEED)

## Run each native kernel under AddressSanitizer and UBSan on unusual and corrupt inputs for FUZZ_SECONDS. If Clang has
## libFuzzer, also fuzz for the same time guided by coverage; its corpus is kept in build/fuzz.
FUZZ_SECONDS ?= 60
CLANG ?= clang++
CHECKED = -std=c++17 -O1 -g -D_GLIBCXX_ASSERTIONS -ffp-contract=off -fno-sanitize-recover=all
SANITIZED = $(CXX) $(CHECKED) -fsanitize=address,undefined
GUIDED = $(CLANG) $(CHECKED) -fsanitize=fuzzer,address,undefined -DCORPUSFMT_LIBFUZZER
FUZZED = $(patsubst tests/%/fuzz_native.cpp,%,$(wildcard tests/*/fuzz_native.cpp))
HAS_LIBFUZZER = echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' | $(GUIDED) -x c++ - -o build/fuzz/.probe

fuzz-native: $(FUZZED:%=fuzz-native-%)

$(FUZZED:%=fuzz-native-%): fuzz-native-%: build/fuzz/%
	$< $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ_FILES)
	@if $(HAS_LIBFUZZER) 2>/dev/null; then $(MAKE) --no-print-directory fuzz-guided-$*; \
	else echo "not guided by coverage: \`$(CLANG)\` has no libFuzzer"; fi

$(FUZZED:%=fuzz-guided-%): fuzz-guided-%: build/fuzz/%-guided build/fuzz/%
	@mkdir -p build/fuzz/$*-seeds build/fuzz/$*-corpus
	build/fuzz/$* seeds build/fuzz/$*-seeds $(FUZZ_FILES)
	$< -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) -max_len=65536 -timeout=20 $(FUZZ_OPTIONS) -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/$*- build/fuzz/$*-corpus build/fuzz/$*-seeds >build/fuzz/$*.log 2>&1 || { cat build/fuzz/$*.log; exit 1; }
	@echo "guided by coverage: $$(sed -n 's/^stat::number_of_executed_units: *//p' build/fuzz/$*.log) inputs, $$(ls build/fuzz/$*-corpus | wc -l) kept: nothing found"

$(FUZZED:%=build/fuzz/%): build/fuzz/%: tests/%/fuzz_native.cpp tests/fuzzing.hpp $(NATIVE)
	@mkdir -p $(@D)
	$(SANITIZED) $< -o $@

$(FUZZED:%=build/fuzz/%-guided): build/fuzz/%-guided: tests/%/fuzz_native.cpp tests/fuzzing.hpp $(NATIVE)
	@mkdir -p $(@D)
	$(GUIDED) $< -o $@

# Corrupt models request more memory than there is.
fuzz-native-langid fuzz-guided-langid: export ASAN_OPTIONS = allocator_may_return_null=1
fuzz-native-langid fuzz-guided-langid: FUZZ_FILES = build/fuzz/*.model
fuzz-native-langid fuzz-guided-langid: build/fuzz/.models
fuzz-guided-langid: FUZZ_OPTIONS = -malloc_limit_mb=1048576

build/fuzz/.models: tests/langid/fasttext_writer.py
	@mkdir -p $(@D)
	$(PYTHON) $< $(@D)
	@touch $@

## Count what there is to know: lines of code, modules, and words of the pages that are written by hand.
size:
	@echo "Python in src: $$(find src -name '*.py' | xargs cat | wc -l) lines, $$(find src -name '*.py' | wc -l) modules"
	@echo "C++ in src: $$(find src -name '*.[ch]pp' | xargs cat | wc -l) lines"
	@echo "Python in tests: $$(find tests -name '*.py' | xargs cat | wc -l) lines"
	@echo "docs: $$(find docs -name '*.md' ! -name rules.md ! -path '*/errata/*' | xargs cat | wc -w) words, and $$(cat docs/rules.md docs/errata/*.md | wc -w) that are generated"

## Pin all dependencies, with hashes, for every Python and platform: `run` for the Action, `build` for the demo.
lock: $(VENV)/.releases
	$(BIN)/python locks/make_locks.py

## Write CycloneDX bills of materials of an installation, without and with `[build]`.
sbom: $(VENV)/.releases
	$(BIN)/python -m publishing.sbom $(DIST)

## Write all that is published to `dist`: sdist, a wheel for each platform and a pure one, bills of materials, statement, digests.
release: $(VENV)/.releases
	$(BIN)/python -m publishing.build $(DIST)
	$(BIN)/python -m publishing.check $(DIST) $(TAG)

## Install the wheels of `make release` for this machine on other Pythons: PYTHONS="python3.12 python3.14".
try-release: $(VENV)/.releases
	$(BIN)/python -m publishing.smoke $(DIST) $(PYTHONS)

wheel: $(VENV)/.releases
	rm -rf $(DIST)
	$(BIN)/python -m build --no-isolation --outdir $(DIST) .

## Check the packages in `dist`; with TAG=v1.2.3 also that they belong to this release.
check-dist: $(VENV)/.releases
	$(BIN)/python -m publishing.check $(DIST) $(TAG)

clean:
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
