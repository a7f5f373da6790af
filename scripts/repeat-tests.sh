#!/usr/bin/env bash
# Repeats the tests of a built preset on a loaded machine, to find those that fail now and then: suites with the ctest
# label `timing` (processes, threads, clocks, sockets) 50 times, all others 3 times, six at once beside compilers.
# Every second round shuffles the tests of a suite.
#
# usage: scripts/repeat-tests.sh [--times N] [--minutes N] [--jobs N] [--load N] [--preset NAME] [--again] [REGEX]
#   --times N      rounds of the suites labelled `timing` (50)
#   --minutes N    start no test after N minutes; the next call goes on there
#   --jobs N       test processes at once (6)
#   --load N       compilers beside them (1)
#   --preset NAME  the build to test (dev); it must be built
#   --again        begin with the first round; without it, the script goes on where an earlier call stopped
#   REGEX          only suites whose name in ctest matches
#
# build/repeat holds the state: `done` has a line for each process that ended (verdict, round, suite, seconds), and
# `failures` the output of each that failed. The exit code is 1 if any process failed, in earlier calls too.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

cd "${here%/*}"
state=build/repeat
rounds_of_others=3

# Prints one line for each of ctest's tests, with tabs between its fields: name, `timing` or `other`, time limit, command
# for a shell. The limits are those of an idle machine times $1.
list_tests() {
  ctest --test-dir "build/$preset" --show-only=json-v1 | python3 -c '
import json, shlex, sys
for test in json.load(sys.stdin)["tests"]:
    properties = {p["name"]: p["value"] for p in test.get("properties", [])}
    label = "timing" if "timing" in properties.get("LABELS", []) else "other"
    limit = str(int(float(properties.get("TIMEOUT", 1500)) * int(sys.argv[1])))
    words = ["env", *properties.get("ENVIRONMENT", []), *test.get("command", ["false"])]
    command = "cd " + shlex.quote(properties.get("WORKING_DIRECTORY", ".")) + " && exec " + shlex.join(words)
    skip = properties.get("SKIP_RETURN_CODE")
    if skip is not None:
        command = f"({command}) || (( $? == {int(skip)} ))"
    print(test["name"], label, limit, command, sep="\t")' "$1"
}

# Prints "round<tab>suite" for all that is still to do, round by round; each round in an order of its own, so that a
# suite meets other neighbours.
list_open_rounds() {
  awk -F '\t' -v OFS='\t' -v times="$times" -v others="$rounds_of_others" '
    FILENAME == ARGV[1] { done[$2, $3] = 1; next }
    {
      rounds = $2 == "timing" || times < others ? times : others
      for (round = 1; round <= rounds; ++round) if (!((round, $1) in done)) print round, rand(), $1
    }' "$state/done" "$state/tests" | sort -k 1,1n -k 2,2 | cut -f 1,3
}

# The names of the tests that failed, of a log of GoogleTest; else of the one that was running, else nothing.
failed_tests() {
  awk '/^\[  FAILED  \] [^ ]+\.[^ ]+.*ms\)$/ { print $4; failed = 1; running = ""; next }
    /^\[ RUN      \]/ { running = $4 }
    /^\[       OK \]/ || /^\[  SKIPPED \]/ { running = "" }
    END { if (running != "") print running " (was running)" }' "$1" | tr -d ',' | sort -u
}

# run_suite "round<tab>suite": what a worker does. A suite without the label may need files for itself alone.
run_suite() {
  local round=${1%%$'\t'*} suite=${1#*$'\t'} name label limit command log status=0 start=$SECONDS verdict=passed
  ((EPOCHSECONDS < deadline)) || return 0
  IFS=$'\t' read -r label limit command < <(awk -F '\t' -v OFS='\t' -v suite="$suite" \
    '$1 == suite { print $2, $3, $4 }' "$state/tests")
  name=${suite//\//_}
  log=$state/running/$name.$round.log
  if [[ $label == other ]]; then
    exec 9>"$state/running/$name.lock"
    flock 9
  fi
  : >"$log"
  export GTEST_SHUFFLE=$((1 - round % 2)) GTEST_RANDOM_SEED=$round
  try_logged "$log" timeout --kill-after=10 "$limit" bash -c "$command" >/dev/null || status=$?
  if ((status == 0)); then
    rm "$log"
  else
    verdict=failed
    mv "$log" "$state/failures/"
    log=$state/failures/${log##*/}
    printf '%s in round %s (status %s, %s s): %s\n' "$suite" "$round" "$status" "$((SECONDS - start))" "$log"
    failed_tests "$log" | sed 's/^/    /'
  fi
  printf '%s\t%s\t%s\t%s\n' "$verdict" "$round" "$suite" "$((SECONDS - start))" >>"$state/done"
}

# Compiles as long as process $1 lives.
compile() {
  while kill -0 "$1" 2>/dev/null; do
    printf '#include <filesystem>\n#include <regex>\nstd::regex all(".*");\n' |
      g++ -std=c++20 -O2 -x c++ -c -o /dev/null - || sleep 1
  done
}

summary() {
  local log
  awk -F '\t' -v open="$(list_open_rounds | wc -l)" '
    { ++count; seconds += $4; suites[$3] = 1 }
    $1 == "failed" { ++failed }
    END {
      printf "%d runs of %d suites in %d processor minutes, %d failed; %d are still to do\n",
        count, length(suites), seconds / 60, failed, open
    }' "$state/done"
  for log in "$state"/failures/*.log; do
    [[ -f $log ]] || continue
    echo "$log"
    failed_tests "$log" | sed 's/^/    /'
  done
}

main() {
  times=50 preset=dev
  local minutes='' jobs=6 load=1 regex='.' suites slowness i
  while (($#)); do
    case $1 in
      --times | --minutes | --jobs | --load)
        [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 needs a number" 2
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      --preset) preset=${2:?} && shift ;;
      --again) rm -rf "$state" ;;
      --run) run_suite "$2"; exit ;;
      -*) die "unknown option $1; the head of this script lists the options" 2 ;;
      *) regex=$1 ;;
    esac
    shift
  done
  rm -rf "$state/running"
  mkdir -p "$state/failures" "$state/running"
  touch "$state/done"
  slowness=$(((jobs + load) / $(nproc) + 1))
  list_tests "$slowness" | awk -F '\t' -v regex="$regex" '$1 ~ regex' >"$state/tests"
  suites=$(wc -l <"$state/tests")
  ((suites > 0)) || die "build/$preset has no tests whose name matches $regex" 2
  ! grep -m 1 'NOT_BUILT' "$state/tests" >&2 || die "build the preset $preset first" 2
  echo "$suites suites, $(list_open_rounds | wc -l) runs to do, $jobs at once; failures are in $state/failures"
  for ((i = 0; i < load; ++i)); do compile $$ >/dev/null 2>&1 & done
  export deadline=$((minutes ? EPOCHSECONDS + 60 * minutes : 1 << 40))
  list_open_rounds | xargs -d '\n' -n 1 -P "$jobs" "$here/repeat-tests.sh" --run || true
  summary
  if grep -q '^failed' "$state/done"; then exit 1; fi
}

main "$@"
