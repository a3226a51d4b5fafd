#!/usr/bin/env bash
# Every tracked C++ file is as clang-format leaves it.
set -euo pipefail
cd "$1"
mapfile -t files < <(git ls-files '*.h' '*.cc')
clang-format --dry-run --Werror "${files[@]}"
echo "${#files[@]} files are formatted"
