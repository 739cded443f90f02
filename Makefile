# Each target sets up what it needs. `make demo` needs nothing but Python 3.11 or newer with venv.
PYTHON ?= python3
BIN := .venv/bin

# Errors only: no progress, no notice of a newer pip, no warning about a user's own settings.
# pip compiles one file after the other; `COMPILED` does it on all processors, and leaves out tests and hundreds of models.
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip install -q -q --progress-bar off --no-compile
COMPILED = $(BIN)/python -m compileall -q -q -j 0 -x '/tests?/|/torch/testing/|/transformers/models/(?!auto/)' .venv/lib >/dev/null || true # some packages hold files that are no Python

# On three workers, on six beside other programs; what fails runs once more, alone, and is named as flaky if it then passes.
SUITE := $(BIN)/python tools/suite.py

# What an installation depends on: the core of the load client is compiled by it.
BUILT_FROM := pyproject.toml constraints.txt setup.py src/fireassay/traffic/wire/_core.c

.PHONY: demo demo-full demo-serving fast test test-all test-newest test-busy cases prepare check package release-check bench docs site-docs

# Every verdict is a good demo: NO GAIN (9), and on a busy machine FAIL (1) and INCONCLUSIVE (4) too; INVALID and errors are not.
ANY_VERDICT = case $$? in 1|4|9) ;; *) exit 1;; esac

demo: .venv/examples.stamp
	@echo "a first verdict: 1 and 2 workers, launches until it is decided: 26 to 98 s on two overloaded cores; make demo-full takes minutes"
	@$(BIN)/assay run examples/demo.toml || $(ANY_VERDICT)

demo-full: .venv/examples.stamp
	@echo "1, 2 and 4 workers and a killed worker: 16 launches, about 4 minutes on two idle cores"
	@$(BIN)/assay run examples/digits.toml || $(ANY_VERDICT)

demo-serving: .venv/engine.stamp
	$(BIN)/python examples/serving/make_model.py examples/serving/tiny
	$(BIN)/python examples/serving/make_prompts.py examples/serving/tiny examples/serving/tiny/prompts.jsonl
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/assay run examples/serving_demo.toml || $(ANY_VERDICT)

test: prepare
	@# What is needed to trust a change: every module and kind of record, each verb, a training, a page in the browser, a kill.
	$(SUITE) test

test-all: prepare
	@# The rest, not all over again: both together are every test once. .ci/run runs both in one go.
	$(SUITE) test-all

fast: prepare
	@# What needs no process, no sleep, no torch and no browser, and computes little: tests/fast.py skips the rest.
	$(BIN)/pytest -p tests.fast -n 2 -q -r f

test-newest:
	@# What breaks with the newest dependencies, beyond the upper bounds of pyproject.toml? A copy of the tree, with an environment that goes again.
	$(PYTHON) tools/newest.py

test-busy: prepare
	@# What holds on an idle machine only is no test: the same beside four loops that never wait.
	$(BIN)/python tools/busy.py 4 $(SUITE) test

cases: prepare
	@# Inputs that failed once, each with the right value; a part of the suite.
	$(BIN)/pytest -n 2 -q tests/cases

prepare: .venv/dev.stamp
	@# The tests start hundreds of processes; each would compile assay again where PYTHONDONTWRITEBYTECODE is set.
	@$(BIN)/python -m compileall -q src
	@# And pytest compiles the tests with their assertions rewritten: once here, not by every worker of the first run at the same time.
	@# The plugins too, of which Hypothesis alone takes as long as the rest of the start of pytest; many tests start it.
	@# What is wrong with a test the suite says; here it would only cost the suite.
	@test -d tests/__pycache__ || ls -d tests/*/ | PYTHONDONTWRITEBYTECODE= xargs -P 2 -n 12 $(BIN)/pytest --collect-only -qq >/dev/null || true

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests/api/user_program.py
	$(BIN)/lint-imports
	$(BIN)/python tools/reference.py --check
	$(BIN)/python tools/size.py --check
	$(BIN)/python tools/subjects.py

package: .venv/dev.stamp
	@# An sdist and a wheel, as the index would take them, in dist/, and the wheel where nothing else is installed.
	$(BIN)/python tools/package.py

release-check: .venv/dev.stamp
	@# All that a release needs but the upload: versions, changelog, both architectures' wheels, equal bytes, an empty environment.
	$(BIN)/python -m tools.release_check $(VERSION)

bench: .venv/dev.stamp
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: .venv/dev.stamp
	$(BIN)/python tools/reference.py

site-docs: .venv/dev.stamp
	@# All pages with a search, in build/site; a warning or a dead link is an error.
	$(BIN)/python tools/site_docs.py

.venv/examples.stamp: $(BUILT_FROM)
	@echo "setting up .venv for the examples (once); downloading torch takes a minute or more"
	@$(PYTHON) -m venv .venv
	@$(PIP) -c constraints.txt -e '.[examples]'
	@$(COMPILED)
	@touch $@

.venv/engine.stamp: $(BUILT_FROM)
	@echo "setting up .venv with a real engine (once); downloading torch and transformers takes a minute or two"
	@$(PYTHON) -m venv .venv
	@$(PIP) -c constraints.txt -e '.[engine,serving]'
	@$(COMPILED)
	@touch $@

.venv/dev.stamp: $(BUILT_FROM)
	@echo "setting up .venv with everything that development needs (once); downloading torch takes a minute or more"
	@$(PYTHON) -m venv .venv
	@$(PIP) -c constraints.txt -e '.[dev,examples]'
	@$(COMPILED)
	@touch $@
