# The project's one task runner. `make demo` and `make test` set up everything they need, system packages included.

SHELL := /bin/sh
export UV_PYTHON_DOWNLOADS := never
export PYTHONDONTWRITEBYTECODE :=
PYTHON := .venv/bin/python

PURE := $(addprefix tests/,base contract execute/monitor judge/patch_policy judge/report present record/trace study/analysis \
    test_layers.py test_plain_words.py)

QUICK := -m \"not soak and not container and not agents and not browser and not peers\"

.PHONY: check demo test soak pythons oldest dist containers browser agents peers style lint honest bench mutants docs site clean

demo:             ## run a bundled task with three agents, and catch the one that cheats
	@tools/bootstrap demo
	.venv/bin/proctor demo

# One process writes the byte code of all tests first; otherwise each worker of the first session makes all of it.
test: style       ## style, types and every test but the long ones and those that need an engine, a browser or real agents
	@$(PYTHON) tools/parallel.py \
	    tests='sh -c "$(PYTHON) -m pytest -n 0 --collect-only -qq >/dev/null; exec $(PYTHON) -m pytest -n 6 --dist worksteal $(QUICK)"' \
	    types='$(PYTHON) -m mypy'

check: style      ## style, types and the tests that start no sandbox, in about a minute
	@$(PYTHON) tools/parallel.py tests='$(PYTHON) -m pytest -q -n 2 -m "not soak and not browser" $(PURE)' types='$(PYTHON) -m mypy'

soak:             ## the long tests
	@tools/bootstrap release
	$(PYTHON) -m pytest -n 4 --dist worksteal -m "soak and not container and not browser"

pythons:          ## what users install, outside the checkout and on each supported Python that is here
	@tools/bootstrap test
	$(PYTHON) -m pytest -n 2 tests/install --deselect tests/install/test_oldest.py

oldest:           ## the parts that use dependencies, with the lowest versions that the package allows
	@tools/bootstrap test
	$(PYTHON) -m pytest -n 0 tests/install/test_oldest.py

dist:             ## the files of a release, built and checked in dist; RELEASE=--tagged refuses an untagged tree
	@tools/bootstrap release
	$(PYTHON) tools/release.py $(RELEASE)

containers:       ## the tests that start Docker and podman themselves; engine faults at more instants with INSTANTS=30
	@tools/bootstrap containers
	$(if $(INSTANTS),PROCTOR_TEST_INSTANTS=$(INSTANTS) )$(PYTHON) -m pytest -n 2 --dist worksteal -m container

browser:          ## the report in a real browser, and what axe holds against it
	@tools/bootstrap browser
	$(PYTHON) -m pytest -n 0 -m browser

agents:           ## real agents, installed, run and replayed five times (REPEATS=1); some with AGENTS="pi or codex"
	@tools/bootstrap test
	PROCTOR_REPLAYS=$(or $(REPEATS),5) $(PYTHON) -m pytest -n 0 -m agents $(if $(AGENTS),-k "$(AGENTS)")

peers:            ## what `proctor export` writes, by the validators of SWE-bench, Harbor, Inspect and OpenTelemetry
	@tools/bootstrap test
	$(PYTHON) -m pytest -n 0 -m peers

style:            ## style and format
	@tools/bootstrap test
	$(PYTHON) -m ruff check -q
	$(PYTHON) -m ruff format -q --check

lint: style       ## style, format and types
	$(PYTHON) -m mypy

honest:           ## judge every right solution at hand TIMES times: none may be called forged
	@tools/bootstrap test
	$(PYTHON) -m tests.forgeries.loader $(or $(TIMES),6)

bench:            ## speed against the floor of doing the same without Proctor
	@tools/bootstrap test
	$(PYTHON) -m bench

mutants:          ## change the judging core in every small way, and count the changes that no test notices
	@tools/bootstrap test
	$(PYTHON) tools/mutants.py $(MODULES)

docs:             ## write docs/reference from the code
	@tools/bootstrap test
	$(PYTHON) tools/reference.py

site:             ## build the documentation in site, and fail on a broken link; read it with: python -m http.server -d site
	@tools/bootstrap test
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

clean:            ## remove everything that the other targets made
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site src/proctor/execute/sandbox/bin
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +
