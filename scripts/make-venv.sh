#!/usr/bin/env bash
# Creates the Python environment of the client tests: make-venv.sh DIR
set -euo pipefail
dir=$1
here=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$dir/bin/python" ] || python3 -m venv "$dir"
"$dir/bin/python" -m pip install --quiet -r "$here/tests/clients/requirements.txt"
touch "$dir/.ready"
