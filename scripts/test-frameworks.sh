#!/usr/bin/env bash
# Builds the rooms libtorch and xgboost and their tests once more, against the installed cupel and the frameworks of PyPI,
# and runs these tests. build/dev has the same sources with Debian's frameworks, which are some years older.
#
# usage: scripts/test-frameworks.sh [--build DIR] [libtorch] [xgboost]
#   --build DIR   a build of cupel, whose libraries are installed for it: build/dev if not given
#
# The work goes to DIR/generation. Objects come from ccache where they were compiled before. A framework that
# scripts/bootstrap.sh could not fetch is an error here; ctest, which runs this script, has no such test then.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

# test_room ROOM FOLDER OPTION…: FOLDER is where PyPI's framework is; OPTION… has CMake find it.
test_room() {
  local room=$1 folder=$2 other=LIBTORCH build=$work/$1 log=$work/$1.log skipped status=0
  shift 2
  [[ $room != libtorch ]] || other=XGBOOST
  : >"$log"
  # Installed for itself: the two rooms may be tested at once.
  rm -rf "$build/prefix"
  run_logged "$log" cmake --install "$cupel" --prefix "$build/prefix"
  run_logged "$log" cmake -G Ninja -S "$checkout/tests/generation" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O2 -g1" -DCUPEL_WITH_$other=OFF "-DCUPEL_WITH_${room^^}=ON" "$@"
  run_logged "$log" ninja -C "$build" -j 2
  stage_done "$room: build"
  ldd "$build/${room}_test" >"$log.libraries"
  grep -qF -e "$folder" -e "$(realpath "$folder")" "$log.libraries" || die "$build/${room}_test does not load the framework in $folder"
  ctest --test-dir "$build" --no-tests=error --parallel 2 --timeout 600 --output-on-failure 2>&1 </dev/null |
    tee "$log.tests" || status=$?
  stage_done "$room: tests"
  skipped=$(grep -hE '\((Skipped|Not Run|Disabled)\)$' "$log.tests" || true
    grep -hE '^\[  SKIPPED \] .* \([0-9]+ ms\)$' "$build/Testing/Temporary/LastTest.log" || true)
  [[ -z $skipped ]] || die "these tests did not run: $skipped"
  return "$status"
}

main() {
  local room rooms=() folder config library failed=0
  checkout=${here%/*}
  cupel=$checkout/build/dev
  while (($#)); do
    case $1 in
      --build) cupel=$(realpath -ms "${2:?}") && shift ;;
      libtorch | xgboost) rooms+=("$1") ;;
      *) die "usage: scripts/test-frameworks.sh [--build DIR] [libtorch] [xgboost]" 2 ;;
    esac
    shift
  done
  ((${#rooms[@]})) || rooms=(libtorch xgboost)
  [[ -f $cupel/cmake_install.cmake ]] || die "$cupel holds no build of cupel: scripts/test.sh makes build/dev" 2
  work=$cupel/generation
  mkdir -p "$work"
  for room in "${rooms[@]}"; do
    if [[ $room == libtorch ]]; then
      folder=$("$here/bootstrap.sh" --print-torch)
      [[ -n $folder ]] || die "PyPI's torch is not there: scripts/bootstrap.sh torch fetches it" 2
      config=$(echo "$folder"/lib/python3*/site-packages/torch/share/cmake)
      test_room libtorch "$folder" "-DCMAKE_PREFIX_PATH=$work/libtorch/prefix;$config" || failed=1
    else
      folder=$("$here/bootstrap.sh" --print-boost)
      [[ -n $folder ]] || die "PyPI's XGBoost is not there: scripts/bootstrap.sh boost fetches it" 2
      library=$(echo "$folder"/lib/python3*/site-packages/xgboost/lib/libxgboost.so)
      test_room xgboost "$folder" "-DCMAKE_PREFIX_PATH=$work/xgboost/prefix" "-DXGBOOST_LIBRARY=$library" || failed=1
    fi
  done
  exit "$failed"
}

main "$@"
