#!/usr/bin/env bash
# Runs the fuzz targets, as many at once as there are cores, and prints a line for each; fails if one finds something.
#
# usage: scripts/fuzz.sh [SECONDS] [TARGET…]   30 s each if not given, of index, collections, events, config, s3, lua
#
# CUPEL_FUZZ_SEED=N draws the same inputs at each run; without it, each run draws others.
#
# What a target begins with are files of this repository. New inputs, what was found and what was printed stay in
# build/fuzz: corpus/TARGET, found/TARGET, TARGET.log.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"
cd "${here%/*}"
build=build/fuzz

# The files that a target begins with, a name per line.
seeds_of() {
  case $1 in
    index) find tests/golden fuzz/seeds/index -path '*/index/*' -type f ;;
    events) find tests/golden -path '*/events/*' -name '*.arrow' ;;
    collections) find tests/golden -path '*/collections/*' -name '*.json' ;;
    config) find fuzz/seeds/config -type f ;;
    s3) find fuzz/seeds/s3 -type f ;;
    lua) find tests/scripting examples/rules -name '*.lua' ;;
    *) die "there is no target $1; there are index, collections, events, config, s3 and lua" 2 ;;
  esac
}

# Fills a folder with them.
make_seeds() {
  local target=$1 folder=$2 file name
  rm -rf "$folder"
  mkdir -p "$folder"
  while read -r file; do
    name=$(sha1sum <"$file" | cut -c1-40)
    cp "$file" "$folder/$name"
    # Of an input that begins with a byte 1, fuzz_lua makes a script.
    [[ $target != lua ]] || { printf '\1' && head -c 400 "$file"; } >"$folder/$name.made"
  done < <(seeds_of "$target")
}

run_target() {
  local target=$1 seconds=$2 log=$build/$1.log found=$build/found/$1 status=0 inputs
  mkdir -p "$build/corpus/$target" "$found"
  make_seeds "$target" "$build/seeds/$target"
  : >"$log"
  try_logged "$log" "$build/bin/fuzz_$target" -max_total_time="$seconds" -seed="${CUPEL_FUZZ_SEED:-0}" -timeout=20 -rss_limit_mb=4096 \
    -max_len=65536 -artifact_prefix="$found/" "$build/corpus/$target" "$build/seeds/$target" || status=$?
  if ((status != 0)); then
    echo "fuzz_$target: FAILED, see $log and $found"
    return 1
  fi
  inputs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
  echo "fuzz_$target: ${inputs:-0} inputs in $(duration "$seconds"), nothing found"
}

main() {
  local seconds=30 status=0 target log=$build/build.log
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
  fi
  (($# > 0)) || set -- index collections events config s3 lua
  for target; do seeds_of "$target" >/dev/null; done

  mkdir -p "$build"
  : >"$log"
  [[ -f $build/build.ninja ]] || run_logged "$log" cmake --preset fuzz
  run_logged "$log" ninja -C "$build" "${@/#/fuzz_}"
  for target; do
    # Not more than there are cores: a slow machine finds less in the same time.
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || status=1; done
    (
      trap 'stop_child; exit 143' TERM
      run_target "$target" "$seconds"
    ) &
  done
  while (($(jobs -p | wc -l))); do wait -n || status=1; done
  exit "$status"
}

main "$@"
