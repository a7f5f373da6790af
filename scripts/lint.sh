#!/usr/bin/env bash
# Checks our C++: clang-format on every file of the checkout, clang-tidy on every source that build/dev compiles.
#
# usage: scripts/lint.sh [--fix | --format-only] [FILE…]   only these files; --fix formats them instead of
#        complaining, --format-only leaves clang-tidy out
#
# clang-tidy takes several times as long as the compiler. A source that it found nothing in is not checked again
# until the source, a header it includes, its options or the checks change; what was fine is remembered beside
# other caches of this machine, by content, so that another checkout profits, too.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

version=14  # another clang-format formats differently
fine=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cupel-lint

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

# Sets sources to those of the files that build/dev compiles, and options[source] to how.
find_sources() {
  local file command=''
  local -A compiled=()
  while IFS=$'\t' read -r file command; do compiled[$file]=$command; done < <(
    awk -F '": "' '/^ *"command"/ { command = $2 } /^ *"file"/ { sub(/",?$/, "", $2); print $2 "\t" command }' \
      build/dev/compile_commands.json
  )
  sources=()
  for file in "${files[@]}"; do
    command=${compiled[$PWD/$file]:-}
    [[ -n $command ]] || continue
    sources+=("$file")
    options[$file]=${command//"$PWD"/}
  done
}

# Sets stamp[source] to the file that says it is fine as it is. ninja knows what a source includes once it has
# compiled it; without that there is no stamp.
find_stamps() {
  local checks file contents key
  checks=$("$tool" --version)$(find . -maxdepth 2 -name .clang-tidy -exec cat {} +)
  mkdir -p "$fine" 2>/dev/null || return 0
  find "$fine" -type f -mtime +30 -delete
  while read -r file contents; do
    file=${file#"$PWD"/}
    key=$(sha256sum <<<"$checks ${options[$file]:-} $contents")
    stamp[$file]=$fine/${key%% *}
  done < <(
    cd build/dev
    ninja -t deps >deps.txt 2>/dev/null
    awk '/^ / { print $1 }' deps.txt | sort -u | xargs -r sha256sum 2>/dev/null |
      awk 'NR == FNR { sum[$2] = $1; next }
           /^[^ ]/ { source = "" }
           /^ / { if (source == "") source = $1; contents[source] = contents[source] sum[$1] }
           END { for (source in contents) print source, contents[source] }' - deps.txt
  )
}

# Checks the pairs of source and stamp in todo, as many at once as there are cores.
run_tidy() {
  local reports status=0
  # One report per source, so that they do not mingle.
  reports=$(mktemp -d)
  # shellcheck disable=SC2016
  printf '%s\0' "${todo[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c '
    report=$1/${2//\//-}
    "$0" -p build/dev --quiet --extra-arg=-Wno-unknown-warning-option "$2" >"$report" 2>&1 && rm "$report" && : >"$3"
  ' "$tool" "$reports" &
  child=$!
  wait "$child" || status=1
  child=''
  cat /dev/null "$reports"/* 2>/dev/null |
    grep -vE '^[0-9]+ (warning|error)s? (generated|treated)|^Suppressed |^Use -header-filter' || true
  rm -rf "$reports"
  return "$status"
}

check_tidy() {
  local start=$SECONDS status=0 tool source sources known=0 todo=()
  local -A options=() stamp=()
  find_tool clang-tidy
  mkdir -p build
  [[ -f build/dev/compile_commands.json ]] || run_logged build/dev.log cmake --preset dev
  find_sources
  if ((${#sources[@]} == 0)); then
    echo "[2/2] clang-tidy: nothing to check, build/dev compiles none of these files"
    [[ " ${files[*]} " != *".cc "* ]]
    return
  fi
  find_stamps
  for source in "${sources[@]}"; do
    if [[ -f ${stamp[$source]:-} ]]; then
      touch "${stamp[$source]}"
      known=$((known + 1))
    else
      todo+=("$source" "${stamp[$source]:-/dev/null}")
    fi
  done
  ((${#todo[@]} == 0)) || run_tidy || status=1
  echo "[2/2] clang-tidy: ${#sources[@]} sources, $known of them known to be fine," \
    "in $(duration $((SECONDS - start)))$(verdict "$status")"
  return "$status"
}

main() {
  local status=0 fix='' format_only='' files i
  [[ ${1:-} != --fix ]] || { fix=yes && shift; }
  [[ ${1:-} != --format-only ]] || { format_only=yes && shift; }
  files=("$@")
  # They are given relative to where the caller is.
  for i in "${!files[@]}"; do files[i]=$(realpath -s --relative-to="${here%/*}" "${files[i]}"); done
  cd "${here%/*}"
  ((${#files[@]})) || mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.h' '*.cc')
  for i in "${!files[@]}"; do [[ -f ${files[i]} ]] || unset 'files[i]'; done
  files=("${files[@]}")
  ((${#files[@]})) || { echo "lint.sh: no C++ here" && return; }
  check_format || status=1
  [[ -n $format_only ]] || check_tidy || status=1
  exit "$status"
}

main "$@"
