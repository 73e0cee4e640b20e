#!/bin/sh
# Writes requirements.lock from pyproject.toml: every dependency, pinned, with no word of where it comes from.
set -eu
pin=$(mktemp)
trap 'rm -f "$pin"' EXIT
echo "torch==2.13.0" >"$pin" # the CPU build; another version would bring gigabytes of CUDA with it
.venv/bin/python -m pip install -qq pip-tools
.venv/bin/python -m piptools compile --strip-extras --allow-unsafe --no-emit-index-url --no-emit-find-links \
    --no-emit-trusted-host --no-header --no-annotate --extra dev --all-build-deps --constraint "$pin" \
    --output-file requirements.lock pyproject.toml
sed -i -E 's/^(torch==[0-9.]+)\+cpu/\1/' requirements.lock
