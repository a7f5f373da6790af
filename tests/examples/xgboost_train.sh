#!/usr/bin/env bash
# Trains by examples/xgboost_train.cc, and has built-in rules of boosted trees judge the run.
#
# usage: xgboost_train.sh EXAMPLE CUPEL
set -euo pipefail

example=$1 cupel=$2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cupel-example-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
run=$scratch/boost

# expect STATUS COMMAND…: prints what the command prints, and fails where its exit code is another.
expect() {
  local expected=$1 status=0
  shift
  "$@" || status=$?
  ((status == expected)) || { echo "exit code $status, not $expected: $*" && exit 1; }
}

# has FILE TEXT
has() {
  grep -qF -- "$2" "$1" || { echo "there is no '$2' in:" && cat "$1" && exit 1; }
}

expect 0 "$example" "$run" 60 >"$scratch/out" 2>"$scratch/problems"
has "$scratch/out" "tensors at 6 steps to $run"
[[ ! -s $scratch/problems ]] || { cat "$scratch/problems" && exit 1; }
[[ -s $run/model.json ]]

# Every rule that judges boosted trees gets what it needs.
expect 0 "$cupel" check "$run" --rule TreeDepth --rule Confusion --rule ClassImbalance,samples=1000 \
  --rule FeatureImportanceOverweight,nfeatures=2 --rule Overfit --rule Overtraining --rule LossNotDecreasing

# Of four features two decide, and 2000 rows are few for 60 rounds; trees are no deeper than max_depth.
expect 1 "$cupel" watch "$run" --json --rule Overfit --rule FeatureImportanceOverweight,nfeatures=2,threshold=0.7 \
  --rule TreeDepth,depth=3 --rule LossNotDecreasing,num_steps=10 >"$scratch/lines"
closing() {
  grep -F '"final":true' "$scratch/lines" | grep -F "\"rule\":\"$1\"" >"$scratch/closing"
  has "$scratch/closing" "\"status\":\"$2\""
}
closing Overfit IssuesFound
closing FeatureImportanceOverweight IssuesFound
closing TreeDepth NoIssuesFound
closing LossNotDecreasing NoIssuesFound
has "$scratch/lines" '"name":"validation-logloss"'

# A depth that the trees exceed is found by the rule.
expect 1 "$cupel" watch "$run" --rule TreeDepth,depth=2 >"$scratch/deep"
has "$scratch/deep" "trees/Node"
