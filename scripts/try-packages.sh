#!/usr/bin/env bash
# Installs packages in a bare Debian 12, made by debootstrap, and uses them there: the command from its .deb, the command
# from the archive, and a project that is built with libcupel-dev.
#
# usage: scripts/try-packages.sh [DIR]   DIR is where cpack put the packages: build/packages if not given
#
# For root, with debootstrap and a Debian archive at hand: the one that this machine's apt uses, or
# CUPEL_DEBIAN_MIRROR. Takes about three minutes. The system is in build/bare-debian and is removed at the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

# In the bare system.
inside() {
  run_logged "$log" chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive bash -euxc "$1"
}

# no_paths FOLDER: no file in it leads to the machine where it was made.
no_paths() {
  local place
  for place in "$checkout" "$deps"; do
    if grep -rlaF -- "$place" "$1" >>"$log"; then
      show_log "$log"
      die "files in $1 contain $place"
    fi
  done
}

main() {
  checkout=${here%/*}
  root=$checkout/build/bare-debian log=$checkout/build/try-packages.log
  deps=${CUPEL_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/cupel-deps}
  local packages=${1:-$checkout/build/packages} start=$SECONDS cupel dev archive
  local mirror
  ((EUID == 0)) || die "this is for root: it makes a system and changes into it" 2
  type -P debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap" 2
  cupel=$(echo "$packages"/cupel_*.deb)
  dev=$(echo "$packages"/libcupel-dev_*.deb)
  archive=$(echo "$packages"/cupel-*.tar.gz)
  [[ -f $cupel && -f $dev && -f $archive ]] || die "$packages does not hold one package of each kind" 2

  mirror=${CUPEL_DEBIAN_MIRROR:-$("$here/bootstrap.sh" --print-mirror)}
  [[ -n $mirror ]] || die "this machine's apt uses no Debian archive: name one with CUPEL_DEBIAN_MIRROR" 2

  rm -rf --one-file-system "$root"
  : >"$log"
  echo "[1/5] a bare Debian 12 (log: $log)"
  run_logged "$log" debootstrap --variant=minbase bookworm "$root" "$mirror"
  cp "$cupel" "$dev" "$archive" "$root/srv"

  echo "[2/5] ${archive##*/}: unpacked and moved"
  inside 'mkdir -p /opt/some /opt/other && tar -C /opt/some -xf /srv/cupel-*.tar.gz && mv /opt/some/cupel-* "/opt/other/a place"
    "/opt/other/a place/bin/cupel" --version && "/opt/other/a place/bin/cupel" info --build
    cd /tmp && "/opt/other/a place/bin/cupel" demo runs'
  no_paths "$root/opt/other"

  echo "[3/5] ${cupel##*/}: installed, nothing else is"
  inside 'dpkg -i /srv/cupel_*.deb && cd /tmp && rm -rf runs && cupel --version && cupel demo runs
    cupel watch runs/vanishing --rule VanishingGradient --no-wait || [ $? = 1 ]
    test -s /usr/share/man/man1/cupel.1 && eval "$(cupel completion bash)"
    if ldd /usr/bin/cupel | grep -vE "linux-vdso|libc\.so|libm\.so|ld-linux"; then exit 1; fi'

  echo "[4/5] ${dev##*/}: installed with what it depends on, a compiler and CMake"
  run_logged "$log" cp -r "$checkout/tests/install/consumer" "$root/srv/consumer"
  run_logged "$log" cp "$checkout/examples/my_rule.cc" "$root/srv/consumer"
  inside 'apt-get update && apt-get install -y --no-install-recommends /srv/libcupel-dev_*.deb g++ cmake ninja-build'

  echo "[5/5] a project that uses it"
  inside 'cd /srv && cmake -G Ninja -S consumer -B build 2>&1 | tee configured && cmake --build build
    if grep -i warning configured; then exit 1; fi
    cd /tmp && /srv/build/saver runs/outside && /srv/build/reader runs/outside && /srv/build/judge runs/outside
    /srv/build/everything runs/everything && /srv/build/bucket s3://bucket/run && cupel info runs/outside
    /srv/build/any_location s3://bucket/run && /srv/build/through_library s3://bucket/run
    g++ -std=c++20 /srv/consumer/everything.cc -o everything $(pkg-config --cflags --libs cupel)
    ./everything runs/again'
  mkdir "$root/dev-files"
  dpkg-deb -x "$dev" "$root/dev-files"
  no_paths "$root/dev-files"

  rm -rf --one-file-system "$root"
  echo "the packages were used in a bare Debian 12, which took $(duration $((SECONDS - start)))"
}

main "$@"
