#!/usr/bin/env bash
# Shows what cupel does: builds it, trains three small networks and judges them while they train.
#
# usage: scripts/demo.sh [DIR] [OPTION…]   everything goes to `cupel demo`; DIR is runs/demo if not given
#        scripts/demo.sh --torch [DIR] [OPTION…]   trains with libtorch, which it installs
#        scripts/demo.sh --s3 [OPTION…]    saves to and judges from a bucket of a server that it starts on this
#                                          machine, and stops again; its files are in runs/demo-s3
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

# Starts the server on a free port and prints where it is; it ends with the descriptor 7.
start_s3_server() {
  local package=$1 folder=$2 checkout=$3
  mkdir -p "$folder"
  rm -f "$folder/.port"
  mkfifo "$folder/.input" 2>/dev/null || true
  node --openssl-legacy-provider "$checkout/tests/s3/server.js" "$package" "$folder" \
    <"$folder/.input" >"$folder/.port" 2>/dev/null &
  exec 7>"$folder/.input"
  for ((i = 0; i < 300; i++)); do
    [[ ! -s $folder/.port ]] || break
    sleep 0.1
  done
  [[ -s $folder/.port ]] || die "the S3 server did not start"
  endpoint=http://127.0.0.1:$(<"$folder/.port")
}

# Runs the demo in a bucket.
run_in_bucket() {
  local cupel=$1 checkout=$2 package
  shift 2
  package=$("$here/bootstrap.sh" --print-s3-server)
  [[ -n $package ]] || die "the S3 server is not installed: npm is needed for that"
  start_s3_server "$package" "$checkout/runs/demo-s3" "$checkout"
  # It is there from an earlier demo, perhaps.
  curl -sf --noproxy '*' --aws-sigv4 aws:amz:us-east-1:s3 -u S3RVER:S3RVER \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' -X PUT "$endpoint/demo" >/dev/null || true
  echo "A server that speaks S3 is at $endpoint; its bucket is called demo."
  AWS_ENDPOINT_URL_S3=$endpoint AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER AWS_REGION=us-east-1 \
    CUPEL_SPOOL_DIR=$checkout/runs/demo-s3.spool "$cupel" demo s3://demo/runs "$@"
  cat <<EOF

The server has ended, too. To look into the runs, start it again for an hour, and say where it is and who you are:
  sleep 3600 | node --openssl-legacy-provider $checkout/tests/s3/server.js $package $checkout/runs/demo-s3 ${endpoint##*:} &
  export AWS_ENDPOINT_URL_S3=$endpoint AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER
EOF
}

main() {
  local checkout=${here%/*}
  local build=$checkout/build/demo log=$checkout/build/demo.log default=$checkout/runs/demo
  local cupel=$build/bin/cupel start=$SECONDS hint='' argument previous='' folder='' in_bucket='' needs=(demo) targets=(cupel)
  # A framework that is there but is not wanted cannot end the configuration.
  local frameworks=(-DCUPEL_WITH_LIBTORCH=OFF -DCUPEL_WITH_XGBOOST=OFF) with_s3=()

  if [[ ${1:-} == --s3 ]]; then
    in_bucket=yes with_s3=(-DCUPEL_WITH_S3=ON) needs=("test")
    shift
  fi
  for argument; do
    [[ $argument != --torch ]] || needs+=(torch) targets+=(cupel_demo_torch) frameworks[0]=-DCUPEL_WITH_LIBTORCH=ON
  done
  "$here/bootstrap.sh" "${needs[@]}" || exit

  # A build of its own: what a developer sets in build/release stays as it is.
  mkdir -p "$build"
  : >"$log"
  [[ -x $cupel ]] || hint=" (a few minutes the first time; log: $log)"
  echo "[1/2] cupel: configuring"
  run_logged "$log" cmake --preset release -S "$checkout" -B "$build" "${frameworks[@]}" "${with_s3[@]}"
  echo "[2/2] cupel: building$hint"
  run_logged "$log" ninja -C "$build" -j "$(nproc)" "${targets[@]}"
  echo "      ready after $(duration $((SECONDS - start)))"
  echo

  if [[ -n $in_bucket ]]; then
    run_in_bucket "$cupel" "$checkout" "$@"
    return
  fi
  for argument; do
    [[ $argument == -* || $previous == --seed ]] || folder=$argument
    previous=$argument
  done
  [[ $PWD != "$checkout" ]] || default=runs/demo
  [[ -n $folder ]] || set -- "$default" "$@"
  exec "$cupel" demo "$@"
}

main "$@"
