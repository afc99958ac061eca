# Two commands matter: `make run` and `make test`. Everything else is longer or narrower.

CARGO ?= cargo
PYTHON ?= python3
WARREN = target/release/warren

.PHONY: run build web test spare test-rust test-lint test-web test-clients test-perf test-api test-prometheus test-semantics test-ctl test-proxy test-browser test-crash test-abuse fuzz bench bench-perf bench-build docs clean

run: build
	$(WARREN) serve --data-dir data

build: web
	$(CARGO) build --release --locked -p warren

# What draws the charts of reports, by the lock file, into a folder that is not committed. A build without it makes reports of tables.
web:
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not installed, so reports will have tables and no charts"; \
		else $(MAKE) --no-print-directory web/vendor/uplot/uPlot.iife.min.js \
		|| echo "skipped: npm could not fetch uPlot, so reports will have tables and no charts"; fi

web/vendor/uplot/uPlot.iife.min.js: web/package-lock.json
	cd web && npm ci --no-audit --no-fund --omit=dev
	mkdir -p web/vendor/uplot
	cp web/node_modules/uplot/LICENSE web/node_modules/uplot/dist/uPlot.min.css web/node_modules/uplot/dist/uPlot.iife.min.js web/vendor/uplot/
	touch $@

# What CI runs.
test: test-lint test-web test-rust spare build test-clients

# Where the disk is small: what Rust's tests were built of goes before the release build comes.
spare:
	@if [ -n "$$WARREN_TESTS_SPARE" ]; then rm -rf "$${CARGO_TARGET_DIR:-target}/debug"; fi

test-lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check; else echo "skipped: cargo-deny is not installed"; fi

# The types of our own scripts, which are written in comments.
test-web:
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not installed, so the types of scripts are not checked"; \
		else cd web && npm ci --no-audit --no-fund && node_modules/.bin/tsc --project .; fi

test-rust:
	$(CARGO) test --workspace --locked

# Real clients, over TLS and proxies too, five rounds of kill -9, bad input, a long backlog, the HTTP API. Languages whose toolchain is missing are skipped, said aloud.
test-clients: build
	$(PYTHON) tests/clients/run.py
	$(PYTHON) tests/tls/run.py
	$(PYTHON) tests/crash/run.py --rounds 5
	$(PYTHON) tests/crash/journeys.py --rounds 3
	$(PYTHON) tests/crash/fsync_order.py
	$(PYTHON) tests/abuse/run.py
	$(PYTHON) tests/perf/run.py
	$(PYTHON) tests/ctl/run.py
	$(PYTHON) tests/proxy/run.py
	$(PYTHON) tests/browser/run.py
	$(MAKE) --no-print-directory test-api
	$(MAKE) --no-print-directory test-prometheus
	$(MAKE) --no-print-directory test-semantics

# The load generator and PerfTest: messages of each other, the same commands.
test-perf: build
	$(PYTHON) tests/perf/run.py

# The HTTP API: its shapes, who may do what, bad input, the tools that speak it, imports that are killed.
test-api: build
	$(PYTHON) tests/api/run.py
	$(PYTHON) tests/api/run_schemathesis.py
	$(PYTHON) tests/definitions/run.py

# Metrics: names and numbers as RabbitMQ has them, a real Prometheus that scrapes them, what a scrape costs.
test-prometheus: build
	$(PYTHON) tests/prometheus/run.py

# What clients see of queues and exchanges, held against what they see on RabbitMQ.
test-semantics: build
	$(PYTHON) tests/semantics/run.py

# `warren ctl`, against this broker and a RabbitMQ.
test-ctl: build
	$(PYTHON) tests/ctl/run.py

# `warren proxy`, with all clients through it.
test-proxy: build
	$(PYTHON) tests/proxy/run.py

# Reports, in a real browser.
test-browser: web
	$(PYTHON) tests/browser/run.py

# Fifty rounds of kill -9.
test-crash: build
	$(PYTHON) tests/crash/run.py --rounds 50
	$(PYTHON) tests/crash/journeys.py --rounds 50

# The full numbers of bad input: ten thousand connections and so on.
test-abuse: build
	$(PYTHON) tests/abuse/run.py --long

# Each fuzz target for a while (FUZZ_SECONDS); needs cargo-fuzz and a nightly toolchain.
FUZZ_SECONDS ?= 60
fuzz:
	cd crates/amqp/fuzz && for target in frame method table header; do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done
	cd crates/net/fuzz && $(CARGO) +nightly fuzz run proxy_header -- -max_total_time=$(FUZZ_SECONDS)

# Side by side with a real RabbitMQ: hours; root, debootstrap, Java and Maven. See bench/README.md.
bench: bench-build
	bench/run all

# The shipped workloads, and PerfTest as a referee: bench/RESULTS.md. Hours, too.
bench-perf: bench-build
	bench/run referee workloads

bench-build:
	$(CARGO) build --release --locked -p warren -p bench

docs:
	$(CARGO) run -p model --example configuration > docs/configuration.md
	$(CARGO) run -p proxy --example configuration > docs/proxy-configuration.md
	$(CARGO) run -p perf --example perf_options > docs/perf-options.md
	$(CARGO) run -p management --example openapi > docs/openapi.json

clean:
	$(CARGO) clean
