# Benchsite's everyday commands. `make` alone lists them.

# The tested Python first, then newer ones. A name that does not answer (an unset version manager) is passed over; where
# none suits, python3 is left to say what is wrong with it.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$name"; exit; }; \
	done; echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
PIP_OPTIONS := --progress-bar off
STEP = $(PYTHON) benchsite/core/progress.py
MANAGE := $(BIN)/python manage.py
# Test modules are compiled in pytest's own way: not to keep that, as containers say, costs ten seconds of each process.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest

.DEFAULT_GOAL := help
.PHONY: help demo study studies-small up down bindings servers test-systems venv test test-fast test-long bench calibrate durability \
	faults images openapi prerequisites test-mutation lint lint-style lint-format lint-types lint-words lint-imports lint-templates \
	lint-migrations lint-wheels lint-audit
# Installing and building happen one after the other, and nothing half made counts as made.
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: venv bindings ## the whole site and the quick study; EXIT=1 ends after it, FULL=1 has five modes, PORT=8000
	@exec $(MANAGE) demo

study: venv bindings ## the ceiling of every system that this machine can start; resumes; ARGS=--plan says how long
	@exec $(MANAGE) study $(ARGS)

studies-small: ALL := 1
studies-small: venv bindings ## the published studies on stand-ins, 20 minutes each at most; ARGS="vari-2013"
	@exec $(MANAGE) studies_small $(ARGS)

up: ALL := 1
up: venv bindings ## the site alone, in the background, with the clients of every system; PORT=8000
	@exec $(MANAGE) up

down: venv ## stop a site that was started by `make up` or `make demo`
	@exec $(MANAGE) down

# Names behind `bindings` and `servers` are systems.
ifneq ($(filter bindings servers,$(firstword $(MAKECMDGOALS))),)
SYSTEMS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
$(eval $(SYSTEMS):;@:)
endif

bindings: prerequisites ## YCSB's bindings of Redis and PostgreSQL into var/ycsb; `make bindings cassandra`, ALL=1; also go-ycsb
	@$(PYTHON) workers/systems/build.py $(if $(ALL),--all) $(SYSTEMS)

servers: prerequisites ## servers that are Java programs into var/servers: `make servers cassandra`
	@$(PYTHON) workers/systems/build.py --servers $(SYSTEMS)

test-systems: prerequisites
	@$(PYTHON) workers/systems/build.py --all
	@$(PYTHON) workers/systems/build.py --servers

venv: $(VENV)/.installed ## the virtual environment in .venv

test: $(VENV)/.installed-dev test-systems ## every test but the very long ones, with the servers they need
	@exec $(PYTEST) -m "not long" -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: $(VENV)/.installed-dev ## within a minute: pure code, and some tests of rows and pages of every package
	@exec $(PYTEST) -m "not slow and not long" -n 2 --dist worksteal $(ARGS)

test-long: $(VENV)/.installed-dev test-systems ## only the very long tests: one try of every fault, fuzzing
	@exec $(PYTEST) -m long $(ARGS)

test-mutation: $(VENV)/.installed-dev ## which changes of runs/results/measures and runs/checks no test notices; ARGS="runs.results.measures.little*"
	@exec $(BIN)/mutmut run $(ARGS)

lint: $(VENV)/.installed-dev ## style, types, words, imports, templates, migrations, wheels, advisories
	@$(MAKE) --no-print-directory --keep-going lint-style lint-format lint-types lint-words lint-imports \
		lint-templates lint-migrations lint-wheels lint-audit

lint-style:
	$(BIN)/ruff check --quiet

lint-format:
	$(BIN)/ruff format --check --quiet

lint-types:
	$(BIN)/mypy --no-error-summary .

lint-words:
	@$(BIN)/python .ci/check_words.py
	@$(BIN)/python .ci/check_messages.py

lint-imports:
	$(BIN)/lint-imports --no-logo

lint-templates:
	@find . -path ./$(VENV) -prune -o -path ./var -prune -o -path '*/templates/*.html' -print0 | \
		xargs -0 $(BIN)/djade --check

lint-migrations:
	@$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

lint-wheels:
	@$(BIN)/python .ci/check_wheels.py

lint-audit:
	@$(BIN)/python .ci/check_advisories.py

openapi: $(VENV)/.installed ## the API's description anew: docs/openapi.json
	@exec $(BIN)/python -W ignore::RuntimeWarning manage.py openapi

images: $(VENV)/.installed-dev ## images and offline report of README and docs, from a running site's quick study; ARGS=--study
	@exec $(MANAGE) doc_images $(ARGS)

bench: venv bindings ## how fast Benchsite itself is: tables, and var/bench/*.json
	@exec $(MANAGE) bench $(ARGS)

calibrate: venv bindings ## a known server as the target of a ladder: the error of the results on this host
	@exec $(MANAGE) calibrate $(ARGS)

durability: venv bindings ## what durability modes lose at power cuts, as root; CUTS=20, ARGS=mariadb
	@exec $(MANAGE) durability --cuts $(or $(CUTS),20) $(ARGS)

faults: $(VENV)/.installed-dev bindings ## real faults on a private site, as root: FAULT=kill-conductor TRIES=10; all without FAULT
	@exec $(MANAGE) faults $(or $(FAULT),all) --tries $(or $(TRIES),1)

lock: $(VENV)/.installed-dev ## the hashes of all wheels that requirements.txt pins: requirements.lock
	@exec $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--output-file requirements.lock requirements.txt

release: ## the digests of all images of compose and the Dockerfile: docker-compose.digests.yml
	@exec $(PYTHON) .ci/write_digests.py

prerequisites:
	@$(PYTHON) benchsite/core/prerequisites.py $(firstword $(MAKECMDGOALS))

$(VENV)/.installed: requirements.lock | prerequisites
	@test -x $(BIN)/pip || $(STEP) "Virtual environment" var/log/venv.log $(PYTHON) -m venv --clear $(VENV)
	@$(STEP) "Packages of requirements.lock" var/log/packages.log \
		$(PIP) install $(PIP_OPTIONS) --require-hashes --no-deps -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: .ci/requirements-dev.txt $(VENV)/.installed
	@$(STEP) "Packages of tests and lint" var/log/packages-dev.log $(PIP) install $(PIP_OPTIONS) -r .ci/requirements-dev.txt
	@touch $@
