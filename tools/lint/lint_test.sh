#!/usr/bin/env bash
# Runs one check of lint.py over the whole source tree, which WORKSPACE's real path names.
set -euo pipefail
root=$(dirname "$(readlink -f WORKSPACE)")
exec python3 tools/lint/lint.py --check "$1" "$root"
