# Everything here sets itself up on a machine that has only Go: the modules
# come through the Go proxy, tools are built once into .bin/ at pinned versions.

GOLANGCI_LINT_VERSION  := v2.15.0
ACTIONLINT_VERSION     := v1.7.12
ACTION_VALIDATOR_VERSION := 0.6.0
ACT_VERSION            := v0.2.89
DOCKER_COMPOSE_VERSION := v2.29.7
VERSITYGW_VERSION      := v1.8.0

# Tests hold our requests against GitHub's own description of its API.
NPM_TOOLS := @octokit/openapi@23.0.2 @octokit/webhooks-examples@7.6.1 @stoplight/prism-cli@5.16.0

BIN           := $(CURDIR)/.bin
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
ACTIONLINT    := $(BIN)/actionlint-$(ACTIONLINT_VERSION)
COMPOSE       := $(BIN)/docker-compose-$(DOCKER_COMPOSE_VERSION)
VERSITYGW     := $(BIN)/versitygw-$(VERSITYGW_VERSION)
ACT           := $(BIN)/act-$(ACT_VERSION)
VALIDATOR     := $(BIN)/action-validator-$(ACTION_VALIDATOR_VERSION)

# Every run sweeps what dead runs left at the Docker daemon, and these tests look at what
# a sweep took: they have the daemon for themselves.
DAEMON := ./pkg/engine/deploy/...
OTHERS  = $$(go list ./... | grep -v /pkg/engine/deploy)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

.PHONY: run
run: ## the main job: replay the sample corpus against the embedded engine
	go run ./cmd/agentx run $(ARGS)

.PHONY: test
test: ## all tests
	go test -timeout 20m -parallel 8 $(OTHERS) # most of what is slow waits
	go test -timeout 20m -p 1 $(DAEMON)

.PHONY: race
race: ## all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 .ci/race $(OTHERS)
	CGO_ENABLED=1 .ci/race -p 1 $(DAEMON)

.PHONY: bench
bench: ## the speed and memory figures
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: e2e-engine
e2e-engine: ## replay against a real vLLM on the CPU (downloads about 6 GB the first time)
	.ci/e2e-engine

.PHONY: lint
lint: $(GOLANGCI_LINT) lint-workflows ## linters for the code and the workflows
	$(GOLANGCI_LINT) run ./...

.PHONY: lint-workflows
lint-workflows: $(ACTIONLINT) ## linters for action.yml and all workflows, the examples included
	$(ACTIONLINT) .github/workflows/*.yml examples/workflows/*.yml
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(VALIDATOR) && for f in action.yml .github/actions/*/action.yml .github/workflows/*.yml examples/workflows/*.yml; do \
		$(VALIDATOR)/node_modules/.bin/action-validator $$f || exit 1; done; \
	else echo "npm is missing: action.yml is checked by the tests only"; fi

.PHONY: image
image: ## the Action's image, built and tried (needs Docker)
	.ci/image

.PHONY: e2e-act
e2e-act: ## the Action end to end, run by act as GitHub would (needs Docker)
	.ci/e2e-act

.PHONY: act
act: $(ACT) ## act, which runs workflows on this machine

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## format the code
	$(GOLANGCI_LINT) fmt ./...

.PHONY: compose
compose: $(COMPOSE) ## docker compose, for tests on a machine that has none

.PHONY: versitygw
versitygw: $(VERSITYGW) ## an S3 server that nobody here wrote, for the tests of the store

.PHONY: npm-tools
npm-tools: $(BIN)/npm/installed ## GitHub's description of its API and what serves it, for tests (needs npm)

.PHONY: comment-picture
comment-picture: ## docs/comment.png anew, from real runs (needs cmark-gfm and Chromium)
	.ci/comment-picture

.PHONY: build
build: ## the static binary, dist/agentx
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o dist/agentx ./cmd/agentx

.PHONY: schemas
schemas: ## regenerate what is generated: schemas/
	go generate ./...

.PHONY: ci
ci: ## what CI runs
	.ci/run

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf dist artifacts .bin

# A tool keeps its version in its name, so that a new pin builds a new one.
$(GOLANGCI_LINT):
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

$(ACTIONLINT):
	GOBIN=$(BIN) go install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)
	mv $(BIN)/actionlint $@

$(ACT):
	GOBIN=$(BIN) go install github.com/nektos/act@$(ACT_VERSION)
	mv $(BIN)/act $@

$(VALIDATOR):
	npm install --silent --no-save --prefix $@ @action-validator/cli@$(ACTION_VALIDATOR_VERSION) @action-validator/core@$(ACTION_VALIDATOR_VERSION)

$(VERSITYGW):
	CGO_ENABLED=0 GOBIN=$(BIN) go install -trimpath -ldflags '-s -w' github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	mv $(BIN)/versitygw $@

# The package is called cmd; its version is what the linker says.
$(COMPOSE):
	CGO_ENABLED=0 GOBIN=$(BIN)/compose go install -trimpath -ldflags '-s -w -X github.com/docker/compose/v2/internal.Version=$(DOCKER_COMPOSE_VERSION)' github.com/docker/compose/v2/cmd@$(DOCKER_COMPOSE_VERSION)
	mv $(BIN)/compose/cmd $@ && rmdir $(BIN)/compose

# A new pin installs anew; scripts of packages are not run.
$(BIN)/npm/installed: $(MAKEFILE_LIST)
	mkdir -p $(BIN)/npm
	npm install --prefix $(BIN)/npm --no-save --no-audit --no-fund --ignore-scripts --loglevel=error $(NPM_TOOLS)
	touch $@
