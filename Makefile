PY ?= .venv/bin/python
# Processes that share the tests, with one BLAS thread each.
N ?= 2
# Where the pages of all versions are shown.
SITE ?= https://sepc-project.github.io/sepc/
# What `make test-wheel` tries: a few of the core tests, or with OPTIONS= all of them.
OPTIONS ?= --quick
# What is compiled once is not compiled again by each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = OMP_NUM_THREADS=1 $(PY) -m pytest -n $(N) --dist worksteal
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: help setup lint types test golden golden-accept engines rivals browser test-slow test-wheel test-oldest test-newest mutate fuzz docs links site bench attacks release rehearse desk-tools desk-setup desk-types desk-test desk-slow desk-load desk-faults desk-review

help:  ## these lines
	@sed -n 's/^\([a-z-]*\):.*##/\1:/p' Makefile | awk -F ':  ?' '{printf "%-14s%s\n", $$1, substr($$0, length($$1) + 3)}'

setup:  ## a virtual environment with everything a developer needs; files are compiled when first imported, which saves a minute
	python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable . --editable benchmarks --group dev

lint:  ## ruff and codespell; what `pre-commit install` runs before each commit
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codespell_lib

types:  ## mypy, strict in src, or in TYPED; in benchmarks and tests, also the bodies of functions without annotations
	$(PY) -m mypy $(TYPED)
	$(PY) -m mypy --config-file tests/mypy.ini

# What tests need besides a processor: real engines, the code of the pages, benchmarks with rivals beside.
KINDS = cluster docs bench
test:  ## what a change breaks first, in minutes; WITH="cluster docs bench", or some of them, runs these as well
	$(PYTEST) -m "not (slow$(foreach kind,$(filter-out $(WITH),$(KINDS)), or $(kind)))"

engines:  ## clusters of Dask, Spark, PostgreSQL and servers of MLflow alone
	$(PYTEST) -m "cluster and not slow"

rivals:  ## every benchmark at its smallest size, most of them beside other libraries
	$(PYTEST) -m "bench and not slow"

browser:  ## the pages of the desk in a real Chromium, which clicks
	$(MAKE) desk-tools WITH=chromium
	$(MAKE) desk-setup WITH=browser
	cd desk && $(abspath $(PY)) -m pytest tests/test_browser.py tests/test_owner_browser.py

test-slow:  ## what runs weekly: long tests, notebooks, and more drawn examples
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile weekly

test-wheel:  ## the wheel alone in a fresh environment, with a few of the core tests; with OPTIONS= all that need no extra
	$(PY) tools/try_wheel.py $(OPTIONS)

test-oldest:  ## the wheel with the oldest dependencies we support and all core tests; these have wheels for Python 3.11
	$(PY) tools/try_wheel.py --constraint constraints-oldest.txt

test-newest:  ## the same with the newest dependencies, pre-releases as well
	$(PY) tools/try_wheel.py --newest

golden:  ## what scenarios answer on the code of the commit BASE and here, with all digits
	OMP_NUM_THREADS=1 $(PY) tests/golden/record.py --base $(or $(BASE),HEAD)

golden-accept:  ## store what they answer now, for the tests of all later commits
	OMP_NUM_THREADS=1 $(PY) tests/golden/record.py --accept

mutate:  ## change the source in 60 places, one at a time, and count what the tests notice; hours; COMMIT=another commit
	$(PY) tools/mutate.py $(if $(COMMIT),--commit $(COMMIT))

fuzz:  ## ten minutes of coverage-guided fuzzing of all files; needs `pip install atheris`
	$(PY) tools/fuzz_load.py -max_total_time=600 -max_len=100000

docs:  ## the documentation with its gallery, in docs/_build/html; a warning is an error; EXAMPLES=pattern runs those examples only
	rm -rf docs/reference/generated
	$(if $(EXAMPLES),SEPC_DOCS_EXAMPLES='$(EXAMPLES)') $(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html

links:  ## every link within the pages that `make docs` built
	$(PY) tools/check_links.py docs/_build/html

site:  ## the pages with a version switcher, added to the folder of all versions; SITE=its address
	SEPC_DOCS_SITE=$(SITE) $(MAKE) docs
	$(PY) tools/add_to_site.py docs/_build/html docs/_build/site $(SITE)

bench:  ## the benchmark suites NAMES, whose tables go into the pages; without NAMES, a list of them
	$(PY) -m sepc_benchmarks $(NAMES)

attacks:  ## try to break every promise, with 1,000 draws an attack; about half an hour on two cores
	$(PY) -m sepc_benchmarks attacks

release:  ## the archives, in dist/, checked as an index would; VERSION=1.2.3 first writes the changelog, and the files that all later versions must read
	$(if $(VERSION),$(PY) -m towncrier build --name sepc --yes --version $(VERSION))
	$(if $(VERSION),PYTHONPATH=tests:tests/io $(PY) -W ignore tests/io/make_fixtures.py)
	$(PY) -m build --no-isolation --outdir dist
	$(PY) -m twine check --strict dist/*
	$(PY) -m check_wheel_contents dist/*.whl

rehearse:  ## a release from a clean clone, short of the tag, with every Python and every extra; a quarter of an hour
	$(PY) tools/rehearse_release.py

desk-tools:  ## what the tests of the desk need of Debian: PostgreSQL; with WITH=wrk, also what sends load
	ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || $(AS_ROOT) sh -c "apt-get update -qq && apt-get install -qq -y postgresql"
	$(if $(WITH),$(AS_ROOT) apt-get install -qq -y $(WITH))

comma := ,
desk-setup:  ## the second distribution, desk/, in the same environment; with WITH=browser, also Playwright
	$(PY) -m pip install --quiet --no-compile --constraint constraints.txt --constraint desk/constraints.txt --editable "desk[test$(if $(WITH),$(comma)$(WITH))]"

desk-types:  ## mypy, strict, of the desk
	cd desk && $(abspath $(PY)) -m mypy

desk-test:  ## the quick tests of the desk; needs Debian's postgresql, Node.js and npm
	cd desk && OMP_NUM_THREADS=1 $(abspath $(PY)) -m pytest -n $(N) --dist loadgroup -m "not slow"

desk-slow:  ## weekly: the same tests with many more attacks, replays and fuzzed requests, then memory and faults
	cd desk && OMP_NUM_THREADS=1 DESK_ATTACKS=100 DESK_REPLAYED=8400 DESK_FUZZED=800 $(abspath $(PY)) -m pytest
	$(PY) desk/benchmarks/memory.py
	$(MAKE) desk-faults

desk-faults:  ## kill, stop, fill and hang in mid-load, TIMES times each; the control must lose some
	for fault in kill-one kill-all stop-postgresql full-disk hang control; do \
	  $(PY) desk/tests/faults/faults.py --fault $$fault --times $(or $(TIMES),50) || exit 1; done
	for fault in kill-one kill-all full-disk; do \
	  $(PY) desk/tests/faults/faults.py --fault $$fault --times $(or $(TIMES),50) --database sqlite || exit 1; done

desk-review:  ## certificates under careless readers, leases with processes killed, pages for 50 reviewers, and a week of work
	for name in certificates certificates_together leases pages week; do \
	  $(PY) desk/benchmarks/$$name.py --output desk/benchmarks/results/$$name.json || exit 1; done

desk-load:  ## requests a second beside an echo and MLflow's server, then half an hour at half load; needs Debian's wrk
	$(PY) desk/benchmarks/load.py --mlflow-python $(PY)
	$(PY) desk/benchmarks/soak.py
