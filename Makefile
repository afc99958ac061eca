# Two commands matter: `make run` and `make test`. Everything else is longer or narrower.

CARGO ?= cargo
PYTHON ?= python3
WARREN = target/release/warren

.PHONY: run build test test-rust test-lint test-clients test-crash test-abuse fuzz bench docs clean

run: build
	$(WARREN) serve --data-dir data

build:
	$(CARGO) build --release --locked -p warren

# What CI runs.
test: test-lint test-rust build test-clients

test-lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check; else echo "skipped: cargo-deny is not installed"; fi

test-rust:
	$(CARGO) test --workspace --locked

# Real clients, five rounds of kill -9, bad input, a long backlog. Languages whose toolchain is missing are skipped, said aloud.
test-clients: build
	$(PYTHON) tests/clients/run.py
	$(PYTHON) tests/crash/run.py --rounds 5
	$(PYTHON) tests/crash/fsync_order.py
	$(PYTHON) tests/abuse/run.py

# Fifty rounds of kill -9.
test-crash: build
	$(PYTHON) tests/crash/run.py --rounds 50

# The full numbers of bad input: ten thousand connections and so on.
test-abuse: build
	$(PYTHON) tests/abuse/run.py --long

# Each fuzz target for a while (FUZZ_SECONDS); needs cargo-fuzz and a nightly toolchain.
FUZZ_SECONDS ?= 60
fuzz:
	cd crates/amqp/fuzz && for target in frame method table header; do \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# Side by side with a real RabbitMQ: hours; root, debootstrap, Java and Maven. See bench/README.md.
bench:
	$(CARGO) build --release --locked -p warren -p bench
	bench/run all

docs:
	$(CARGO) run -p model --example configuration > docs/configuration.md
	$(CARGO) run -p perf --example perf_options > docs/perf-options.md

clean:
	$(CARGO) clean
