# make demo and make test need nothing but Python 3.10 or newer and make: both install into .venv first.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
EXTRAS := build,local,perf,examples,dev
FIXED := tritonsmith builders serving perf python_backend examples benchmarks tests

.DEFAULT_GOAL := help
.PHONY: help install demo check format test bench wheel clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(VENV)/.installed ## Make .venv with all that demo, checks and tests need

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	$(RUN) -m perf.install --optional
	touch $@

demo: install ## Build two real models, serve them with Triton, compare with PyTorch, measure, report
	$(RUN) -m examples.demo

check: install ## ruff, format, mypy strict, import rules
	$(RUN) -m ruff check $(FIXED)
	$(RUN) -m ruff format --check $(FIXED)
	$(RUN) -m mypy
	$(RUN) -m pytest tests/test_imports.py

format: install ## Format and fix what ruff can
	$(RUN) -m ruff format $(FIXED)
	$(RUN) -m ruff check --fix $(FIXED)

test: install ## All tests, those against the real server included
	$(RUN) -m pytest

bench: install ## The benchmarks whose figures the docs quote
	$(RUN) -m benchmarks.portable_backend

wheel: install ## Build the wheel into dist/
	$(RUN) -m build --wheel

clean: ## Remove what was built, keep .venv
	rm -rf build dist reports .mypy_cache .pytest_cache .ruff_cache .hypothesis
	git clean -fdXq model_repository
