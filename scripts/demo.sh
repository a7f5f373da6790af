#!/usr/bin/env bash
# Shows what cupel does: builds it, trains three small networks and judges them while they train.
#
# usage: scripts/demo.sh [DIR] [OPTION…]   everything goes to `cupel demo`; DIR is runs/demo if not given
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

main() {
  local checkout=${here%/*}
  local build=$checkout/build/demo log=$checkout/build/demo.log default=$checkout/runs/demo
  local cupel=$build/bin/cupel start=$SECONDS hint='' argument previous='' folder=''

  "$here/bootstrap.sh" demo || exit

  # A build of its own: what a developer sets in build/release stays as it is.
  mkdir -p "$build"
  : >"$log"
  [[ -x $cupel ]] || hint=" (a few minutes the first time; log: $log)"
  echo "[1/2] cupel: configuring"
  run_logged "$log" cmake --preset release -S "$checkout" -B "$build" \
    -DCUPEL_BUILD_TESTS=OFF -DCUPEL_BUILD_BENCH=OFF -DCUPEL_BUILD_EXAMPLES=OFF -DCUPEL_WERROR=OFF
  echo "[2/2] cupel: building$hint"
  run_logged "$log" ninja -C "$build" -j "$(nproc)" cupel
  echo "      ready after $(duration $((SECONDS - start)))"
  echo

  for argument; do
    [[ $argument == -* || $previous == --seed ]] || folder=$argument
    previous=$argument
  done
  [[ $PWD != "$checkout" ]] || default=runs/demo
  [[ -n $folder ]] || set -- "$default" "$@"
  exec "$cupel" demo "$@"
}

main "$@"
