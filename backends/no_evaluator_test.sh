#!/bin/sh
# Fails where a dependency of the backends is the evaluator. $1: their dependencies.
set -eu
grep -q '^//ir/graph:graph$' "$1" || { echo "no list of dependencies: $1"; exit 1; }
if grep -E '^//ir/eval:' "$1"; then
  echo "backends depend on the evaluator"
  exit 1
fi
