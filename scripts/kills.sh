#!/usr/bin/env bash
# Kills trainings and watchers at random instants, far more often than the tests do: N each (default 1000), some
# minutes. Each kill is followed by a look at what is left; trainings and watchers are started again where it happened.
#
# usage: scripts/kills.sh [N]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
rounds=${1:-1000}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "usage: scripts/kills.sh [N]" >&2 && exit 2; }
scripts/bootstrap.sh test
cmake --preset dev >/dev/null
ninja -C build/dev crash_test process_test
export CUPEL_KILL_ROUNDS=$rounds
build/dev/bin/crash_test --gtest_filter='Killing.at_any_instant*'
build/dev/bin/process_test --gtest_filter='KilledWatch.*'
