PY ?= .venv/bin/python

.PHONY: setup lint types test test-slow docs bench bench-trust bench-trust-quick

setup:  ## a virtual environment with everything a developer needs
	python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv/bin/python -m pip install --quiet --constraint constraints.txt --editable . --group dev

lint:
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types:
	$(PY) -m mypy

test:
	$(PY) -m pytest -m "not slow"

test-slow:
	$(PY) -m pytest -m slow

bench:
	$(PY) benchmarks/enclose.py --output benchmarks/results/enclose.json
	$(PY) benchmarks/hulls.py --output benchmarks/results/hulls.json
	$(PY) benchmarks/classifier.py --output benchmarks/results/classifier.json
	$(PY) benchmarks/reference.py --output benchmarks/results/reference.json
	$(PY) benchmarks/accuracy.py --output benchmarks/results/accuracy.json
	$(PY) benchmarks/constants.py --output benchmarks/results/constants.json
	$(PY) benchmarks/guarantees.py --output benchmarks/results/guarantees.json
	$(PY) benchmarks/write_tables.py

bench-trust:  ## the comparison of trust with other models; hours, goes on where it was stopped
	$(PY) benchmarks/trust/run.py --output benchmarks/results/trust.json --images docs/images
	$(PY) benchmarks/write_tables.py

bench-trust-quick:
	$(PY) benchmarks/trust/run.py --quick
