#!/usr/bin/env bash
# Writes python/cupel/_native.pyi, the types of the extension, from the extension of build/dev. Run it after a change of
# python/src that a user of Python sees.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

checkout=${here%/*}
python=$("$here/bootstrap.sh" --print-python)/bin/python
[[ -x $python ]] || die "nanobind is missing: scripts/bootstrap.sh python fetches it" 2
ninja -C "$checkout/build/dev" --quiet cupel_native
cd "$checkout/build/dev"
PYTHONPATH=$checkout/build/dev/python PYTHONDONTWRITEBYTECODE=1 "$python" -m nanobind.stubgen -q -P -m cupel._native \
  -o "$checkout/python/cupel/_native.pyi"
