#!/usr/bin/env bash
# Follows docs/install.md in a clean copy of the checkout: its commands and files are taken from the document, up to
# the section Packages. What a person would have in the home directory goes to build/try-install.
#
# usage: scripts/try-install.sh [--print]   --print: shows the commands, runs nothing
#
# Blocks marked sh are run by one shell, one after another. Blocks marked cpp or cmake are files, which their first line
# names. Then the libraries are built once more as shared ones, for the same project. Compiled objects come from ccache
# where build/release, the demo or an earlier try made the same ones.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

# Prints the commands of document $1 as a script, without the section $2.
commands_of() {
  awk -v left_out="## $2" '
    /^## Packages/ { exit }
    /^## / { skips = $0 == left_out }
    skips { next }
    /^```/ {
      if (kind == "file") print "END_OF_FILE"
      kind = kind != "" ? "" : $0 == "```sh" ? "sh" : $0 ~ /^```(cpp|cmake)$/ ? "first" : "other"
      if (kind == "sh") printf "echo \"--- line %d of the document\"\n", NR + 1
      next
    }
    kind == "first" {
      print "cat >" $2 " <<\"END_OF_FILE\""
      kind = "file"
    }
    kind == "sh" || kind == "file"
  ' "$1"
}

main() {
  local checkout=${here%/*} start=$SECONDS
  local home=$checkout/build/try-install log=$checkout/build/try-install.log script deps ccache left_out='' pip
  # What pip needs is there if bootstrap.sh could fetch it.
  [[ -n $("$here/bootstrap.sh" --print-python) ]] || left_out="The package for Python"
  script=$(commands_of "$checkout/docs/install.md" "$left_out")
  if [[ ${1:-} == --print ]]; then
    echo "$script"
    return
  fi
  (($# == 0)) || die "usage: scripts/try-install.sh [--print]" 2
  [[ $(grep -c '^---\|^echo "---' <<<"$script") -ge 5 ]] || die "docs/install.md has fewer commands than expected"

  # Caches stay where they are.
  deps=${CUPEL_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/cupel-deps}
  ccache=${CCACHE_DIR:-$(ccache --get-config cache_dir 2>/dev/null || echo "$HOME/.cache/ccache")}

  rm -rf "$home"
  mkdir -p "$home/cupel"
  : >"$log"
  # What git would give to somebody else: no ignored file, but changes that are not committed yet.
  git -C "$checkout" ls-files -z --cached --others --exclude-standard |
    (cd "$checkout" && while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done) |
    tar -C "$checkout" --null -T - -cf - | tar -C "$home/cupel" -xf -

  [[ -z $left_out ]] || echo "not followed: the section $left_out, for want of PyPI"
  mapfile -d '' pip < <(env -0 | grep -z '^PIP_' || true)
  local as_user=(
    env -i -C "$home/cupel" HOME="$home" PATH="$PATH" LANG=C.UTF-8 TERM=dumb CUPEL_DEPS_DIR="$deps" CCACHE_DIR="$ccache"
    ${CUPEL_DEBIAN_MIRROR:+CUPEL_DEBIAN_MIRROR="$CUPEL_DEBIAN_MIRROR"} "${pip[@]}" bash -euxo pipefail -c
  )
  echo "[1/2] following docs/install.md in $home (log: $log)"
  run_logged "$log" "${as_user[@]}" "$script"
  echo "[2/2] the same project with shared libraries"
  # shellcheck disable=SC2016  # for the other shell
  run_logged "$log" "${as_user[@]}" '
    cmake --preset release -B build/shared -DBUILD_SHARED_LIBS=ON
    cmake --build build/shared
    cmake --install build/shared --prefix ~/shared
    rm -rf build/shared
    ~/shared/bin/cupel info ~/trainer/runs/first
    cd ~/trainer
    cmake -G Ninja -B shared -DCMAKE_PREFIX_PATH=$HOME/shared -DCMAKE_BUILD_TYPE=Release
    cmake --build shared
    shared/trainer
    ldd shared/trainer | grep libcupel_writer'
  # Of the compiler's, g++ 12 has some at -O3 that are none; the preset dev has those that count.
  if grep -E '^CMake .*Warning' "$log"; then
    show_log "$log"
    die "CMake warns"
  fi
  echo "docs/install.md was followed to the end in $(duration $((SECONDS - start)))"
}

main "$@"
