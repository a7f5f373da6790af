#!/usr/bin/env bash
# Checks the C++ sources: clang-format on every file of the checkout, clang-tidy on the sources that changed.
#
# usage: scripts/lint.sh [--fix | --format-only] [--all | FILE…]
#
#   --fix          formats the files instead of reporting them
#   --format-only  leaves clang-tidy out
#   --all          runs clang-tidy on every source: about two hours on two cores
#   FILE…          checks these files alone
#
# A source has changed if a commit of the last 12 hours or the work tree changed it. clang-tidy takes several times
# as long as the compiler, and needs a command for each single source: build/lint is configured for it, not built.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

version=14  # another clang-format formats differently

# Sets tool to the program $1 in our version.
find_tool() {
  tool=$(type -P "$1-$version" "$1" | head -n 1) || true
  [[ -n $tool ]] || die "$1 is missing: run scripts/bootstrap.sh test" 2
  [[ $("$tool" --version) == *" version $version."* ]] || die "$tool is not of version $version" 2
}

verdict() {
  (($1 == 0)) || printf ': FAILED'
}

check_format() {
  local start=$SECONDS status=0 tool complaints
  find_tool clang-format
  [[ -z $fix ]] || "$tool" -i "${files[@]}"
  complaints=$("$tool" --dry-run -Werror "${files[@]}" 2>&1) || status=1
  # Which files is enough to know: --fix does the rest.
  sed -nE 's/^(.*):[0-9]+:[0-9]+: error: .*/  not formatted: \1/p' <<<"$complaints" | sort -u
  echo "[1/2] clang-format: ${#files[@]} files in $(duration $((SECONDS - start)))$(verdict "$status")"
  return "$status"
}

# Prints the sources that commits of the last 12 hours or the work tree changed.
changed_sources() {
  local base
  base=$(git rev-list -1 --before='12 hours ago' HEAD)
  [[ -n $base ]] || base=$(git hash-object -t tree /dev/null)  # all is new
  git diff --name-only --diff-filter=d "$base" -- '*.cc'
  git ls-files --others --exclude-standard '*.cc'
}

check_tidy() {
  local start=$SECONDS status=0 tool reports source
  local -a sources=()
  find_tool clang-tidy
  mkdir -p build
  run_logged build/lint.log cmake --preset lint
  for source in "${to_tidy[@]}"; do
    ! grep -qF "\"$PWD/$source\"" build/lint/compile_commands.json || sources+=("$source")
  done
  if ((${#sources[@]} > 0)); then
    # One report per source, so that they do not mingle.
    reports=$(mktemp -d)
    # shellcheck disable=SC2016
    printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c '
      report=$1/${2//\//-}
      "$0" -p build/lint --quiet --extra-arg=-Wno-unknown-warning-option "$2" >"$report" 2>&1 && rm "$report"
    ' "$tool" "$reports" &
    child=$!
    wait "$child" || status=1
    child=''
    cat /dev/null "$reports"/* 2>/dev/null |
      grep -vE '^[0-9]+ (warning|error)s? (generated|treated)|^Suppressed |^Use -header-filter' || true
    rm -rf "$reports"
  fi
  echo "[2/2] clang-tidy: ${#sources[@]} sources in $(duration $((SECONDS - start)))$(verdict "$status")"
  return "$status"
}

main() {
  local status=0 fix='' format_only='' all='' files to_tidy i
  [[ ${1:-} != --fix ]] || { fix=yes && shift; }
  [[ ${1:-} != --format-only ]] || { format_only=yes && shift; }
  [[ ${1:-} != --all ]] || { all=yes && shift; }
  files=("$@")
  # They are given relative to where the caller is.
  for i in "${!files[@]}"; do files[i]=$(realpath -s --relative-to="${here%/*}" "${files[i]}"); done
  cd "${here%/*}"
  to_tidy=("${files[@]}")
  if ((${#files[@]} == 0)); then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.h' '*.cc')
    to_tidy=("${files[@]}")
    [[ -n $all ]] || mapfile -t to_tidy < <(changed_sources)
  fi
  for i in "${!files[@]}"; do [[ -f ${files[i]} ]] || unset 'files[i]'; done
  files=("${files[@]}")
  ((${#files[@]})) || { echo "lint.sh: no C++ here" && return; }
  check_format || status=1
  [[ -n $format_only ]] || check_tidy || status=1
  exit "$status"
}

main "$@"
