# One virtual environment for everything; it is made again where what it is made from has changed.
#   make demo      trains a model that reads dates in twenty languages, and draws what it attends to
#   make test      the first tier of tests: each module, invariant, job and verb once, some 20 minutes on two cores
#   make test-slow the other tests
#   make test-all  every test
#   make check     lint, types, and the documentation built strictly
#   make coverage  the first tier of tests, with the coverage that must not fall
#   make draws     the tests whose examples are drawn, on new examples, ROUNDS times over
#   make mutants   break the source in 33 places: `make test` notices

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
READY := .venv/ready
JOBS ?= 2
ROUNDS ?= 5
SHARED = -n $(JOBS) --dist worksteal
export PATH := $(CURDIR)/.venv/bin:$(PATH)
unexport PYTHONDONTWRITEBYTECODE  # else each process compiles the sources anew, and the tests' asserts

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-all draws mutants check lint types coverage docs bench

help:
	@sed -n 's/^#   //p' Makefile

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) and f"Saccade needs Python 3.11 or newer, {sys.executable} is {v}: try make PYTHON=python3.12")'
	@echo "making .venv: about 3 GB, and some minutes"
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet -c constraints.txt -e '.[all]'
	@touch $@

# What the demo shows is what anyone can type. The run is kept: the next time it is shown as it is, or continued.
RUN ?= runs/demo
DATES := docs/dates.txt
demo: $(READY)
	saccade train translate --data dates --model rnnsearch --run $(RUN) --seed 1
	saccade eval $(RUN) --split test
	saccade predict $(RUN) --input $(DATES) | paste $(DATES) -
	saccade look $(RUN) --input $(DATES) --output $(RUN)/pictures

test: $(READY)
	python -m pytest $(SHARED) -m "not slow"

test-slow: $(READY)
	python -m pytest $(SHARED) -m slow

test-all: $(READY)
	python -m pytest $(SHARED)

draws: $(READY)
	for round in $$(seq $(ROUNDS)); do HYPOTHESIS_PROFILE=draws python -m pytest $(SHARED) -m hypothesis tests || exit; done

mutants: $(READY)
	python tools/mutants.py --all

check: lint types docs

lint: $(READY)
	ruff check .
	python tools/prose.py

types: $(READY)
	mypy

coverage: $(READY)
	python -m pytest $(SHARED) -m "not slow" --cov --cov-report=term

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

bench: $(READY)
	saccade bench
