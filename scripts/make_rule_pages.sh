#!/usr/bin/env bash
# Makes docs/rules anew: the page of every built-in rule, from what rules/src says of it.
#
# usage: scripts/make_rule_pages.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/bootstrap.sh build
cmake --preset dev >/dev/null
ninja -C build/dev cupel
rm -rf docs/rules
build/dev/bin/cupel rules --markdown docs/rules
git diff --stat -- docs/rules
