#!/usr/bin/env bash
# The set `torch` of scripts/bootstrap.sh on machines that have PyTorch's build without CUDA, and on those that have not;
# the sets `boost` and `python` without PyPI. No network is used: pip searches a folder, which is empty at first and then
# holds a wheel of torch's name and version.
#
# usage: bootstrap_test.sh CHECKOUT WORK PREFIXES PYTHON   PREFIXES are the folders of Arrow, sol2 and the AWS runtime,
#        by ":"; PYTHON is ON where the system packages of the set python are installed
set -euo pipefail

bootstrap=$1/scripts/bootstrap.sh work=$2
export CMAKE_PREFIX_PATH=$3 CUPEL_DEPS_DIR=$2/cache
export PIP_NO_INDEX=1 PIP_FIND_LINKS=$2/wheels PIP_CONFIG_FILE=/dev/null
unset PIP_EXTRA_INDEX_URL PIP_INDEX_URL
rm -rf "$work"
mkdir -p "$work"/{wheels,bin}
# A test installs nothing in the system.
printf '#!/bin/sh\necho "system packages are missing: run scripts/bootstrap.sh torch"; exit 1\n' >"$work/bin/apt-get"
chmod +x "$work/bin/apt-get"
export PATH=$work/bin:$PATH

fail() {
  printf '%s\n' "$@"
  exit 1
}

# expect TEXT: the last output contains it.
expect() {
  [[ $output == *"$1"* ]] || fail "expected: $1" "$output"
}

# Without the file the set goes on, and names the settings.
output=$("$bootstrap" torch 2>&1) || fail "bootstrap.sh ended with $?" "$output"
expect "PyPI's torch 2.13.0: could not be fetched"
expect "torch==2.13.0+cpu"
expect "PIP_FIND_LINKS"
expect "PIP_EXTRA_INDEX_URL"
expect "Debian's libtorch"
[[ -z $("$bootstrap" --print-torch) ]] || fail "--print-torch prints a folder that is not there"

# With it, it is installed without what it depends on.
/usr/bin/env python3 - "$work/wheels" <<'END'
import sys, zipfile
info = "torch-2.13.0+cpu.dist-info"
with zipfile.ZipFile(sys.argv[1] + "/torch-2.13.0+cpu-py3-none-any.whl", "w") as wheel:
    wheel.writestr("torch/share/cmake/Torch/TorchConfig.cmake", "")
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\nRequires-Dist: no-such-package\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "/RECORD", "")
END
output=$("$bootstrap" torch 2>&1) || fail "bootstrap.sh ended with $?" "$output"
expect "PyPI's torch 2.13.0: done"
folder=$("$bootstrap" --print-torch)
[[ -f $(echo "$folder"/lib/python3*/site-packages/torch/share/cmake/Torch/TorchConfig.cmake) ]] ||
  fail "--print-torch prints $folder, which has no torch"

# Then there is nothing to do, and XGBoost, which is pinned by its sums, was not asked for.
output=$("$bootstrap" torch 2>&1) || fail "bootstrap.sh ended with $?" "$output"
[[ -z $output ]] || fail "expected no output:" "$output"
[[ -z $("$bootstrap" --print-boost) ]] || fail "--print-boost prints a folder that is not there"

# A file of the right name with another content is refused.
cp "$work/wheels/"torch-*.whl "$work/wheels/xgboost_cpu-3.2.0-py3-none-any.whl"
output=$("$bootstrap" boost 2>&1) || fail "bootstrap.sh ended with $?" "$output"
expect "PyPI's XGBoost 3.2.0: could not be fetched"
expect "Debian's XGBoost"
grep -q "DO NOT MATCH THE HASHES" "$CUPEL_DEPS_DIR"/logs/boost-*.log || fail "the sums were not checked"

# Without PyPI the set python names what is off, and is no failure. Each package in its list has a sum.
if [[ $4 == ON ]]; then
  output=$("$bootstrap" python 2>&1) || fail "bootstrap.sh ended with $?" "$output"
  expect "Python packages"
  expect "could not be fetched from PyPI"
  expect "the Python package is off"
  [[ -z $("$bootstrap" --print-python) ]] || fail "--print-python prints a folder that is not there"
fi
pins=$(grep -c == "$1/scripts/pypi-python.txt")
sums=$(grep -cE '^[A-Za-z].*==[0-9.]+ \\$' "$1/scripts/pypi-python.txt")
((pins > 20 && pins == sums)) || fail "scripts/pypi-python.txt has $pins packages and sums for $sums"
