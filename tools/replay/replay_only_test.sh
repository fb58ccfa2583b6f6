#!/usr/bin/env bash
# What replay_only is made of: nothing that compiles, parses or imports.
#   replay_only_test.sh DEPENDENCIES BINARY
set -euo pipefail
dependencies=$1 binary=$2
failed=0
fail() { echo "replay_only: $*" >&2; failed=1; }

grep -q '^//runtime/replay:replayer$' "$dependencies" || fail "$dependencies is no list of its dependencies"
forbidden='^//opt|^//ir/(graph|build|transform|eval|text|import|proto)[/:]'
forbidden+='|^//backends:(compile|backends|backend)$|^//backends/(lowering|cpu/codegen)[/:]|^//backends/(cpu:cpu|ref:ref)$'
forbidden+='|^//backends/cuda/(codegen|emulator|fake)[/:]|^//cache/key:key$|^//cache/session[/:]|^@(llvm|onnx|com_google_protobuf|highs)//'
if grep -E "$forbidden" "$dependencies"; then fail "depends on the targets above"; fi

libraries=$(ldd "$binary")
if grep -E 'LLVM|protobuf|onnx|highs' <<<"$libraries"; then fail "loads the libraries above"; fi

symbols=$(nm -C "$binary")
[[ -n $symbols ]] || fail "$binary has no symbols to look at"
if grep -E ' (llvm|google::protobuf|onnx)::| encore::(Graph|GraphBuilder)::' <<<"$symbols" | head -5 | grep .; then
  fail "has the symbols above"
fi
exit $failed
