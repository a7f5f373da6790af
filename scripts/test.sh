#!/usr/bin/env bash
# Builds the preset `dev` and runs its tests. The last line it prints is ctest's verdict.
#
# usage: scripts/test.sh [ctest's arguments…]   e.g. scripts/test.sh -R Trial
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

main() {
  local checkout=${here%/*} status=0
  local build=$checkout/build/dev log=$checkout/build/dev.log results=$checkout/build/ctest.log

  "$here/bootstrap.sh" test || exit
  stage_done "what cupel is built with"

  mkdir -p "$build"
  : >"$log"
  rm -f "$results"
  cd "$checkout"
  echo "[1/3] cupel: configuring build/dev"
  run_logged "$log" cmake --preset dev
  echo "[2/3] cupel: building (log: $log)"
  run_logged "$log" ninja -C "$build" -j "$(nproc)"
  stage_done "build"
  echo "[3/3] tests"
  ctest --preset dev --no-tests=error --parallel "$(nproc)" "$@" 2>&1 </dev/null | tee "$results" || status=$?
  stage_done "tests"
  # ctest names suites and files: which of their tests failed, the programs say.
  grep -hE '^\[  FAILED  \] [^ ]+ \([0-9]+ ms\)$|^\[  FAILED  \] [^ ]+, where .* \([0-9]+ ms\)$' "$build/Testing/Temporary/LastTest.log" || true
  grep -hE '^(FAILED|ERROR) [^ ]+\.py' "$build/Testing/Temporary/LastTest.log" || true
  grep -E '^[0-9]+% tests passed' "$results" || echo "ctest gave no verdict; it exited with $status"
  exit "$status"
}

main "$@"
