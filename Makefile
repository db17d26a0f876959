# `make test` and `make demo` work on a fresh clone: where no virtual environment is active they make
# .venv and install into it. Each set of packages is installed once, until pyproject.toml changes.

ENV := $(or $(VIRTUAL_ENV),.venv)
PYTHON := $(ENV)/bin/python
PYTEST_ARGS ?=

.PHONY: demo test lint bench clean

demo: $(ENV)/.loopwright-demo
	$(PYTHON) tests/bench/demo.py

test: $(ENV)/.loopwright-test
	$(PYTHON) -m pytest $(PYTEST_ARGS)

lint: $(ENV)/.loopwright-lint
	$(ENV)/bin/ruff check .
	$(ENV)/bin/ruff format --check .
	$(ENV)/bin/mypy

bench: $(ENV)/.loopwright-bench
	$(PYTHON) tests/bench/dispatch.py
	$(PYTHON) tests/bench/kernels.py
	$(PYTHON) tests/bench/firstcall.py
	$(PYTHON) tests/bench/network.py

$(PYTHON):
	python3 -m venv $(ENV)

$(ENV)/.loopwright-%: pyproject.toml | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable '.[$*]'
	@touch $@

clean:
	rm -rf build *.egg-info .venv .ci-venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
