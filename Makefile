# `make` alone lists the targets: the words behind "##" are theirs.

# Naming a shell keeps macOS's make 3.81 from looking commands up in a PATH of its own instead of the one exported below.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# npm itself runs on the machine's Node; everything else on the one that package.json pins.
MACHINE_PATH := $(PATH)
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# What Node made of sources and bundle serves the next process that reads them: each test file and each manager is one.
export NODE_COMPILE_CACHE := $(CURDIR)/.tmp/compile-cache

UNIT_TESTS := '{api,cmd,controllers,hack,pkg}/**/*.test.ts' 'test/**/*.test.ts' --ignore 'test/integration/**' --ignore 'test/*/whole*.test.ts'
# In this order each takes the next that is free: those that take longest come first, so that none is left for the end.
LONGEST := $(wildcard $(patsubst %,test/integration/%.test.ts,teardown-kills teardown-cascade failures kinds roles identities api-refusals lane \
  demo move teardown-kept teardown-missing fault-grid leadership fleet refusals lane-replaced-manager reflector envtest bad-start latch))
INTEGRATION_TESTS := $(LONGEST) $(filter-out $(LONGEST),$(wildcard test/integration/*.test.ts test/integration/*/*.test.ts))
# A copy of the lock file that node_modules was installed from: newer means to compare, different means to install.
INSTALLED := node_modules/.installed-lock.json

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: build ## See it work: a real API server, emulated AWS, one profile (ONCE=1: and its end; TEARDOWN=1: the end of a cluster)
	@node test/demo/main.ts

.PHONY: test
test: lint test-unit test-integration ## All that a change must pass; installs what is missing

.PHONY: test-unit
test-unit: $(INSTALLED) ## The tests that need no server: a minute
	mocha --parallel --jobs 2 $(UNIT_TESTS)

.PHONY: test-integration
test-integration: build envtest-all ## The built manager against a real API server and the AWS emulator
	mocha --config .mocharc.integration.json $(INTEGRATION_TESTS)

.PHONY: test-grid
test-grid: build envtest-all ## Each AWS call of each scenario and of a teardown, whatever befalls it: minutes; make test has a sample
	mocha --config .mocharc.integration.json $(wildcard test/*/whole*.test.ts)

.PHONY: bench
bench: build envtest ## Measure the manager with 1, 10 and 200 profiles (BENCH_WRITE=1: into docs/performance.md)
	node test/bench/main.ts

.PHONY: lint
lint: $(INSTALLED) ## Lint rules, types, formatting, generated files up to date
	oxlint
	tsc --project tsconfig.json
	prettier --log-level warn --cache --cache-strategy content --check .
	node hack/generate.ts --check

.PHONY: build
build: $(INSTALLED) ## dist/manager.mjs: the manager in one file, with source map and licence notices
	node hack/build.ts

.PHONY: generate
generate: $(INSTALLED) ## Write what is derived from the sources: the CRD
	node hack/generate.ts

.PHONY: fmt
fmt: $(INSTALLED) ## Format everything
	prettier --log-level warn --cache --cache-strategy content --write .

.PHONY: cover
cover: $(INSTALLED) ## The unit tests with a coverage report in coverage/
	c8 --reporter text-summary --reporter html --include '{api,cmd,controllers,pkg}/**' --exclude '**/*.test.ts' --exclude '**/testing/**' mocha $(UNIT_TESTS)

.PHONY: envtest
envtest: $(INSTALLED) ## Get kube-apiserver, etcd and kubectl into the user's cache, once
	node test/envtest/main.ts ensure

.PHONY: envtest-all
envtest-all: $(INSTALLED) ## The same with what single tests need: kube-controller-manager, Cluster API's manager, clusterctl
	node test/envtest/main.ts ensure-all

.PHONY: install
install: $(INSTALLED) ## node_modules, as the lock file says

.PHONY: clean
clean: ## Remove what was built; node_modules and the cached test binaries stay
	rm -rf dist coverage .tmp

$(INSTALLED): package.json package-lock.json
	@if cmp -s package-lock.json $@; then touch $@; exit; fi; \
	if ! PATH="$(MACHINE_PATH)" command -v npm >/dev/null; then \
	  echo 'npm is missing. Install Node.js 20 or newer, which brings it: https://nodejs.org/en/download' >&2; exit 1; fi; \
	if ! PATH="$(MACHINE_PATH)" npm --version >/dev/null; then \
	  echo 'npm does not run on this machine'\''s Node. Install Node.js 20 or newer: https://nodejs.org/en/download' >&2; exit 1; fi; \
	echo 'npm ci'; PATH="$(MACHINE_PATH)" npm ci --loglevel error && \
	if ! node hack/require-node.cjs; then \
	  echo 'The pinned Node was not installed. Let npm run the scripts of packages (ignore-scripts off), or bring that Node yourself.' >&2; exit 1; fi && \
	cp package-lock.json $@
