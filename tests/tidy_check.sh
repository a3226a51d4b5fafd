#!/usr/bin/env bash
# The short clang-tidy list of .clang-tidy, warnings as errors, on a sample of files; with LATHE_FULL=1 on all of
# compiler, runtime and ir/dim.
set -euo pipefail
cd "$1"
mapfile -t files < <(git ls-files 'compiler/*.cc' 'runtime/*.cc' 'ir/dim/*.cc')
if [ -z "${LATHE_FULL:-}" ]; then files=(compiler/lower/query.cc runtime/allocator.cc ir/dim/print.cc); fi
# As written: without the precompiled headers, which would hide a missing include.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/-fpch-preprocess//g; s/-Winvalid-pch +-include +[^ "]+//g' "$2/compile_commands.json" >"$commands/compile_commands.json"
clang-tidy-19 --quiet -p "$commands" "${files[@]}" 2>/dev/null
echo "${#files[@]} files are tidy"
