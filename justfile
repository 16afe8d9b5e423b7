# The usual commands. `just` alone lists them; without just: CONTRIBUTING.md.
uv := ".uv/bin/uv run"

_default:
    @just --list

# a locked environment in .venv
setup:
    test -x .uv/bin/uv || (python3 -m venv .uv && .uv/bin/pip install -q uv)
    .uv/bin/uv sync --locked -p '>=3.12'

# fast tests; arguments go to pytest
test *args:
    {{uv}} pytest {{args}}

# long runs of samplers
slow *args:
    {{uv}} pytest -m slow --dist worksteal {{args}}

# format, lint, types
lint:
    {{uv}} ruff format .
    {{uv}} ruff check .
    {{uv}} ty check

# examples in docstrings, laws and predictions, with types and shapes checked
examples:
    {{uv}} pytest --doctest-modules --jaxtyping-packages=bayesgen,beartype.beartype -k "not law_guesses" bayesgen tests/likelihoods/test_laws.py tests/estimators/test_predict.py

# run every notebook
notebooks:
    {{uv}} pytest --nbmake --nbmake-timeout=600 -n 2 notebooks

# ratios to other libraries, beside those of the last landing; --write keeps those of this run
speed *args:
    {{uv}} python benchmarks/guard.py {{args}}

# the documentation site, in docs/_build; warnings are errors
docs:
    {{uv}} --locked --group docs sphinx-build -W --keep-going -b html docs docs/_build

# everything that must hold before a change lands
ci:
    bash .ci/run

# other processors' kernels and the lowest versions
nightly *steps:
    bash .ci/nightly {{steps}}
