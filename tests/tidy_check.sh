#!/usr/bin/env bash
# The short clang-tidy list of .clang-tidy, warnings as errors, on a sample of files (all with LATHE_FULL=1).
set -euo pipefail
cd "$1"
mapfile -t files < <(git ls-files 'compiler/*.cc' 'runtime/*.cc' 'ir/dim/*.cc')
if [ -z "${LATHE_FULL:-}" ]; then files=(compiler/lower/query.cc runtime/allocator.cc ir/dim/print.cc); fi
clang-tidy-19 --quiet -p "$2" "${files[@]}" 2>/dev/null
echo "${#files[@]} files are tidy"
