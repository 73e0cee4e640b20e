#!/bin/sh
# Makes .venv with the locked dependencies and this checkout in it. Called by make; does nothing that is done already.
set -eu
fail() { printf 'setup: %s\n' "$1" >&2; exit 1; }

python=""
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is needed and ${PYTHON:-python3} is not: install it, or set PYTHON=/path/to/python."

if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        echo "setup: installing Debian's python3-venv" >&2
        { apt-get update -qq && apt-get install -y -qq python3-venv; } >/dev/null 2>&1 || true
    fi
    "$python" -c 'import ensurepip' 2>/dev/null || fail "$python cannot make virtual environments: run 'sudo apt-get install python3-venv', then this again."
fi

if [ ! -x .venv/bin/python ]; then
    echo "setup: making .venv" >&2
    "$python" -m venv .venv || fail "$python -m venv failed: see the message above."
fi
echo "setup: installing the locked dependencies (a few minutes the first time)" >&2
export PIP_DISABLE_PIP_VERSION_CHECK=1
torch=$(grep '^torch==' requirements.lock)
.venv/bin/python -m pip install -qq "$torch" || fail "$torch could not be installed: is the network reachable?"
.venv/bin/python -m pip install -qq -r requirements.lock || fail "a dependency could not be installed: is the network reachable?"
.venv/bin/python -m pip install -qq --no-deps -r tests/networks.txt || fail "a network that tests compare with could not be installed: is the network reachable?"
.venv/bin/python -m pip install -qq --no-deps --no-build-isolation --editable . || fail "regard itself could not be installed: see the message above."
touch .venv/.ready
