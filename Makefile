# `make` lists the targets: the text after "##" describes each.

# Without SHELL, make 3.81 of macOS looks up commands in its own PATH instead of the PATH exported below.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# npm runs on the machine's Node.js. Everything else runs on the Node.js that package-lock.json pins for Linux; on other
# platforms, it runs on the machine's Node.js too.
ifndef MACHINE_PATH
MACHINE_PATH := $(PATH)
endif
# hack/image.sh and hack/release.ts run npm too.
export MACHINE_PATH
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

# Node.js caches compiled code in this folder, because each test file and each manager is a process that loads the same
# sources.
export NODE_COMPILE_CACHE := $(CURDIR)/.tmp/compile-cache

UNIT_TESTS := '{api,cmd,controllers,hack,pkg,tools}/**/*.test.ts' 'test/**/*.test.ts' --ignore 'test/{integration,e2e}/**' --ignore 'test/*/whole*.test.ts'
# mocha starts the files in this order. The longest files come first, so that none of them runs alone at the end.
LONGEST := $(wildcard $(patsubst %,test/%.test.ts,integration/kube/reflector integration/manager/bad-start integration/crd/keeper \
  integration/leadership/failover integration/manager/kinds integration/crd/foreign-schema integration/kube/envtest \
  e2e/docs/demo e2e/cluster-api/move e2e/teardown/cascade e2e/docs/install e2e/install/manifests))
INTEGRATION_FILES := $(wildcard test/integration/*/*.test.ts)
E2E_FILES := $(wildcard test/e2e/*/*.test.ts)
longest_first = $(filter $(1),$(LONGEST)) $(filter-out $(LONGEST),$(1))
# The repository of the image in the files of a release. No registry has an image yet, so the default is a name that no
# resolver ever answers (RFC 2606).
IMAGE ?= registry.invalid/cluster-api-provider-aws-fargate
# The URL below which the files of a release will be published. The krew manifest contains it.
DOWNLOADS ?= https://downloads.invalid
# Additional flags of hack/release.ts. The workflow of releases sets --published, so that CHANGELOG.md must have a section
# for the version. A test sets --no-binaries, because the build of image and executables takes minutes.
RELEASE_FLAGS ?=
# A copy of the lock file from which node_modules was installed. If package-lock.json is newer and differs, npm ci runs.
INSTALLED := node_modules/.installed-lock.json

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: build ## One profile on a real API server and an emulated AWS (ONCE=1: then delete it; TEARDOWN=1: delete a whole cluster; REPLACE=1: change it, and move its pods; KEIKO=1: an InstanceGroup)
	@node tools/demo/main.ts

# The integration tests often wait, so lint and test-unit run at the same time as these tests. JOBS=2 limits the number
# of API servers that run at the same time.
.PHONY: test
test: $(INSTALLED) ## All checks that a change must pass: lint, test-unit and test-integration at the same time
	@$(MAKE) --no-print-directory -j2 lint-and-unit test-integration JOBS=2

# The output is printed at the end, so that it does not mix with the output of the integration tests.
.PHONY: lint-and-unit
lint-and-unit: $(INSTALLED)
	@mkdir -p .tmp; nice -n 5 $(MAKE) --no-print-directory lint test-unit > .tmp/$@.log 2>&1; result=$$?; cat .tmp/$@.log; exit $$result

.PHONY: test-unit
test-unit: $(INSTALLED) ## Tests without servers, two minutes
	SEED=$${SEED:-1} mocha --parallel --jobs 2 $(UNIT_TESTS)

.PHONY: test-properties
test-properties: $(INSTALLED) ## Property tests with new cases, and many more of them (RUNS=20000, SEED=the seed of a failure)
	RUNS=$${RUNS:-20000} mocha --parallel --jobs 2 --timeout 3600000 '**/*.property.test.ts' --ignore 'node_modules/**'

.PHONY: verify
verify: $(INSTALLED) ## Explore all states of the model of test/model, with two threads (SCENARIO=replace: one scenario; KEEP=name: keep the story as a test)
	@node test/model/main.ts $(if $(SCENARIO),--scenario '$(SCENARIO)') $(if $(KEEP),--keep '$(KEEP)')

.PHONY: mutants
mutants: $(INSTALLED) ## Break the product in one place at a time, and list what no test notices (FILES=plan/plan.ts:34, SAMPLE=20 SEED=3: one of twenty)
	@node test/mutation/main.ts --files '$(FILES)' --sample $(or $(SAMPLE),1) --seed $(or $(SEED),0)

.PHONY: test-integration
test-integration: build envtest ## Tests of the built manager against a real API server and the AWS emulator
	mocha --config .mocharc.integration.json $(JOBS:%=--jobs %) $(call longest_first,$(INTEGRATION_FILES))

.PHONY: test-e2e
test-e2e: build envtest-all ## Tests with clusterctl and the managers of Cluster API, and the commands of the documents; needs Go, which builds them once
	mocha --config .mocharc.integration.json $(call longest_first,$(E2E_FILES))

.PHONY: test-grid
test-grid: $(INSTALLED) ## Every perturbation of the histories in the simulation: crashes, late events, a fault of each AWS call
	RUNS=1000 mocha --timeout 3600000 test/simulation/perturbations.property.test.ts

.PHONY: test-gitops
test-gitops: build envtest-all ## Flux and Argo CD sync a folder, cluster-api-operator installs, four minutes; needs Go, which builds them once
	@node test/envtest/main.ts ensure kustomize-controller argocd-engine kstatus cluster-api-operator
	mocha --config .mocharc.integration.json $(wildcard test/gitops/whole*.test.ts)

.PHONY: test-compatibility
test-compatibility: build envtest-all ## The oldest and the newest supported kube-apiserver, a minute; needs Go, which builds the oldest once
	@mkdir -p .tmp/oldest && ln -sf "$$(node test/envtest/main.ts path oldest-kube-apiserver)" .tmp/oldest/kube-apiserver
	KUBERNETES=oldest KUBEBUILDER_ASSETS=$(CURDIR)/.tmp/oldest mocha --config .mocharc.integration.json \
	  --grep 'by the field spec' --invert test/compatibility/whole.test.ts \
	  test/integration/crd/changes.test.ts test/e2e/docs/readme.test.ts \
	  test/integration/lifecycle/lifecycle.test.ts test/integration/manager/rbac.test.ts
	KUBERNETES=newest mocha --config .mocharc.integration.json test/compatibility/whole.test.ts

.PHONY: test-image
test-image: $(INSTALLED) envtest ## Build the image twice, and run it as a container does; needs root and Linux, two minutes
	mocha --config .mocharc.integration.json test/image/whole-image.test.ts

.PHONY: test-argocd
test-argocd: ## Run Argo CD's own test of health scripts on config/argocd; needs Go, eight minutes the first time
	test/argocd/health-script.sh

.PHONY: test-alerts
test-alerts: $(INSTALLED) ## Run the tests of the alert rules with promtool; gets Debian's package if there is none
	test/observability/promtool.sh

.PHONY: bench
bench: build envtest ## Measure the manager with 1 to 5,000 profiles (BENCH=burst: one part)
	node tools/bench/main.ts

.PHONY: lint
lint: $(INSTALLED) ## Check lint rules, types, formatting and generated files
	oxlint
	tsc --project tsconfig.json --incremental --tsBuildInfoFile .tmp/tsconfig.tsbuildinfo
	tsc --project pkg/controller-runtime
	prettier --log-level warn --cache --cache-strategy content --check .
	node hack/generate.ts --check

.PHONY: build
build: $(INSTALLED) ## Build dist/manager.mjs, the manager in one file, with source map and licence notices
	node hack/build.ts

.PHONY: image
image: $(INSTALLED) ## Build the image for amd64 and arm64 as an OCI archive in dist/ (needs buildah and apt-get)
	@hack/image.sh '$(IMAGE)' dist/image.oci.tar '$(VERSION)'

.PHONY: release
release: $(INSTALLED) ## Write the files of a release to out/ (VERSION=v0.1.0, IMAGE=<repository of the image>)
	@kubectl=$$(node test/envtest/main.ts path kubectl) && \
	node hack/release.ts --version '$(VERSION)' --image '$(IMAGE)' --kubectl "$$kubectl" --out out --downloads '$(DOWNLOADS)' $(RELEASE_FLAGS)

.PHONY: generate
generate: $(INSTALLED) ## Write the generated files: the CRD, the reference in docs, the alerts for the Prometheus Operator
	node hack/generate.ts

.PHONY: fmt
fmt: $(INSTALLED) ## Format all files
	prettier --log-level warn --cache --cache-strategy content --write .

.PHONY: cover
cover: $(INSTALLED) ## Run the unit tests with a coverage report in coverage/
	c8 --reporter text-summary --reporter html --include '{api,cmd,controllers,pkg}/**' --exclude '**/*.test.ts' --exclude '**/testing/**' mocha $(UNIT_TESTS)

.PHONY: envtest
envtest: $(INSTALLED) ## Get kube-apiserver, etcd, kubectl and the manifests of make test into the user's cache
	node test/envtest/main.ts ensure
	node test/envtest/main.ts ensure-manifests

.PHONY: envtest-all
envtest-all: $(INSTALLED) ## envtest, and kube-controller-manager, Cluster API's manager and clusterctl for test-e2e
	node test/envtest/main.ts ensure-all

.PHONY: install
install: $(INSTALLED) ## Install node_modules from the lock file

.PHONY: clean
clean: ## Remove build results; node_modules and cached test binaries stay
	rm -rf dist out coverage .tmp

$(INSTALLED): package.json pkg/controller-runtime/package.json package-lock.json
	@if cmp -s package-lock.json $@; then touch $@; exit; fi; \
	if ! PATH="$(MACHINE_PATH)" command -v npm >/dev/null; then \
	  echo 'npm is missing. Install Node.js 20 or newer, which brings it: https://nodejs.org/en/download' >&2; exit 1; fi; \
	if ! PATH="$(MACHINE_PATH)" npm --version >/dev/null; then \
	  echo 'npm does not run on this machine'\''s Node. Install Node.js 20 or newer: https://nodejs.org/en/download' >&2; exit 1; fi; \
	echo 'npm ci'; PATH="$(MACHINE_PATH)" npm ci --loglevel error && \
	case "$$(uname -sm)" in \
	  'Linux x86_64' | 'Linux aarch64') [ -x node_modules/.bin/node ] || { \
	    echo 'npm has not installed the pinned Node. Let npm install optional packages, and look for errors above.' >&2; exit 1; };; \
	esac && \
	if ! node hack/require-node.cjs; then \
	  echo 'Install Node.js 22.19 or newer: https://nodejs.org/en/download' >&2; exit 1; fi && \
	cp package-lock.json $@
