# A thin front on CMake: the presets of CMakePresets.json do the work, in build/PRESET/.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600
BENCH_FLAGS ?=
CONFORMANCE_FLAGS ?=
FIELD_FLAGS ?=
JOBS ?= $(shell nproc)

REDFLAG := build/release/bin/redflag
DEMO_BUILD := $(REDFLAG) c++ -std=c++20 -O1 -g -o build/release/cache examples/cache.cc
DEMO := $(REDFLAG) run build/release/cache
CLANG_FORMAT := clang-format-19
CLANG_TIDY := clang-tidy-19

PRESETS := release dev clang asan cross
# The tests of release come last, so that the output of `make test` ends with their summary.
QUIET_TESTS := test-dev test-clang test-asan test-cross

# Every C++ file that is ours: tracked or new, and not ignored. Outside a git checkout: every one there is.
CXX_FOLDERS := src tests bench include examples
CXX_FILES = $(sort $(wildcard $(shell \
  git ls-files --cached --others --exclude-standard -- $(CXX_FOLDERS) 2>/dev/null | grep -E '$(CXX_NAMES)' || \
  find $(wildcard $(CXX_FOLDERS)) -type f | grep -E '$(CXX_NAMES)')))
CXX_NAMES := \.(h|hpp|cc|cpp|c)$$

heading = @printf '\n== %s\n' '$(1)'

# $(call configure,PRESET) and $(call build,PRESET[,TARGET]): silent if all is well, but for ninja's progress on a
# terminal.
define configure
@mkdir -p build/$(1)
@cmake --preset $(1) >build/$(1)/configure.log 2>&1 || { cat build/$(1)/configure.log; exit 1; }
endef
define build
$(call heading,$(strip build $(1) $(2)))
$(call configure,$(1))
@cmake --build --preset $(1) -j $(JOBS) $(addprefix --target ,$(2)) $$([[ -t 1 ]] || echo -- --quiet)
endef

.PHONY: help
help: ## Show this help
	@echo 'Targets:'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14
	@echo 'Variables:'
	@echo '  PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) (install)   FUZZ_SECONDS=$(FUZZ_SECONDS) (fuzz)   BENCH_FLAGS=$(BENCH_FLAGS) (bench)   JOBS=$(JOBS)'

.PHONY: bootstrap
bootstrap: ## Install the Debian packages that are missing (scripts/bootstrap.sh --list shows all)
	@scripts/bootstrap.sh

.PHONY: build
build: build-release ## Build build/release/bin/redflag, and its tests

.PHONY: $(PRESETS:%=build-%)
$(PRESETS:%=build-%): build-%: bootstrap
	$(call build,$*)

# The command and the runtime: what users need.
.PHONY: command
command: bootstrap
	$(call build,release,redflag redflag_rt redflag_trap)

# Exit code 66 says that races were found, and there is one to find.
.PHONY: demo
demo: command ## Build, and find the race of examples/cache.cc
	@printf '\n$$ %s\n' '$(DEMO_BUILD)'
	@$(DEMO_BUILD)
	@printf '$$ %s\n' '$(DEMO)'
	@$(DEMO); code=$$?; \
	if [[ $$code -ne 66 ]]; then echo "demo: exit code $$code where 66 (races found) was expected" >&2; exit 1; fi

.PHONY: test
test: $(PRESETS:%=build-%) check $(QUIET_TESTS) test-release ## Build every preset, check, run all tests but the slow ones

.PHONY: $(QUIET_TESTS)
$(QUIET_TESTS): test-%: build-%
	$(call heading,test $*)
	@ctest --preset $* -j $(JOBS) --no-tests=error >build/$*/ctest.log 2>&1 || { cat build/$*/ctest.log; exit 1; }
	@grep 'tests passed' build/$*/ctest.log

.PHONY: test-release
test-release: build-release
	$(call heading,test release)
	@ctest --preset release -j $(JOBS) --no-tests=error

.PHONY: test-slow
test-slow: ctest-slow test-undefined fuzz ## Run the slow tests: a million random traces, mutations, fuzzing

.PHONY: ctest-slow
ctest-slow: build-release build-cross
	$(call heading,slow tests)
	@ctest --test-dir build/release -L slow -C Slow --output-on-failure --no-tests=error

# The code that runs in other people's programs, which traps where its behaviour is undefined.
UNDEFINED := --redflag build/undefined/bin/redflag --build build/undefined/tests
.PHONY: test-undefined
test-undefined: bootstrap ## Run programs and environments with runtimes that trap on undefined behaviour
	$(call build,undefined,redflag redflag_rt $(addprefix redflag_rt_,hybrid fast goldilocks racetrack lockset null))
	$(call heading,test undefined)
	@python3 tests/e2e/run.py $(UNDEFINED)/e2e --rotate
	@python3 tests/e2e/run.py $(UNDEFINED)/e2e --rotate --record
	@python3 tests/e2e/run.py $(UNDEFINED)/e2e --rotate --detector goldilocks
	@python3 tests/hostile/run.py $(UNDEFINED)/hostile

# CONFORMANCE_FLAGS: options of tests/conformance/run.py, such as --only mutex_ or --peer.
.PHONY: conformance
conformance: build-release ## Run LLVM's own tests of ThreadSanitizer with our runtime (docs/conformance.md)
	$(call heading,conformance)
	@tests/conformance/run.py --redflag $(REDFLAG) $(CONFORMANCE_FLAGS)

# FIELD_FLAGS: options of tests/field/run.py, such as --only memcached.
.PHONY: field
field: build-release ## Run real programs, built from Debian's sources; each report must be explained (docs/field-notes.md)
	$(call heading,field)
	@tests/field/run.py --redflag $(REDFLAG) $(FIELD_FLAGS)

# BENCH_FLAGS: options of bench/run, such as --quick; bench/run --help tells them all.
.PHONY: bench
bench: build-release ## Measure: detectors alone, then side by side with the peers (more than two hours; BENCH_FLAGS=--quick: half an hour)
	$(call heading,bench: events a second from memory)
	@build/release/bench/detectors_bench
	$(call heading,bench: side by side)
	@bench/run programs $(BENCH_FLAGS)
	@bench/run micro $(BENCH_FLAGS)
	@bench/run quality $(filter-out --long,$(BENCH_FLAGS))
	@bench/paper-tables >bench/results/paper-tables.md

.PHONY: install
install: command ## Install into PREFIX (below DESTDIR if given)
	$(call heading,install)
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

.PHONY: format
format: bootstrap ## Format every C++ file in place
	@$(CLANG_FORMAT) -i $(CXX_FILES)

.PHONY: check
check: check-format check-layers check-tidy ## Check formatting, the direction of dependencies, clang-tidy

.PHONY: check-format
check-format: bootstrap
	$(call heading,check format)
	@$(CLANG_FORMAT) --dry-run -Werror $(CXX_FILES)

.PHONY: check-layers
check-layers: bootstrap
	$(call heading,check layers)
	@tools/check_layers.py --self-test
	@tools/check_layers.py

# What has passed before is not asked again until something that it is made of changes (tools/tidy.py --help).
.PHONY: check-tidy
check-tidy: bootstrap
	$(call heading,check clang-tidy)
	$(call configure,tidy)
	@tools/tidy.py --build build/tidy --clang-tidy $(CLANG_TIDY) --jobs $(JOBS)

FUZZ_ARTIFACTS := build/asan/fuzz-artifacts/
.PHONY: fuzz
fuzz: fuzz-text_reader fuzz-binary_trace fuzz-records fuzz-suppressions ## Fuzz the readers of traces, reports and suppressions, each for FUZZ_SECONDS

fuzz-text_reader: FUZZ_FLAGS := -dict=tests/fuzz/trace.dict
.PHONY: fuzz-text_reader fuzz-binary_trace fuzz-records fuzz-suppressions
fuzz-text_reader fuzz-binary_trace fuzz-records fuzz-suppressions: fuzz-%: build-asan
	$(call heading,fuzz $* for $(FUZZ_SECONDS) s)
	@mkdir -p build/asan/fuzz-corpus/$* $(FUZZ_ARTIFACTS)
	@cp tests/fuzz/corpus/$*/* build/asan/fuzz-corpus/$*/
	@build/asan/tests/fuzz/$*_fuzz $(FUZZ_FLAGS) -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
	  -artifact_prefix=$(FUZZ_ARTIFACTS) build/asan/fuzz-corpus/$* || \
	{ echo 'fuzz: the input is in $(FUZZ_ARTIFACTS); run build/asan/tests/fuzz/$*_fuzz FILE to see it again' >&2; exit 1; }

.PHONY: clean
clean: ## Remove build/
	@rm -rf build
