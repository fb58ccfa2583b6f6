#!/usr/bin/env bash
# Runs one check of lint.py over the whole source tree, which WORKSPACE's real path names.
set -euo pipefail
root=$(dirname "$(readlink -f WORKSPACE)")
cache=()
[[ -z ${ENCORE_DEPS:-} ]] || cache=(--cache "$(dirname "$ENCORE_DEPS")/lint")
exec python3 tools/lint/lint.py --check "$1" "${cache[@]}" "$root"
