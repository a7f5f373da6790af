#!/usr/bin/env bash
# Runs the whole suite with the compiler's sanitizers. On two cores each takes the better part of an hour, which is why
# continuous integration does not.
#
# usage: scripts/sanitize.sh asan|tsan [ctest's arguments…]   asan: addresses, leaks and undefined behaviour; tsan: races
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

main() {
  local preset=${1:-} start=$SECONDS status=0
  [[ $preset == asan || $preset == tsan ]] || die "usage: scripts/sanitize.sh asan|tsan [ctest's arguments…]" 2
  shift
  cd "${here%/*}"
  local log=build/$preset.log
  "$here/bootstrap.sh" test
  mkdir -p build
  : >"$log"
  run_logged "$log" cmake --preset "$preset"
  run_logged "$log" ninja -C "build/$preset" -j "$(nproc)"
  echo "built in $(duration $((SECONDS - start)))"
  ctest --preset "$preset" --no-tests=error --parallel "$(nproc)" "$@" || status=$?
  exit "$status"
}

main "$@"
