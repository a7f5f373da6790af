#!/usr/bin/env bash
# Records the golden runs of the present format version anew. Only when the format changes before a release: recorded
# runs of released versions stay as they are. Read the diff of the expected texts before you commit.
#
# tests/golden/encoders has the run `full` as other encoders of Arrow files write it.
#
# usage: scripts/make_golden.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=1.1
scripts/bootstrap.sh test
cmake --preset dev >/dev/null
ninja -C build/dev make_golden
rm -rf "tests/golden/$version"
mkdir -p "tests/golden/$version"
build/dev/bin/make_golden "tests/golden/$version"

python=$(scripts/bootstrap.sh --print-python-readers)/bin/python
NODE_PATH=$(scripts/bootstrap.sh --print-arrow-readers)/node_modules
export NODE_PATH
rm -rf tests/golden/encoders
mkdir tests/golden/encoders
for encoder in v4 js; do
  "$python" tests/golden/reencode_run.py "tests/golden/$version/full" "tests/golden/encoders/$encoder" "$encoder"
  cp "tests/golden/$version/full.expected.txt" "tests/golden/encoders/$encoder.expected.txt"
done
git diff --stat -- tests/golden
