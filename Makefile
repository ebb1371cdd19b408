# Two commands do everything: `make demo` and `make test`. Both set up first.
# Java is looked for when the tests start: set-up may just have installed it.

VENV := .venv
READY := $(VENV)/.ready

.PHONY: setup demo test chaos check format clean

setup: $(READY)

$(READY): pyproject.toml scripts/setup.sh scripts/java_home.sh
	scripts/setup.sh $(VENV)
	touch $@

demo: $(READY)
	$(VENV)/bin/thalweg demo

test: $(READY) check
	JAVA_HOME=$$(scripts/java_home.sh) $(VENV)/bin/python -m pytest -n auto --dist loadgroup

# Fifty kills of workers and drivers at random instants; `make test` has five.
chaos: $(READY)
	THALWEG_KILLS=50 JAVA_HOME=$$(scripts/java_home.sh) $(VENV)/bin/python -m pytest -v tests/spark/test_chaos.py

check: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(READY)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
