# `make demo` and `make test` need git, make, python3 (with venv or pip) and a network; the rest is brought into this folder.
# Steps that are done leave a stamp, so that a second call costs nothing.

PORT ?= 8000
NODES ?= 2000
SHELL := /bin/sh
PY := .venv/bin/python
PYTEST := .venv/bin/pytest
UV := $(or $(shell command -v uv 2>/dev/null),$(CURDIR)/.venv-tools/bin/uv)
UVX := $(or $(shell command -v uvx 2>/dev/null),$(CURDIR)/.venv-tools/bin/uvx)
export UV_LINK_MODE ?= copy
STATIC_SOURCES := $(shell find static -type f 2>/dev/null)
# A real browser on a busy machine: such a test may be tried again, and pytest says which were (rerun).
AGAIN = --reruns 2
# One process per core and one more, since many tests wait; whoever has spare time takes over from the others.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 1) + 1)
IN_PARALLEL ?= -n $(WORKERS) --dist worksteal
# All that asks a database or a broker; the demo brings its own, and settings ask none.
NO_DATABASE := $(wildcard tests/console/demo tests/console/test_settings.py)
# Who may do what, and what the schema says of it, is the same on any database: `make test` asks it, and once is enough.
ON_ANY_DATABASE := $(wildcard tests/console/test_role_matrix.py tests/contract/test_schema*.py)
ON_A_DATABASE := $(wildcard tests/console tests/contract tests/live tests/faults) $(NO_DATABASE:%=--ignore=%) $(ON_ANY_DATABASE:%=--ignore=%)

.DELETE_ON_ERROR:
.PHONY: help install demo demo-reset test test-browser test-postgres test-published test-kubernetes test-prometheus screenshots bench bench-consolidation bench-replay bench-spot lint format clean

help:
	@echo "make demo [PORT=8000] [NODES=2000]   the whole console on this machine"
	@echo "make demo-reset                      forget the demo's data"
	@echo "make test                            the suite: SQLite, bundled server, everything but the browser"
	@echo "make test-browser                    the main job in chromium"
	@echo "make test-postgres                   the console's suite on DATABASE_URL and REDIS_URL"
	@echo "make test-published                  against traces and published tables in SLACKLINE_SHARED"
	@echo "make test-kubernetes                 the connector's contract on the cluster of KUBECONFIG, else on the player"
	@echo "make test-prometheus                 telemetry on a real Prometheus: PROMETHEUS_URL, or the binary of that name"
	@echo "make screenshots                     the pictures in docs/images, taken anew in chromium"
	@echo "make bench-consolidation             plans against proven optima: the exact stage beside the chains alone"
	@echo "make bench-replay                    published policies, then the spot trace's twin and an ASI-like fleet replayed"
	@echo "make bench-spot                      lending: rows S1 to S5, forecasts and chances; ARGS=--quick for one seed"
	@echo "make bench | lint | format | install | clean"

install: .venv/.installed .venv/.compiled node_modules/.installed staticfiles/.collected

$(CURDIR)/.venv-tools/bin/uv:
	scripts/bring-uv $(CURDIR)/.venv-tools

.venv/.installed: requirements.lock pyproject.toml .python-version | $(UV)
	test -x $(PY) || scripts/bring-python $(UV) "$$(cat .python-version)" .venv
	VIRTUAL_ENV=$(CURDIR)/.venv $(UV) pip sync --quiet --require-hashes requirements.lock
	VIRTUAL_ENV=$(CURDIR)/.venv $(UV) pip install --quiet --no-deps -e .
	touch $@

# The kernels of planners and of the replay loop, compiled once and kept on disk, so that the first plan waits for no compiler
.venv/.compiled: .venv/.installed $(wildcard scheduler/consolidation/*.py scheduler/placement/*.py scheduler/replay/*.py)
	$(PY) -m scheduler.replay.warm & loop=$$!; $(PY) -m scheduler.consolidation.warm && wait $$loop
	$(PY) -m scheduler.placement.warm
	touch $@

node_modules/.installed: package-lock.json package.json | $(UV)
	scripts/front-end $(UVX)
	touch $@

staticfiles/.collected: .venv/.installed node_modules/.installed $(STATIC_SOURCES)
	SLACKLINE_DEMO=1 $(PY) manage.py collectstatic --noinput --clear --verbosity 0
	touch $@

demo: install
	@SLACKLINE_DIE_WITH_PARENT=1 exec $(PY) -m console.demo run --port "$(PORT)" --nodes "$(NODES)"

demo-reset: .venv/.installed
	@exec $(PY) -m console.demo reset

test: install
	$(PYTEST) tests --ignore=tests/browser --ignore=tests/published $(IN_PARALLEL) $(ARGS)

test-browser: install
	$(PYTEST) tests/browser $(AGAIN) $(ARGS)

test-postgres: install
	@test -n "$$DATABASE_URL" -a -n "$$REDIS_URL" || { echo "Set DATABASE_URL (postgres://...) and REDIS_URL first." >&2; exit 1; }
	$(PYTEST) $(ON_A_DATABASE) $(IN_PARALLEL) $(ARGS)

test-published: install
	@test -d "$$SLACKLINE_SHARED" || { echo "Set SLACKLINE_SHARED to the folder of traces and published tables." >&2; exit 1; }
	$(PYTEST) tests/published $(ARGS)

test-kubernetes: install
	@if test -n "$$KUBECONFIG"; then echo "on the cluster of $$KUBECONFIG (CONTEXT chooses among several)"; else echo "on the player: KUBECONFIG is not set"; fi
	$(PYTEST) tests/kubernetes/test_contract.py $(ARGS)

test-prometheus: install
	@test -n "$$PROMETHEUS_URL$$PROMETHEUS" || command -v prometheus >/dev/null || { echo "Install prometheus (Debian has a package), name its binary by PROMETHEUS, or set PROMETHEUS_URL." >&2; exit 1; }
	$(PYTEST) tests/telemetry/test_contract.py $(ARGS)

screenshots: install
	$(PY) -m tests.browser.screenshots docs/images

bench: install
	@for file in $(wildcard benchmarks/[!_]*.py); do echo "== $$file"; $(PY) -m benchmarks.$$(basename $$file .py) $(ARGS) || exit 1; done

bench-consolidation: install
	@$(PY) -m benchmarks.exactness $(ARGS)

bench-replay: install
	@$(PY) -m benchmarks.replay
	@$(PY) -m benchmarks.replaying $(ARGS)

bench-spot: install
	@$(PY) -m benchmarks.spot $(ARGS)
	@case "$(ARGS)" in *--quick*) ;; *) $(PY) -m benchmarks.forecasting && $(PY) -m benchmarks.spot_chance && $(PY) -m benchmarks.explain;; esac

lint: .venv/.installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	SLACKLINE_DEMO=1 $(PY) manage.py makemigrations --check --dry-run
	SLACKLINE_DEMO=1 $(PY) manage.py spectacular --validate --fail-on-warn --file /dev/null

format: .venv/.installed
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .

clean:
	rm -rf .venv .venv-tools node_modules staticfiles build
