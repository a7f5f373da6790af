#!/usr/bin/env bash
# Sends the store in S3, and whole runs that are saved and read there, through random faults of the network, and says how
# often each kind of fault hit. Fails if something was lost, wrong or made up, or if fewer schedules ran than asked for.
#
# usage: scripts/fault-schedules.sh [N]   1000 schedules if not given, every fifth of them of a whole run
#
# A schedule is told by a line in build/fault-schedules/*.log; fewer than three faults that hit are none. Its number is
# its seed, so that what fails does so again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"
cd "${here%/*}"
folder=build/fault-schedules

# Prints "TIMES KIND" for each kind of fault in the logs, most frequent first.
count_kinds() {
  sed -n 's/.*, faults: //p' "$@" | tr ' ' '\n' | sort | uniq -c | sort -rn
}

main() {
  local wanted=${1:-1000} status=0 start=$SECONDS runs counted
  [[ $wanted =~ ^[1-9][0-9]*$ ]] || die "usage: scripts/fault-schedules.sh [N]" 2
  runs=$(((wanted + 4) / 5))
  "$here/bootstrap.sh" test || exit
  mkdir -p "$folder"
  echo "[1/2] building (log: $folder/build.log)"
  run_logged "$folder/build.log" cmake --preset dev
  run_logged "$folder/build.log" ninja -C build/dev s3_test
  echo "[2/2] $((wanted - runs)) schedules of single objects, then $runs of whole runs"
  rm -f "$folder/objects.log" "$folder/runs.log"
  CUPEL_FAULT_SCHEDULES=$((wanted - runs)) try_logged "$folder/objects.log" \
    build/dev/bin/s3_test --gtest_filter='*RandomFaults*' || status=1
  CUPEL_FAULT_RUNS=$runs try_logged "$folder/runs.log" build/dev/bin/s3_test --gtest_filter='*WholeRun*' || status=1
  count_kinds "$folder/objects.log" "$folder/runs.log"
  counted=$(cat "$folder/objects.log" "$folder/runs.log" | grep -c ', faults: ') || true
  ((status == 0)) || die "something was lost, wrong or made up, see $folder"
  ((counted >= wanted)) || die "$counted schedules ran, not $wanted, see $folder"
  echo "$counted schedules in $(duration $((SECONDS - start))): nothing lost, wrong or made up"
}

main "$@"
