#!/usr/bin/env bash
# Runs a whole program of tests with its runs in another store than memory (see make_test_store()).
#
#   suite_over.sh PROGRAM SKIPS STORE                       requests | synced | a location
#   suite_over.sh PROGRAM SKIPS s3 NODE SERVER PACKAGE      a bucket of a server that is started here
#
# Tests of what such a store has not (files that grow) skip. They are listed with their reasons, and there have to be
# SKIPS of them: no other test goes missing unnoticed. Without a server the script exits with 77.
set -euo pipefail

program=$1 expected=$2 store=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cupel-suite-XXXXXX")

# The server ends when its input does.
finish() {
  local input=${server[1]:-}
  if [[ -n $input ]]; then
    exec {input}>&-
    wait "${server_PID:-}" || true
  fi
  rm -rf "$scratch"
}
trap finish EXIT

# A server on a free port of this machine, a bucket, and the environment of its only user, with nothing else of AWS's.
start_server() {
  local node=$1 script=$2 package=$3 port name
  [[ -n $node && -n $package ]] || { echo "node or the S3 server's package is not here" && exit 77; }
  coproc server { exec "$node" --openssl-legacy-provider "$script" "$package" "$scratch"; }
  read -r -t 60 port <&"${server[0]}" || { echo "the S3 server did not start" && exit 1; }
  for name in $(compgen -e AWS_ || true); do unset "$name"; done
  export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
  export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port
  curl --silent --show-error --fail --noproxy '*' --max-time 30 --request PUT --user S3RVER:S3RVER \
    --aws-sigv4 aws:amz:us-east-1:s3 --header x-amz-content-sha256:UNSIGNED-PAYLOAD \
    --output "$scratch/made" "$AWS_ENDPOINT_URL_S3/tests"
  store=s3://tests
}

if [[ $store == s3 ]]; then start_server "${@:4}"; fi

status=0
CUPEL_TEST_STORE=$store "$program" --gtest_color=no >"$scratch/output" 2>&1 || status=$?

# What failed, with all it said; of what skipped, name and reason; then the program's own summary.
awk '
  /^\[ RUN      \] / { said = ""; inside = 1; next }
  /^\[       OK \] / { inside = 0; next }
  /^\[  FAILED  \] .* ms\)$/ && inside { print said $0; inside = 0; next }
  /^\[  SKIPPED \] .* ms\)$/ { n = split(said, line, "\n"); print "not here: " $4 ": " line[n - 1]; inside = 0; next }
  inside { said = said $0 "\n"; next }
  /^\[==========\]|^\[  PASSED  \]|^\[  FAILED  \]/
  END { if (inside) print said "the program ended within this test" }
' "$scratch/output"

skipped=$(grep -cE '^\[  SKIPPED \] .* ms\)$' "$scratch/output" || true)
echo "${program##*/} over $store: $skipped tests are about what such a store has not, $expected are known"
((status == 0)) || exit "$status"
((skipped == expected))
