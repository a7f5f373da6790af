#!/usr/bin/env bash
# Records the golden runs of the present format version anew. Only when the format changes before a release: recorded
# runs of released versions stay as they are. Read the diff of the expected texts before you commit.
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
git diff --stat -- "tests/golden/$version"
