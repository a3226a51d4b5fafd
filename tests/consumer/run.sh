#!/usr/bin/env bash
# Builds the consumer against the tree installed from BUILD, or with add_subdirectory, and runs it.
# usage: run.sh installed|subdirectory SOURCE BUILD
set -euo pipefail
mode=$1 source=$2 build=$3
work=$build/consumer-$mode
rm -rf "$work"
mkdir -p "$work"
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release)
if [ "$mode" = installed ]; then
  cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
  options+=("-DCMAKE_PREFIX_PATH=$work/prefix")
else
  options+=("-DLATHE_SOURCE=$source" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake -S "$source/tests/consumer" -B "$work/build" "${options[@]}" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" --target consumer >"$work/build.log" || { tail -30 "$work/build.log"; exit 1; }
"$work/build/consumer"
echo "consumer ($mode): right answer"
