#!/usr/bin/env bash
# Stops the S3 server in the middle of a training for a while, compares how long steps take meanwhile with those of another
# training, and looks whether every step is in the buckets afterwards; kills trainings, half of them in outages, and has
# `cupel sync` deliver what they left.
#
# usage: scripts/outage.sh [SECONDS [KILLS]]   60 s and 100 trainings if not given; it takes 2 × SECONDS and 2 s a kill
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

main() {
  local checkout=${here%/*} log
  log=$checkout/build/outage.log
  [[ ${1:-60} =~ ^[1-9][0-9]*$ && ${2:-100} =~ ^[1-9][0-9]*$ ]] || die "usage: scripts/outage.sh [SECONDS [KILLS]]" 2
  "$here/bootstrap.sh" test || exit

  mkdir -p "$checkout/build"
  : >"$log"
  cd "$checkout"
  run_logged "$log" cmake --preset dev
  run_logged "$log" ninja -C build/dev outage_test
  CUPEL_OUTAGE_SECONDS=${1:-60} CUPEL_OUTAGE_ROUNDS=${2:-100} exec build/dev/bin/outage_test --gtest_brief=1
}

main "$@"
