# make check: linters, types and the fast tests, without root; what has not changed since it passed is not checked again.
# make t K=NAME: the Python tests that match NAME, of any kind; those marked `system` need root and the agent.
# make snapshots: accepts what the commands print and testbeds lay now as what they are to; read the diff before it is committed.
# make generate: the contract of the agent that make build has built, and what is made of it: vtax/agent_api.py, docs/agent-api.md.
# make demo: a campaign on this machine and its report. make test: every test. Both install what is missing.
# make test-platforms: frames through a guest of each platform, or why there is none here.
# make test-hosts: hypervisors that run for real on machines that vtax emulates, or whose hosts are simulated; it needs Go.
# make esxi: what vtax speaks with ESXi by; few need it.
# make test-cluster: several machines, and several testbeds, made of namespaces, and what befalls them.
# make dist: a wheel with the agent inside, and the list of what it is made of, tried where there is neither cargo nor this tree.
# make audit: known vulnerabilities of what vtax is made of; it needs a network, and builds cargo-deny once.
# make fuzz, make soak: the same tests at length; docs/testing.md tells what they cover.
# make bench: vtax beside other tools in the same run; writes bench/RESULTS.md.
# make validate: known taxes, a slow machine, other tools, undisturbed trials, simulated campaigns, planted artifacts; writes docs/validation.md.
# make validate-long: gates on a build made slower and on copies of one, campaigns without a change, MINUTES=30 more; writes docs/validation-long.md.

# Compiled modules are kept, whatever the environment says: tests start vtax some hundred times, and compiling it takes 1.5 s.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AGENT := agent/target/x86_64-unknown-linux-gnu/release/vtax-agent
METADATA := cargo metadata --manifest-path agent/Cargo.toml --format-version 1 --locked --offline \
	--filter-platform x86_64-unknown-linux-gnu
XSTATE := agent/target/vtax-xstate.so

# What each command or file comes from; only packages whose probe fails are installed.
BUILD_PACKAGES := clang llvm make gcc autoconf automake autopoint gettext flex bison gawk pkg-config libc6-dev linux-libc-dev \
	libelf-dev zlib1g-dev
RUN_PACKAGES := iproute2 util-linux kmod runc crun lxc qemu-system-x86 dpdk-dev libvirt-daemon python3-libvirt openssh-client \
	xorriso isolinux syslinux-common socat
TEST_PACKAGES := bpftool chromium cpio openssl tshark openssh-server openvswitch-switch
BENCH_PACKAGES := netsniff-ng iperf3 dpdk-dev tcpdump sockperf iputils-ping
VALIDATE_PACKAGES := iperf3 sockperf iputils-ping tshark tcpdump

.PHONY: check check-python check-rust fast-python fast-rust t snapshots generate demo test test-agent test-platforms test-hosts test-cluster dist audit fuzz soak validate validate-long bench
.PHONY: lint lint-python lint-rust build install install-dev agent runsc esxi vcsim
.PHONY: packages-build packages-run packages-test packages-validate packages-bench

check: check-python check-rust
check-python: $(VENV)/dev
	@scripts/checked .checked/python . ':!agent/*/*' -- $(MAKE) --no-print-directory lint-python fast-python
check-rust:
	@scripts/checked .checked/rust agent scripts/supply -- $(MAKE) --no-print-directory lint-rust fast-rust

# Without an agent and without root; what tests write lies in memory where that is possible.
fast-python: export PYTEST_DEBUG_TEMPROOT ?= $(wildcard /dev/shm)
fast-python: $(VENV)/dev
	$(BIN)/python -m pytest -q tests/unit -m "not system and not slow" --numprocesses auto --dist loadfile
fast-rust:
	cd agent && cargo test --locked --quiet

# Only modules that have the name somewhere are imported, which saves seconds; all are where none has, as with "a or b".
t: $(VENV)/dev
	$(BIN)/python -m pytest -m "" -k "$(K)" $(shell grep -rlF --include='test_*.py' -e '$(K)' tests; \
		find tests -path '*$(K)*' -name 'test_*.py')

snapshots: $(VENV)/dev
	$(BIN)/python -m pytest -q tests/unit/snapshots tests/unit/testbed/test_networks.py --snapshot-update

# A test compares each with what it is made of, so that a change of one side alone fails make check.
generate: $(VENV)/dev agent
	vtax/bin/vtax-agent schema >agent/schema.json
	$(BIN)/python -m scripts.contract

demo: install packages-run
	$(BIN)/vtax run quick

# Workers in rooms of their own, and a look at the machine afterwards. What measures has the machine to itself, at the end,
# and a second attempt: a machine can be taken away for milliseconds without its accounts telling.
rooms = -p tests.helpers.rooms --tx '$(1)*popen//python=tests/helpers/room' --dist loadfile --no-loadscope-reorder
TESTED := not soak and not dist and not cluster and not hosts
MEASURED = $(BIN)/python -m pytest tests/system -m "measures and $(TESTED)" $(call rooms,1)
test: install-dev packages-run packages-test
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint-python test-agent
	$(BIN)/python -m pytest -m "not measures and $(TESTED)" $(call rooms,5)
	$(MEASURED) || $(MEASURED) --last-failed --last-failed-no-failures none

test-platforms: install-dev runsc packages-run packages-test
	$(BIN)/python -m pytest -m platform --durations 0

test-hosts: install-dev esxi vcsim packages-run packages-test
	$(BIN)/python -m pytest -m hosts --durations 0

test-cluster: install-dev packages-run packages-test
	$(BIN)/python -m pytest -m cluster --durations 0

# The agent is static. What the tag promises of glibc is of the Python code; vtax-xstate.so is loaded by user-mode Linux alone.
WHEEL_PLATFORM := manylinux_2_17_x86_64
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist: install-dev packages-run
	rm -rf build dist
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist --config-settings=--build-option=--plat-name=$(WHEEL_PLATFORM) .
	$(METADATA) | $(BIN)/python -m scripts.supply bill dist/*.whl
	$(BIN)/python -m pytest -m dist

# Python's tool has an environment of its own: it brings another pip.
AUDIT := .audit
CARGO_DENY := 0.20.2
LOCKS := requirements.lock requirements-dev.lock requirements-cluster.lock requirements-esxi.lock
audit: $(AUDIT)/pip-audit $(AUDIT)/cargo-deny-$(CARGO_DENY)
	$(AUDIT)/bin/cargo-deny --manifest-path agent/Cargo.toml check
	$(AUDIT)/bin/pip-audit --strict --progress-spinner off --disable-pip --require-hashes $(LOCKS:%=-r %)
$(AUDIT)/pip-audit: requirements-audit.lock
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/pip install --quiet --require-hashes -r requirements-audit.lock
	touch $@
$(AUDIT)/cargo-deny-$(CARGO_DENY):
	cargo install --quiet --locked --version $(CARGO_DENY) --root $(AUDIT) cargo-deny
	touch $@

fuzz: export VTAX_FUZZ_INPUTS ?= 1000000
fuzz: install-dev packages-run packages-test
	cd agent && cargo test --locked --test agent fuzz -- --include-ignored
	$(BIN)/python -m pytest -m fuzz --hypothesis-profile fuzz --timeout 1800

soak: install-dev packages-run packages-test
	$(BIN)/python -m pytest -m soak

validate: install-dev packages-run packages-test packages-validate
	$(BIN)/python -m validation $(PARTS)

validate-long: install-dev packages-run packages-test
	$(BIN)/python -m validation.long $(MINUTES)

bench: install-dev packages-run packages-test packages-bench
	$(BIN)/python -m bench $(PARTS)

# All tests of the agent, also those that need root.
test-agent: lint-rust
	cd agent && MAKEFLAGS= cargo test --locked --quiet -- --include-ignored --test-threads 4

lint: lint-rust lint-python
lint-rust:
	cd agent && cargo fmt --check && cargo clippy --locked --all-targets --quiet -- -D warnings
	$(METADATA) | $(PYTHON) -m scripts.supply crates
lint-python: $(VENV)/dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

build: agent
agent: packages-build
	cd agent && cargo build --release --locked
	$(CC) -O2 -Wall -Wextra -Werror -shared -fPIC -o $(XSTATE) agent/uml/xstate.c
	scripts/replace $(AGENT) vtax/bin/vtax-agent
	scripts/replace $(XSTATE) vtax/bin/vtax-xstate.so

# gVisor's runtime, which Debian has not: of the version and the hashes that scripts/runsc names. It needs Go.
runsc: $(BIN)/runsc
$(BIN)/runsc: scripts/runsc/go.mod scripts/runsc/go.sum | $(VENV)/bin/python
	cd scripts/runsc && CGO_ENABLED=0 go build -trimpath -o $(abspath $@) \
		-ldflags "-X gvisor.dev/gvisor/runsc/version.version=$$(sed -n 's,^require gvisor.dev/gvisor ,,p' go.mod)" gvisor.dev/gvisor/runsc

# A simulator of an ESXi host, for tests. It needs Go.
vcsim: $(BIN)/vcsim
$(BIN)/vcsim: scripts/vcsim/main.go scripts/vcsim/go.mod scripts/vcsim/go.sum | $(VENV)/bin/python
	cd scripts/vcsim && CGO_ENABLED=0 go build -trimpath -o $(abspath $@) .

# The virtual environment: what vtax needs to run, and what its tests need beside that.
install: $(VENV)/run agent
install-dev: $(VENV)/dev agent
esxi: $(VENV)/esxi
$(VENV)/bin/python:
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || scripts/packages python3-venv
	$(PYTHON) -m venv $(VENV)
$(VENV)/run: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
$(VENV)/esxi: $(VENV)/run requirements-esxi.lock
	$(BIN)/pip install --quiet --require-hashes -r requirements-esxi.lock
	touch $@
$(VENV)/dev: $(VENV)/run requirements-dev.lock requirements-cluster.lock
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --require-hashes -r requirements-cluster.lock
	touch $@

packages-build:
	@scripts/packages $(BUILD_PACKAGES)
packages-run:
	@scripts/packages $(RUN_PACKAGES)
packages-test:
	@scripts/packages $(TEST_PACKAGES)
packages-bench:
	@scripts/packages $(BENCH_PACKAGES)
packages-validate:
	@scripts/packages $(VALIDATE_PACKAGES)
