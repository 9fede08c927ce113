# StreamDB: build, run and test. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

BIN       := bin/streamdb
CACHE     := .cache
VENV      := $(CACHE)/venv
DATA      ?= ./data
LISTEN    ?= 127.0.0.1:4566
FUZZTIME  ?= 10s
KILLS     ?= 50
EQUIV_SECONDS ?= 30
ORDERS    ?= 1000000
BENCHARGS ?=
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

export CGO_ENABLED := 1
export EQUIV_SECONDS

.PHONY: help run build test test-deps test-kafka vet fmt-check demo bench bench-sql bench-point fuzz clean check-tools venv FORCE

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

check-tools:
	@scripts/install-deps.sh build

build: check-tools $(BIN) ## build bin/streamdb

$(BIN): FORCE
	go build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(BIN) ./cmd/streamdb
FORCE:

run: build ## start the server on ./data (DATA=, LISTEN= change that)
	@echo "connect with: psql -h $(firstword $(subst :, ,$(LISTEN))) -p $(lastword $(subst :, ,$(LISTEN))) -U streamdb streamdb"
	@exec $(BIN) serve --data $(DATA) --listen $(LISTEN)

demo: build ## a guided tour on a throw-away data directory
	$(BIN) demo

bench: build ## the Nexmark benchmark (BENCHARGS= passes flags on)
	$(BIN) bench nexmark $(BENCHARGS)

bench-sql: build test-deps ## TPC-H as views and one-off, against PostgreSQL (BENCHARGS=)
	$(BIN) bench sql $(BENCHARGS)

bench-point: build test-deps ## reads by key with pgbench -S, against PostgreSQL
	scripts/bench-point.sh $(BIN)

test-deps: check-tools
	@scripts/install-deps.sh test
venv: $(VENV)/.ready
$(VENV)/.ready: tests/clients/requirements.txt
	scripts/make-venv.sh $(VENV)

fmt-check:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi

vet:
	go vet ./...
	go vet -tags kafka ./tests/kafka/

test: test-deps venv fmt-check vet ## vet, format and all Go tests
	go test -timeout 14m ./...

test-kafka: build ## exactly once against a real Kafka, with KILLS= crashes over ORDERS= orders
	scripts/install-deps.sh kafka
	STREAMDB_BIN=$(CURDIR)/$(BIN) KILLS=$(KILLS) ORDERS=$(ORDERS) \
		go test -tags kafka -count=1 -timeout 80m -v -run '^TestKafka' ./tests/kafka/

fuzz: ## every fuzz target for FUZZTIME=10s
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

clean: ## remove what the targets above made (not ./data)
	rm -rf bin $(CACHE)
	go clean
