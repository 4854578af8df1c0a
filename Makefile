# `make` lists the targets. Only Go is needed: everything else comes through its module proxy. Some
# tests want redis-server or chromium too, and `make test` says so where one is missing.

GO            ?= go
BENCHTIME     ?= 3x
BUDGET        ?= 60s
FUZZTIME      ?= 1m
SWEEP         ?= stale-worker-retries

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Make takes a variable that is misspelt, or of another target, without a word, and would run as if nothing had been set.
GIVEN = $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $(v))),$(v)))
GOALS = $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))
TAKEN = $(shell sed -n $(foreach g,$(GOALS),-e 's,^$(g):.*\#\# ,,p') $(firstword $(MAKEFILE_LIST)) | grep -o '[A-Z][A-Z]*=' | tr -d = | sort -u)
$(foreach v,$(filter-out GO% CGO_% CC CXX COLUMNS NO_COLOR TERM TMPDIR WAVETANK_%,$(GIVEN)),$(if $(filter $(v),$(TAKEN)),,\
  $(error make $(GOALS) takes no variable $(v)=; it takes $(or $(TAKEN),none))))

# GNU make ends with status 2 whenever a recipe fails. In question mode it hands a recipe's 1
# through, so that `make sim`, `make fuzz`, `make exhaust` and `make orders` end as wavetank does: 0 held, 1 violated. For any
# other end make says "Error N" and ends with 2.
ifneq ($(filter sim fuzz exhaust orders,$(MAKECMDGOALS)),)
MAKEFLAGS += --question
endif

ifneq ($(filter sim,$(MAKECMDGOALS)),)
$(if $(SCENARIO),,$(error give a scenario, such as: make sim SCENARIO=publish-failure))
endif

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: sim
sim: bin/wavetank ## run a scenario: SCENARIO=publish-failure [SEED=7] [SET="key=value ..."] [PRESET=hardened] [JUDGE=invariant] [OUT=folder]
	+@$(RUN)

RUN = ./bin/wavetank run '$(SCENARIO)' $(if $(SEED),--seed '$(SEED)') $(if $(PRESET),--preset '$(PRESET)') $(foreach s,$(SET),--set '$(s)') $(foreach i,$(JUDGE),--judge '$(i)') $(if $(OUT),--out '$(OUT)')

.PHONY: fuzz
fuzz: bin/wavetank ## look for runs that break a promise: [BUDGET=60s|10000runs] [SCENARIO="names"] [PRESET=hardened] [SET=...] [JUDGE=invariant] [SEED=7] [WORKERS=2] [OUT=folder] [JUNIT=file]
	+@./bin/wavetank fuzz $(foreach s,$(SCENARIO),'$(s)') --budget '$(BUDGET)' $(if $(SEED),--seed '$(SEED)') $(if $(PRESET),--preset '$(PRESET)') $(foreach s,$(SET),--set '$(s)') $(foreach j,$(JUDGE),--judge '$(j)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)') $(if $(JUNIT),--junit '$(JUNIT)')

.PHONY: exhaust
exhaust: bin/wavetank ## strike every operation of a run with every fault, one fault a run, and write a certificate: [SCENARIO=calm|all] [PRESET=hardened] [SET="workload.jobs=2 topology.deduplicate=true"] [FAULTS=2] [BUDGET=1h] [LENGTHS=every] [PHASE=publish] [WORKERS=2] [OUT=folder]
	+@./bin/wavetank exhaust $(foreach s,$(or $(SCENARIO),calm),'$(s)') --preset '$(or $(PRESET),hardened)' $(foreach s,$(or $(SET),$(if $(SCENARIO),,workload.jobs=2 topology.deduplicate=true)),--set '$(s)') $(if $(FAULTS),--faults '$(FAULTS)') $(if $(filter-out file,$(origin BUDGET)),--budget '$(BUDGET)') $(if $(LENGTHS),--lengths '$(LENGTHS)') $(foreach p,$(PHASE),--phase '$(p)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)')

.PHONY: orders
orders: bin/wavetank ## run a tiny world in every order with few pre-emptions: [SCENARIO=calm] [PRESET=hardened] [SET="workload.jobs=1 topology.workers=1"] [PREEMPTIONS=3] [WORKERS=2] [OUT=folder]
	+@./bin/wavetank orders '$(or $(SCENARIO),calm)' --preset '$(or $(PRESET),hardened)' $(foreach s,$(or $(SET),$(if $(SCENARIO),,workload.jobs=1 topology.workers=1)),--set '$(s)') $(if $(PREEMPTIONS),--preemptions '$(PREEMPTIONS)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)')

.PHONY: power
power: bin/wavetank ## plant mistakes in the engine, and measure how many of them each search finds: [MUTANTS=60] [SEED=1] [BUDGET=60s] [WORKERS=2] [OUT=folder]
	+@./bin/wavetank power $(if $(MUTANTS),--mutants '$(MUTANTS)') $(if $(SEED),--seed '$(SEED)') $(if $(filter-out file,$(origin BUDGET)),--budget '$(BUDGET)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)')

.PHONY: sweep
sweep: bin/wavetank ## answer a tuning question: [SWEEP=stale-worker-retries] [TTL=30s] [HEARTBEAT=10s] [LAG=lognormal:median=5s:p99=30s] [DIES=20%] [SEEDS=20] [PRECISION=0.5] [BUDGET=2000runs] [WORKERS=2] [OUT=folder]
	@./bin/wavetank sweep '$(SWEEP)' $(if $(TTL),--ttl '$(TTL)') $(if $(HEARTBEAT),--heartbeat '$(HEARTBEAT)') $(if $(LAG),--lag '$(LAG)') $(if $(DIES),--dies '$(DIES)') $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(PRECISION),--precision '$(PRECISION)') $(if $(filter-out file,$(origin BUDGET)),--budget '$(BUDGET)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)')

.PHONY: compare
compare: bin/wavetank ## measure the alternatives of each design question, and write their tables: [SEEDS=20] [WORKERS=2] [OUT=folder]
	@./bin/wavetank compare $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(WORKERS),--workers '$(WORKERS)') $(if $(OUT),--out '$(OUT)')

.PHONY: alerts
alerts: bin/wavetank bin/wavetank-alerts ## list the alerts that fire in the last run, in the run of OUT=folder, or in a new run of SCENARIO: [SCENARIO=rollback-failure] [SEED=7] [SET="key=value ..."] [PRESET=hardened] [JUDGE=invariant]
	@$(if $(SCENARIO),$(RUN) --quiet || { s=$$?; test $$s = 1 || test $$s = 3; })
	@./bin/wavetank-alerts $(if $(OUT),'$(OUT)')

# Go knows best what has changed. A build is named by its commit, where git knows one.
VCS = -buildvcs=$(if $(shell git rev-parse --verify --quiet HEAD 2>/dev/null),auto,false)

.PHONY: bin/wavetank bin/wavetank-alerts bin/scheduler
bin/wavetank bin/wavetank-alerts bin/scheduler:
	+@$(if $(wildcard $@),$(GO) build $(VCS) -o $@ ./cmd/$(@F),$(call FIRST,Building $@); $(call COUNTED,$(GO) build -v $(VCS) -o $@ ./cmd/$(@F))) || exit 2

# FIRST says what takes so long before there is a binary.
FIRST = echo '$(1). The first time Go downloads modules and compiles all packages, which takes 2 to 3 minutes.' >&2

# COUNTED runs a go command that takes -v, and counts what it downloads and compiles: on one line of a terminal, and
# elsewhere in a line for every hundred. What else the command says is passed on.
define COUNTED
{ $(1) 2>&1 || echo 'make: failed'; } | { d=0 p=0 end=0; while IFS= read -r line; do \
  case $$line in 'go: downloading '*) d=$$((d+1));; 'make: failed') end=1; continue;; *' '*) printf '%s\n' "$$line" >&2; continue;; *) p=$$((p+1));; esac; \
  said="  $$d modules downloaded, $$p packages compiled"; \
  if test -t 2; then printf '\r%s' "$$said" >&2; elif test $$(((d+p) % 100)) = 0; then echo "$$said" >&2; fi; \
  done; if test -t 2 && test $$((d+p)) -gt 0; then echo >&2; fi; exit $$end; }
endef

.PHONY: build
build: bin/wavetank bin/scheduler ## build bin/wavetank, the testbed, and bin/scheduler, the scheduler itself

.PHONY: test
test: ## vet the code and run all tests
	@$(if $(wildcard bin/wavetank),,$(call FIRST,Vetting the code before its tests run))
	@$(call COUNTED,$(GO) vet -v ./...)
	$(GO) test -timeout 30m ./...
	@$(LEFT_OUT)

# go test does not show what a test says that leaves itself out.
define LEFT_OUT
command -v redis-server >/dev/null || { printf '%s\n' '' \
  'LEFT OUT: the tests of the real Redis, in one of which schedulers are killed.' \
  'They want redis-server, which is not installed (Debian, Ubuntu: apt-get install redis-server;' \
  'macOS: brew install redis). Install it and run make test again.'; } >&2
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { printf '%s\n' '' \
  'LEFT OUT: the tests of the pages in a browser.' \
  'They want chromium, which is not installed (Debian, Ubuntu: apt-get install chromium;' \
  'macOS: brew install --cask chromium). Install it and run make test again.'; } >&2
unshare --user --map-root-user --net ip link add name here type veth peer name there 2>/dev/null && command -v nsenter >/dev/null || { printf '%s\n' '' \
  'LEFT OUT: the tests of a full disk, and of machines that each have a network of their own.' \
  'They want Linux namespaces for users and networks, with ip (iproute2) and nsenter (util-linux), which cannot be had here.'; } >&2
endef

.PHONY: fuzzers
fuzzers: ## run each of the Go fuzz targets: [FUZZTIME=1m]
	@status=0; for target in $$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's,/[^/]*:func ,:,'); do \
	  echo "$${target#*:} in $${target%:*}"; \
	  $(GO) test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$${target%:*}" || status=1; \
	done; exit $$status

.PHONY: race
race: ## run all tests with the race detector, except the longest campaigns
	GORACE=atexit_sleep_ms=0 $(GO) test -race -timeout 90m ./...
	@$(LEFT_OUT)

.PHONY: real
real: ## kill schedulers over the real Redis and nats-server; needs redis-server
	WAVETANK_REQUIRE_REDIS=1 $(GO) test -count=1 -v -run TestRealServers ./cmd/scheduler

.PHONY: lint
lint: ## run gofmt, go vet, staticcheck, errcheck, ineffassign, unconvert and misspell; the first run builds them
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { printf 'not formatted; run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	$(GO) run github.com/kisielk/errcheck@v1.30.0 -ignoretests -exclude .errcheck ./...
	$(GO) run github.com/gordonklaus/ineffassign@v0.2.0 ./...
	$(GO) run github.com/mdempsky/unconvert@v0.0.0-20260816212528-33842c47157a -tests=false ./...
	@find . -name '*.go' -o -name '*.md' | xargs $(GO) run github.com/golangci/misspell/cmd/misspell@v0.8.0 -error

.PHONY: bench
bench: ## measure runs of 10 to 10,000 jobs with and without gates, the memory of a run of 30,000 jobs, the cost of a gate, the gain of a second worker, how fast pages open, and the scheduler's own Redis and miniredis beside redis-server: [BENCHTIME=3x]
	@$(GO) test -c -o bin/scenarios.test ./scenarios && $(GO) test -c -o bin/sim.test ./sim
	@cd scenarios && for jobs in 10 100 1000 10000; do \
	  GOMAXPROCS=1 ../bin/scenarios.test -test.run '^$$' -test.bench "^BenchmarkRun$$/^jobs=$$jobs$$" -test.benchtime $(BENCHTIME) | grep ^Benchmark; done
	@cd scenarios && for jobs in 1000 10000 30000; do \
	  GOMAXPROCS=1 ../bin/scenarios.test -test.run '^$$' -test.bench "^BenchmarkMemory$$/^jobs=$$jobs$$" -test.benchtime 1x | grep ^Benchmark; done
	@cd scenarios && GOMAXPROCS=1 ../bin/scenarios.test -test.run '^$$' -test.bench PublishFailure -test.benchtime 100x | grep ^Benchmark
	@cd scenarios && ../bin/scenarios.test -test.run '^$$' -test.bench RedisServer -test.benchtime $(BENCHTIME) | grep ^Benchmark || echo 'There is no redis-server to measure beside miniredis.'
	@cd sim && GOMAXPROCS=1 ../bin/sim.test -test.run '^$$' -test.bench . -test.benchtime 20x | grep ^Benchmark
	@$(GO) test -run '^$$' -bench Run -benchtime $(BENCHTIME) ./scenarios/campaign | grep ^Benchmark
	@$(GO) test -run '^$$' -bench ThePageOpens -benchtime 5x ./reports | grep ^Benchmark || echo 'There is no chromium to open pages in.'
	@$(GO) test -run '^$$' -bench EmbeddedRedis -benchtime 1x ./cmd/scheduler | grep ^Benchmark || echo 'There is no redis-server to measure beside.'

.PHONY: determinism
determinism: bin/wavetank ## verify every scenario in two processes under load: [SCENARIO=all] [SEEDS=1-200] [PRESET=hardened]
	@./bin/wavetank verify '$(or $(SCENARIO),all)' --seeds $(or $(SEEDS),1-200) --load 2 $(if $(PRESET),--preset '$(PRESET)')

.PHONY: golden
golden: bin/wavetank ## generate the table of what every scenario does, the certificates, and the lists in README files
	@for preset in hardened documented; do rm -rf bin/certificate && \
		./bin/wavetank exhaust calm --preset $$preset --set workload.jobs=2 --set topology.deduplicate=true --out bin/certificate --quiet && \
		cp bin/certificate/certificate.json scenarios/testdata/certificates/calm-$$preset/ || exit; done; rm -rf bin/certificate
	$(GO) test -count=1 -run 'TestBehaviour$$|TestReadme' ./scenarios -update

.PHONY: mutants
mutants: ## plant mistakes in the engine one by one, and count the runs that catch each; takes up to an hour: [SEEDS=1]
	WAVETANK_MUTANTS=$(or $(SEEDS),1) $(GO) test -count=1 -timeout 4h -v -run 'TestMutants$$' ./scenarios

.PHONY: cover
cover: ## run all tests, and show the code that they do not cover
	$(GO) test -coverpkg ./... -coverprofile cover.out ./...
	$(GO) tool cover -func cover.out

.PHONY: clean
clean: ## remove what was built, and the folders of runs
	rm -rf bin runs cover.out
