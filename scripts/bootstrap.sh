#!/usr/bin/env bash
# Installs what cupel is built with: system packages, then Arrow, sol2 and the AWS runtime into a cache.
#
# In the cache a dependency is a folder <name>-<version>-<key>, moved there when it is whole. The key is a hash
# of its recipe (pinned sums, flags, compiler, system): a changed recipe never meets a stale build. Sources come
# from a Debian mirror and must have the sums of deps.sha256; the system's package sources are never edited.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source-path=SCRIPTDIR source=stages.sh
source "$here/stages.sh"

usage() {
  cat <<'EOF'
usage: scripts/bootstrap.sh [SET…]              install what is missing (default: build)
       scripts/bootstrap.sh --print-prefix      print the CMAKE_PREFIX_PATH of what the cache holds
       scripts/bootstrap.sh --print-package-prefix   the same of what packages are linked with
       scripts/bootstrap.sh --print-mirror      print the Debian archive that this machine's apt uses, if there is one
       scripts/bootstrap.sh --print-s3-server   print the folder of the S3 server for tests, if it is there
       scripts/bootstrap.sh --print-arrow-readers   the same of the readers of Arrow files for node
       scripts/bootstrap.sh --print-python-readers  the same of those for Python: a virtual environment
       scripts/bootstrap.sh --print-torch       the same of PyPI's torch: a virtual environment
       scripts/bootstrap.sh --print-boost       the same of PyPI's XGBoost
       scripts/bootstrap.sh --print-python      the same of what the room python is built and tested with

sets:
  demo    system packages, Arrow and sol2; Lua as C++ where the system has none
  build   demo and the AWS runtime: all that building and running cupel needs
  torch   build, and what the room libtorch needs: Debian's libtorch, and PyPI's torch for its tests
  boost   build, and what the room xgboost needs: Debian's XGBoost, and PyPI's for its tests
  python  torch and boost, and what the room python needs: Python's headers, nanobind, scikit-build-core, and what
          its tests need with both generations of the frameworks
  package build, and what packages and wheels are made with: static libcurl, Highway and Lua, dpkg's tools
  test    python, and the tools of the tests: GoogleTest, Google Benchmark, clang, python3, node, an S3 server

environment:
  CUPEL_DEPS_DIR        the cache (default: ${XDG_CACHE_HOME:-$HOME/.cache}/cupel-deps)
  CMAKE_PREFIX_PATH     Arrow, sol2 or an AWS runtime that is found below it is yours and is not built
  CUPEL_DEBIAN_MIRROR   where sources come from (default: the mirror that this machine's apt uses)
  CUPEL_JOBS            parallel compilations (default: the number of cores)
  CUPEL_PYTHON          the Python of the virtual environments (default: /usr/bin/python3, else python3 of the PATH)
  PIP_FIND_LINKS, PIP_EXTRA_INDEX_URL   pip's settings: a folder, or an index, that has PyTorch's build without CUDA

exit codes: 0 all is there; 1 something failed; 2 only you can go on, and it says how
EOF
}

# ---- What is needed ----------------------------------------------------------------------------------

build_packages=(
  g++ cmake ninja-build pkg-config ccache mold
  nlohmann-json3-dev libspdlog-dev libfmt-dev libcli11-dev libhwy-dev libpcre2-dev liblua5.4-dev
  libssl-dev libcurl4-openssl-dev
  ca-certificates xz-utils
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev python3 python3-venv curl zsh fish
  clang clang-format clang-tidy clang-tools libclang-rt-14-dev
)

# Debian's generation of the frameworks.
torch_packages=(libtorch-dev libopenblas0-pthread)
boost_packages=(libxgboost-dev)
python_packages=(python3-dev python3-venv python3-pytest python3-numpy python3-torch python3-xgboost)

# Per dependency: its packages in deps.sha256 (the first one's version is its version; NAME-debian is what Debian adds
# to the source package NAME), the suite that offers them, the CMake file that proves that the user has the dependency,
# and the seconds that one core builds it.
declare -A title=(
  [arrow]="Arrow" [sol2]="sol2" [lua]="Lua" [aws-crt]="AWS runtime" [curl]="libcurl" [highway]="Highway"
)
declare -A parts=(
  [arrow]="apache-arrow libxsimd-dev xtl-dev" [sol2]="sol2-dev" [lua]="lua5.4 lua5.4-debian" [aws-crt]="aws-crt-python"
  [curl]="curl curl-debian" [highway]="highway"
)
declare -A suite=(
  [arrow]="forky" [sol2]="forky" [lua]="bookworm" [aws-crt]="bookworm" [curl]="bookworm" [highway]="bookworm"
)
declare -A proof=(
  [arrow]="ArrowConfig.cmake" [sol2]="sol2-config.cmake" [lua]="lua5.4-c++.pc" [aws-crt]="aws-c-s3-config.cmake"
)
declare -A core_seconds=([arrow]=240 [sol2]=1 [lua]=15 [aws-crt]=50 [curl]=30 [highway]=15)

package_packages=(dpkg-dev file patch)

# Packages that tests take from npm and PyPI, each set in a folder of its own: the S3 server, readers of Arrow files
# that are not ours, and the newer generation of the frameworks. The version of a set is that of its first package.
# A set with a list pypi-NAME.txt has the packages of the list, without what they depend on.
tools=(s3-server arrow-readers python-readers torch boost python)
declare -A tool_title=(
  [s3-server]="S3 server" [arrow-readers]="Arrow readers" [python-readers]="Python readers"
  [torch]="PyPI's torch" [boost]="PyPI's XGBoost" [python]="Python packages"
)
declare -A tool_registry=([s3-server]=npm [arrow-readers]=npm [python-readers]=PyPI [torch]=PyPI [boost]=PyPI [python]=PyPI)
declare -A tool_packages=(
  [s3-server]="@20minutes/s3rver@4.0.4" [arrow-readers]="apache-arrow@21.2.0 nodejs-polars@0.24.0"
  [python-readers]="pyarrow==26.0.1 polars==2.1.0 pandas==3.1.1 duckdb==2.0.0 numpy==2.4.6"
)

common_flags=(
  -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON
)
arrow_flags=(
  "${common_flags[@]}"
  -DARROW_DEPENDENCY_SOURCE=SYSTEM -DARROW_BUILD_STATIC=ON -DARROW_BUILD_SHARED=OFF -DARROW_USE_CCACHE=OFF
  -DARROW_IPC=ON -DARROW_MIMALLOC=OFF -DARROW_JEMALLOC=OFF -DARROW_COMPUTE=OFF -DARROW_JSON=OFF
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16
)
curl_flags=(
  "${common_flags[@]}" -DBUILD_SHARED_LIBS=OFF -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DHTTP_ONLY=ON
  -DCURL_USE_OPENSSL=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_GSSAPI=OFF -DCURL_ZLIB=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF
  -DUSE_NGHTTP2=OFF -DUSE_LIBIDN2=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_CA_FALLBACK=ON
)
highway_flags=(
  "${common_flags[@]}" -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF
  -DHWY_ENABLE_CONTRIB=OFF
)
lua_flags=("${common_flags[@]}")
lua_patches=(0003-extern_C 0004-cve-2022-28805 0005-cve-2022-33099)  # the others are Debian's build and search paths
lua_project='cmake_minimum_required(VERSION 3.25)
project(lua LANGUAGES CXX)
file(GLOB sources src/l*.c)
list(FILTER sources EXCLUDE REGEX "/luac?\\.c$")
set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
add_library(lua5.4-c++ STATIC ${sources})
target_compile_definitions(lua5.4-c++ PRIVATE LUA_USE_POSIX LUA_COMPAT_5_3)
install(TARGETS lua5.4-c++)
install(FILES src/lua.h src/luaconf.h src/lauxlib.h src/lualib.h src/lua.hpp DESTINATION include/lua5.4)
file(WRITE ${CMAKE_BINARY_DIR}/lua5.4-c++.pc "prefix=\${pcfiledir}/../..
Name: Lua
Description: Lua language engine, compiled as C++
Version: ${LUA_FULL_VERSION}
Libs: -L\${prefix}/lib -llua5.4-c++
Libs.private: -lm
Cflags: -I\${prefix}/include/lua5.4
")
install(FILES ${CMAKE_BINARY_DIR}/lua5.4-c++.pc DESTINATION lib/pkgconfig)'
# Names of source files in what is built begin at the source's root: they go into packages.
no_paths='add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-ffile-prefix-map=${CMAKE_BINARY_DIR}/=")'
aws_flags=("${common_flags[@]}" -DUSE_OPENSSL=ON -DBUILD_TESTING=OFF -DBUILD_SHARED_LIBS=OFF)
aws_edit='/add_subdirectory(aws-lc)/d'  # Debian leaves that library out; OpenSSL serves instead
# When a server hangs up behind an answer, all of it is read that has come, and not only the next 16 KiB.
aws_hang_up_edit='/if (error_code && !socket_handler->shutdown_in_progress)/s/in_progress)/'
aws_hang_up_edit+='in_progress \&\& !socket_handler->read_task_storage.task_fn)/'

# ---- Recipes -----------------------------------------------------------------------------------------

declare -A pinned_path pinned_sum  # by package

read_pins() {
  local sum path name
  while read -r sum path; do
    [[ -n $path && $sum != '#' ]] || continue
    name=${path##*/}
    name=${name%%_*}
    [[ $path != *.debian.tar.* ]] || name+=-debian
    pinned_path[$name]=$path
    pinned_sum[$name]=$sum
  done <"$here/deps.sha256"
}

# Prints the upstream version that a package file's name tells: 25.0.0 of apache-arrow_25.0.0.orig.tar.gz.
upstream_version() {
  local version=${1##*/}
  version=${version#*_}
  version=${version%%.orig.tar*}
  version=${version%%_*}  # the architecture of a .deb
  version=${version%-*}   # Debian's revision
  echo "${version%%+*}"
}

# Sets the packages of the tools that have a list, and python: the interpreter of the virtual environments. A python3 of
# the PATH may be a shim, which stands for another Python in each folder.
read_requirements() {
  local tool line
  for tool in torch boost python; do
    while read -r line; do
      [[ -z $line || $line == '#'* || $line == --* ]] || tool_packages[$tool]=${line%% *}
    done <"$here/pypi-$tool.txt"
  done
  python=${CUPEL_PYTHON:-/usr/bin/python3}
  [[ -n ${CUPEL_PYTHON:-} || -x $python ]] || python=python3
}

# Sets distribution, codename and toolchain: the compiler's and the system's part of every key.
read_system() {
  local ID='' VERSION_ID='' VERSION_CODENAME=''
  # shellcheck source=/dev/null
  [[ ! -r /etc/os-release ]] || source /etc/os-release
  distribution=$ID
  codename=$VERSION_CODENAME
  toolchain="g++-$(g++ -dumpversion 2>/dev/null || echo none) $(uname -m) $ID $VERSION_ID"
}

# Sets version, key and prefix of dependency $1, as pinned.
recipe() {
  local part text="$1 $toolchain"
  for part in ${parts[$1]}; do text+=" ${pinned_sum[$part]}"; done
  case $1 in
    arrow) text+=" ${arrow_flags[*]}" ;;
    curl) text+=" ${curl_flags[*]}" ;;
    highway) text+=" ${highway_flags[*]}" ;;
    lua) text+=" ${lua_flags[*]} ${lua_patches[*]} $lua_project" ;;
    aws-crt) text+=" ${aws_flags[*]} $aws_edit $aws_hang_up_edit" ;;
  esac
  text+=" $no_paths"
  version=$(upstream_version "${pinned_path[${parts[$1]%% *}]}")
  key=$(sha256sum <<<"$text")
  key=${key:0:12}
  prefix=$deps_dir/$1-$version-$key
}

# Prints where dependency $1 is installed, or nothing. A newer version, taken because the pinned one was gone
# from the archive, counts as well.
installed_prefix() {
  local prefix version key found=''
  recipe "$1"
  if [[ -d $prefix ]]; then
    found=$prefix
  else
    for prefix in "$deps_dir/$1"-*-"$key-unpinned"; do [[ ! -d $prefix ]] || found=$prefix; done
  fi
  echo "$found"
}

# Whether the user brings dependency $1 along. Packages and wheels are linked with the libcurl and Highway of these
# recipes: a libcurl of the user may need libraries that other machines do not have. The Lua of the system serves as well
# as one of the user, but in wheels: Debian's static one is not position-independent.
is_users_own() {
  local folder folders
  [[ $1 != lua || -z $for_packages ]] || return 1
  [[ $1 != lua ]] || ! pkg-config --exists lua5.4-c++ 2>/dev/null || return 0
  [[ $1 != curl && $1 != highway ]] || return 1
  IFS=':;' read -r -a folders <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${folders[@]}"; do
    [[ -d $folder ]] || continue
    [[ -z $(find -L "$folder" -maxdepth 5 -name "${proof[$1]}" -print -quit 2>/dev/null) ]] || return 0
  done
  return 1
}

print_prefix() {
  local dep prefix list=''
  [[ -n $deps_dir ]] || return 0
  for dep; do
    ! is_users_own "$dep" || continue
    prefix=$(installed_prefix "$dep")
    [[ -z $prefix ]] || list+="${list:+;}$prefix"
  done
  [[ -z $list ]] || echo "$list"
}

tool_version() {
  local first=${tool_packages[$1]%% *}
  first=${first##*[@=]}
  echo "${first%%+*}"
}

# Prints the folder of the tool $1, whether it is there or not. A virtual environment belongs to one Python.
tool_prefix() {
  local key=${tool_packages[$1]} version='import sys; print(sys.version, sys.base_prefix)'
  [[ ${tool_registry[$1]} != PyPI ]] || key+=" $("$python" -c "$version" 2>/dev/null || true)"
  [[ ! -f $here/pypi-$1.txt ]] || key+=" $(<"$here/pypi-$1.txt")"
  # The environment of the set python names the folders of torch and XGBoost.
  [[ $1 != python ]] || key+=" $(tool_prefix torch) $(tool_prefix boost)"
  key=$(sha256sum <<<"$key")
  echo "$deps_dir/$1-$(tool_version "$1")-${key:0:12}"
}

print_tool_prefix() {
  local prefix
  prefix=$(tool_prefix "$1")
  [[ -z $deps_dir || ! -d $prefix ]] || echo "$prefix"
}

# ---- System packages ---------------------------------------------------------------------------------

# Sets missing to those of the packages $@ that are not installed.
find_missing() {
  local package status
  local -A installed=()
  while read -r package status; do
    [[ $status != installed ]] || installed[$package]=yes
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  missing=()
  for package; do [[ -n ${installed[$package]:-} ]] || missing+=("$package"); done
}

# Says what only root can do, and stops.
ask_for_packages() {
  cat >&2 <<EOF
${0##*/}: system packages are missing. Install them with this line, then run this again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}
EOF
  exit 2
}

install_packages() {
  local counter=$1 log=$deps_dir/logs/packages.log start=$SECONDS
  local install=(apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600)
  exec 8>"$deps_dir/locks/packages"
  flock 8
  find_missing "${packages[@]}"
  ((${#missing[@]})) || return 0
  echo "$counter system packages: installing ${#missing[@]} (about half a minute; log: $log)"
  # Not by run_logged: dpkg is never interrupted half way. The package lists may be absent or old: then once more.
  export DEBIAN_FRONTEND=noninteractive
  "${install[@]}" "${missing[@]}" >"$log" 2>&1 </dev/null ||
    { apt-get update && "${install[@]}" "${missing[@]}"; } >>"$log" 2>&1 </dev/null ||
    fail_with_log "$log" 1
  exec 8>&-
  echo "$counter system packages: done in $(duration $((SECONDS - start)))"
}

# ---- Sources -----------------------------------------------------------------------------------------

# Prints the URI of the Debian archive that this machine's apt uses, or nothing where there is none.
machine_mirror() {
  local list=/etc/apt/sources.list folder=/etc/apt/sources.list.d uri
  [[ $distribution == debian ]] || return 0
  eval "$(apt-config shell list Dir::Etc::sourcelist/f folder Dir::Etc::sourceparts/d)"
  uri=$({ one_line_sources && deb822_sources; } | awk -v codename="$codename" '{
    main = ours = 0
    for (i = 2; i <= NF; i++) {
      if ($i == "main") main = 1
      if ($i == codename || $i ~ /^(stable|testing|unstable|sid)$/) ours = 1
    }
    if (main && ours) { print $1; exit }
  }')
  # A mirror list serves apt only; its first entry serves anybody.
  [[ $uri != mirror+file:* ]] || uri=$(awk '/^[a-z]+:/ { print $1; exit }' "${uri#mirror+file:}") || true
  echo "${uri%/}"
}

# Both print one line "URI suite… component…" per package source; the files are $list and those in $folder.
one_line_sources() {
  cat /dev/null "$list" "$folder"/*.list 2>/dev/null |
    sed -nE 's/#.*//; s/^[ \t]*deb[ \t]+(\[[^]]*\][ \t]*)?([^ \t]+)/\2/p' || true
}

deb822_sources() {
  local file
  for file in "$folder"/*.sources; do
    [[ ! -r $file ]] || awk -v RS= -v FS='\n' '{
      delete value
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^#/) continue
        if (match($i, /^[^ \t:]+:/)) { field = tolower(substr($i, 1, RLENGTH)); $i = substr($i, RLENGTH + 1) }
        value[field] = value[field] " " $i
      }
      if (tolower(value["enabled:"]) ~ /no|false|off|0/) next
      count = split(value["uris:"], uris, /[ \t]+/)
      for (i = 1; i <= count; i++) if (uris[i] != "") print uris[i], value["suites:"], value["components:"]
    }' "$file"
  done
}

# fetch SUM URI: puts the file into downloads and its path into fetched; leaves fetched empty if the archive
# has no such file. apt's own fetcher does it and checks the sum: this machine's proxies and credentials apply.
fetch() {
  local sum=$1 uri=$2 name part said
  name=$(sed 's/.*\///; s/%2b/+/gi; s/%7e/~/gi' <<<"$uri")
  fetched=$deps_dir/downloads/$name
  part=$fetched.part
  said=$part.log
  if [[ -f $fetched ]]; then
    ! sha256sum --check --status <<<"$sum  $fetched" || return 0
    echo "      $name in the cache has a wrong sum: fetching it again"
    rm "$fetched"
  fi
  for _ in first second; do
    : >"$said"
    if try_logged "$said" /usr/lib/apt/apt-helper -o APT::Sandbox::User=root \
      download-file "${uri/#file:/copy:}" "$part" "SHA256:$sum"; then
      rm "$said"
      mv "$part" "$fetched"
      return 0
    fi
    # What an interrupted run left in $part is continued. If that was rubbish, a second attempt is from scratch.
    grep -qE 'Hash Sum mismatch|range' "$said" || break
    rm -f "$part" "$part.FAILED"
  done
  fetched=''
  cat "$said" >>"$log"
  case $(<"$said") in
    *" 404 "* | *" 410 "* | *"Failed to stat"*) rm "$said" ;;
    *"Hash Sum mismatch"*)
      rm "$said"
      show_log "$log"
      die "$uri has another sum than the expected $sum. It was thrown away."
      ;;
    *)
      rm "$said"
      show_log "$log"
      give_up "$uri could not be fetched. If that is a passing trouble, just run this again."
      ;;
  esac
}

# Sets sources to the files of dependency $1, as pinned; leaves it empty if the archive no longer has one.
fetch_pinned() {
  local part
  sources=()
  for part in ${parts[$1]}; do
    fetch "${pinned_sum[$part]}" "$mirror/${pinned_path[$part]}"
    [[ -n $fetched ]] || { sources=() && return; }
    sources+=("$fetched")
  done
}

# The same for what the suite offers now; sets version and prefix to it. Its sums are those of the index whose
# signature apt checks. apt's configuration is private: this suite never mixes with the system's.
fetch_offered() {
  local dep=$1 part uri sum wanted kind apt=$deps_dir/unfinished/apt-$1
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [[ -r $keyring ]] || give_up "$keyring is missing: install the package debian-archive-keyring" 2
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  printf "%s [signed-by=$keyring] $mirror ${suite[$dep]} main\n" deb deb-src >"$apt/sources.list"
  # Of binary packages only headers are taken, so one architecture serves all. An index past its date is
  # forgiven (mirrors lag), a wrong signature is not.
  local private_apt=(
    apt-get -q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o Dir::State::status=/dev/null -o APT::Architecture=amd64
    -o APT::Architectures=amd64 -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false
  )
  try_logged "$log" "${private_apt[@]}" -o APT::Update::Error-Mode=any update ||
    { show_log "$log" && give_up "the index of the suite ${suite[$dep]} could not be read"; }
  sources=()
  for part in ${parts[$dep]}; do
    wanted=source kind='(\\.orig\\.tar\\.[a-z0-9]+|\\.deb)$'
    [[ ${pinned_path[$part]} != *.deb ]] || wanted=download
    [[ $part != *-debian ]] || kind='\\.debian\\.tar\\.[a-z0-9]+$'
    read -r uri sum < <("${private_apt[@]}" --print-uris "$wanted" "${part%-debian}" 2>>"$log" | tr -d "'" |
      awk -v kind="$kind" '$1 ~ kind && sub(/^SHA256:/, "", $4) { print $1, $4 }') ||
      give_up "the suite ${suite[$dep]} offers no $part (see $log)"
    fetch "$sum" "$uri"
    [[ -n $fetched ]] || give_up "the mirror's index lists $uri, but the mirror does not have it"
    sources+=("$fetched")
  done
  rm -rf "$apt"
  version=$(upstream_version "${sources[0]}")
  prefix=$deps_dir/$dep-$version-$key-unpinned
}

# give_up REASON [STATUS]: says what else can be done about the dependency $dep, and exits.
give_up() {
  local own=${title[$dep]}
  [[ $dep != arrow ]] || own="Arrow (15 or newer, with IPC)"
  printf '%s: %s %s: %s\n\nWhat you can do instead:\n' "${0##*/}" "${title[$dep]}" "$version" "$1" >&2
  [[ -z ${proof[$dep]:-} ]] || cat >&2 <<EOF
  * Build with your own $own:
      cmake --preset release -DCMAKE_PREFIX_PATH=/where/it/is
    and put CMAKE_PREFIX_PATH=/where/it/is into the environment, so that this script leaves it out.
EOF
  cat >&2 <<EOF
  * Set CUPEL_DEBIAN_MIRROR to another mirror, one that has the paths in scripts/deps.sha256.
  * Put the files named there into $deps_dir/downloads; they are used if their sums fit.
  * Copy ${prefix##*/} of another machine's cache into $deps_dir,
    or set CUPEL_DEPS_DIR to a cache that has it.
EOF
  exit "${2:-1}"
}

# ---- Building ----------------------------------------------------------------------------------------

# step COMMAND…: one of the commands that build the dependency $dep.
step() {
  try_logged "$log" "$@" || { show_log "$log" && give_up "could not be built"; }
}

# unpack ARCHIVE: into $work/source, whole or not at all.
unpack() {
  [[ ! -d $work/source ]] || return 0
  rm -rf "$work/source.part"
  mkdir "$work/source.part"
  step tar -xf "$1" -C "$work/source.part" --strip-components=1 --no-same-owner
  mv "$work/source.part" "$work/source"
}

# build SOURCE FLAG…: goes on where an interrupted build stopped. Leaves the result below $work/stage, at the
# place where it will be in the end: nothing in it needs to be relocatable.
build() {
  local source=$1
  shift
  echo "$no_paths" >"$work/no-paths.cmake"
  [[ -f $work/build/build.ninja ]] || rm -rf "$work/build"  # a configuration that failed may remember why
  step env -u CFLAGS -u CXXFLAGS -u CPPFLAGS -u LDFLAGS \
    cmake -S "$source" -B "$work/build" "$@" "-DCMAKE_INSTALL_PREFIX=$prefix" \
    "-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES=$work/no-paths.cmake"
  step ninja -C "$work/build" -j "$jobs"
  step env "DESTDIR=$work/stage" cmake --install "$work/build"
}

make_arrow() {
  local deb
  unpack "${sources[0]}"
  for deb in "${sources[@]:1}"; do step dpkg-deb -x "$deb" "$work/headers"; done
  build "$work/source/cpp" "${arrow_flags[@]}" "-DCMAKE_PREFIX_PATH=$work/headers/usr"
}

# Headers only.
make_sol2() {
  mkdir -p "$work/stage${prefix%/*}"
  step dpkg-deb -x "${sources[0]}" "$work/headers"
  mv "$work/headers/usr" "$work/stage$prefix"
}

# As C++: the errors of Lua are exceptions then.
make_lua() {
  local patch
  rm -rf "$work/source"  # an interrupted run may have applied some of the patches
  unpack "${sources[0]}"
  step tar -xf "${sources[1]}" -C "$work/source"
  for patch in "${lua_patches[@]}"; do
    step patch -d "$work/source" -p1 -fi "$work/source/debian/patches/$patch.patch"
  done
  echo "$lua_project" >"$work/source/CMakeLists.txt"
  build "$work/source" "${lua_flags[@]}" "-DLUA_FULL_VERSION=$version"
}

make_aws_crt() {
  local file library
  unpack "${sources[0]}"
  sed -i "$aws_edit" "$work/source/crt/CMakeLists.txt"
  sed -i "$aws_hang_up_edit" "$work/source/crt/aws-c-io/source/socket_channel_handler.c"
  build "$work/source/crt" "${aws_flags[@]}"
  for file in "$work/source/crt"/*/{LICENSE,NOTICE}; do
    [[ -f $file ]] || continue
    library=${file%/*}
    step install -D -m 644 "$file" "$work/stage$prefix/share/doc/aws-crt/${library##*/}/${file##*/}"
  done
}

make_curl() {
  local patch
  # An interrupted run may have applied some of the patches.
  [[ -f $work/source/corrected ]] || rm -rf "$work/source"
  unpack "${sources[0]}"
  if [[ ! -f $work/source/corrected ]]; then
    step tar -xf "${sources[1]}" -C "$work/source"
    while read -r patch _; do
      [[ -z $patch || $patch == '#'* ]] || step patch -d "$work/source" -p1 -fi "$work/source/debian/patches/$patch"
    done <"$work/source/debian/patches/series"
    touch "$work/source/corrected"
  fi
  build "$work/source" "${curl_flags[@]}"
}

make_highway() {
  unpack "${sources[0]}"
  build "$work/source" "${highway_flags[@]}"
}

# wait_for_lock MESSAGE: locks descriptor 9; prints MESSAGE if another run holds the lock.
wait_for_lock() {
  ! flock -n 9 || return 0
  echo "$1"
  flock 9 &
  child=$!  # so that a signal ends the waiting, too
  wait "$child"
  child=''
}

# install_dependency DEP COUNTER: leaves it in the cache, or exits with the reason. Two runs at once do not
# build it twice: the second one waits.
install_dependency() {
  dep=$1
  local counter=$2 start=$SECONDS seconds cores sources fetched log work
  recipe "$dep"
  local name="${title[$dep]} $version"
  exec 9>"$deps_dir/locks/$dep-$key"
  wait_for_lock "$counter $name: another bootstrap.sh is building it, waiting"
  if [[ -n $(installed_prefix "$dep") ]]; then
    echo "$counter $name: done there"
    exec 9>&-
    return
  fi
  log=$deps_dir/logs/${prefix##*/}.log
  : >"$log"
  echo "$counter $name: fetching the sources"
  [[ -n $mirror ]] || give_up "the package sources of this machine name no Debian archive" 2
  fetch_pinned "$dep"
  if ((${#sources[@]} == 0)); then
    echo "$counter $name: gone from the archive; asking what its suite ${suite[$dep]} offers now"
    fetch_offered "$dep"
    name="${title[$dep]} $version"
    echo "$counter $name: taken instead. We have not pinned it; apt checked the archive's signature."
  fi
  work=$deps_dir/unfinished/${prefix##*/}
  rm -rf "$work/stage" "$work/headers"
  mkdir -p "$work"
  seconds=$(((${core_seconds[$dep]} + jobs - 1) / jobs))
  cores="$jobs cores"
  ((jobs != 1)) || cores="one core"
  echo "$counter $name: building (about $(duration "$seconds") on $cores; log: $log)"
  case $dep in
    arrow) make_arrow ;;
    aws-crt) make_aws_crt ;;
    curl) make_curl ;;
    highway) make_highway ;;
    lua) make_lua ;;
    sol2) make_sol2 ;;
  esac
  printf '%s: %s\n' version "$version" sources "${sources[*]##*/}" system "$toolchain" >"$work/stage$prefix/RECIPE"
  mv -T "$work/stage$prefix" "$prefix"
  rm -rf "$work"
  exec 9>&-
  echo "$counter $name: done in $(duration $((SECONDS - start)))"
}

# fetch_tool NAME PACKAGE…: into $work. In a virtual environment that is moved afterwards, python works and other
# programs do not.
fetch_tool() {
  local registry=${tool_registry[$1]} list=$here/pypi-$1.txt
  shift
  if [[ $registry == npm ]]; then
    try_logged "$log" npm install --prefix "$work" --no-save --no-audit --no-fund "$@"
    return
  fi
  [[ ! -f $list ]] || set -- --no-deps -r "$list"  # pip checks the sums in the list
  try_logged "$log" "$python" -m venv "$work" && try_logged "$log" "$work/bin/python" -m pip install \
    --no-input --disable-pip-version-check --no-compile --only-binary :all: "$@" && add_frameworks "$work"
}

# add_frameworks ENVIRONMENT: the environment of the set python finds torch and XGBoost in theirs. The folders of all
# three lie side by side.
add_frameworks() {
  local site framework
  [[ $1 == */python-* && $1 != */python-readers-* ]] || return 0
  for site in "$1"/lib/python*/site-packages; do
    for framework in torch boost; do
      echo "../../../../$(basename "$(tool_prefix "$framework")")/lib/$(basename "${site%/*}")/site-packages"
    done >"$site/cupel-frameworks.pth"
  done
}

# A failure ends nothing else: tests that need the tool skip themselves or are not registered.
install_tool() {
  local what=$1 counter=$2 start=$SECONDS name prefix log work registry=${tool_registry[$1]}
  local -a wanted
  name="${tool_title[$what]} $(tool_version "$what")"
  prefix=$(tool_prefix "$what")
  log=$deps_dir/logs/${prefix##*/}.log
  work=$deps_dir/unfinished/${prefix##*/}
  read -ra wanted <<<"${tool_packages[$what]}"
  exec 9>"$deps_dir/locks/${prefix##*/}"
  wait_for_lock "$counter $name: another bootstrap.sh is fetching it, waiting"
  if [[ ! -d $prefix ]]; then
    echo "$counter $name: fetching from $registry"
    : >"$log"
    rm -rf "$work"
    mkdir -p "$work"
    if fetch_tool "$what" "${wanted[@]}"; then
      mv -T "$work" "$prefix"
    else
      echo "$counter $name: could not be fetched from $registry, tests that want it will not run (log: $log)"
      [[ $what != torch ]] || cat <<EOF
      ${tool_packages[torch]} is PyTorch's build without CUDA, which PyPI itself does not have. Name a folder with its
      file by PIP_FIND_LINKS, or an index that has it by PIP_EXTRA_INDEX_URL. The room libtorch is built and tested with
      Debian's libtorch all the same.
EOF
      [[ $what != boost ]] || echo "      The room xgboost is built and tested with Debian's XGBoost all the same."
      [[ $what != python ]] || cat <<EOF
      Without nanobind, which is among them, the Python package is off. All else is built; with a nanobind $(tool_version "$what")
      of your own (python3 -m nanobind), the package is built as well, and tested with Debian's frameworks.
EOF
      exec 9>&-
      return
    fi
  fi
  exec 9>&-
  echo "$counter $name: done in $(duration $((SECONDS - start)))"
}

# ---- The command -------------------------------------------------------------------------------------

downloads=()  # background processes with install_tool that the script has not waited for yet

# Ends the downloads of a script that ends early, and waits for their end.
stop_downloads() {
  ((${#downloads[@]})) || return 0
  kill -TERM "${downloads[@]}" 2>/dev/null || true
  wait "${downloads[@]}" 2>/dev/null || true
}

main() {
  local argument set=0 for_packages='' dependencies=(arrow sol2 lua) todo=() i counter what
  local -A sets=([demo]=1 [build]=2 [test]=3)  # each one includes those before it
  local -A frameworks=()                       # torch, boost and python, where they are asked for
  read_pins
  read_requirements
  read_system
  deps_dir=${CUPEL_DEPS_DIR:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}}
  [[ -z $deps_dir || -n ${CUPEL_DEPS_DIR:-} ]] || deps_dir+=/cupel-deps
  [[ -z $deps_dir ]] || deps_dir=$(realpath -ms "$deps_dir")

  for argument; do
    case $argument in
      -h | --help) usage && return ;;
      --print-prefix) print_prefix arrow sol2 lua aws-crt && return ;;
      --print-package-prefix) for_packages=yes && print_prefix curl highway lua && return ;;
      --print-mirror) machine_mirror && return ;;
      --print-s3-server | --print-arrow-readers | --print-python-readers | --print-torch | --print-boost | --print-python)
        print_tool_prefix "${argument#--print-}" && return
        ;;
      demo | build | test) ((set >= sets[$argument])) || set=${sets[$argument]} ;;
      package) for_packages=yes ;;
      torch | boost) frameworks[$argument]=yes ;;
      python) frameworks=([torch]=yes [boost]=yes [python]=yes) ;;
      *) usage >&2 && exit 2 ;;
    esac
  done
  [[ -z $for_packages && ${#frameworks[@]} == 0 ]] || ((set >= sets[build])) || set=${sets[build]}
  ((set)) || set=${sets[build]}
  ((set < sets[test])) || frameworks=([torch]=yes [boost]=yes [python]=yes)

  packages=("${build_packages[@]}")
  ((set < sets[build])) || dependencies+=(aws-crt)
  [[ -z $for_packages ]] || packages+=("${package_packages[@]}")
  [[ -z ${frameworks[torch]:-} ]] || packages+=("${torch_packages[@]}")
  [[ -z ${frameworks[boost]:-} ]] || packages+=("${boost_packages[@]}")
  [[ -z ${frameworks[python]:-} ]] || packages+=("${python_packages[@]}")
  ((${#frameworks[@]} == 0)) || packages+=(python3 python3-venv)
  # Debian 12 has Lua as C++ among its packages; a patched one of our own is for systems that have not.
  [[ -n $(installed_prefix lua) ]] || is_users_own lua || packages+=(patch)
  [[ -z $for_packages ]] || dependencies+=(curl highway)
  if ((set >= sets[test])); then
    packages+=("${test_packages[@]}")
    # These two are often installed from elsewhere; any will do.
    type -P node >/dev/null || packages+=(nodejs)
    type -P npm >/dev/null || packages+=(npm)
  fi
  type -P dpkg-query >/dev/null ||
    die "this is for Debian and its relatives; elsewhere CMake takes what you have (docs/install.md)" 2
  find_missing "${packages[@]}"
  ((${#missing[@]} == 0)) || ((EUID == 0)) || ask_for_packages

  ((${#missing[@]} == 0)) || todo+=(packages)
  for what in "${tools[@]}"; do
    ((set == sets[test])) || [[ -n ${frameworks[$what]:-} ]] || continue
    [[ -d $(tool_prefix "$what") ]] || todo+=("$what")
  done
  for dep in "${dependencies[@]}"; do
    [[ -n $(installed_prefix "$dep") ]] || is_users_own "$dep" || todo+=("$dep")
  done
  ((${#todo[@]})) || return 0

  [[ -n $deps_dir ]] || die "HOME is not set: say with CUPEL_DEPS_DIR where to keep what is built" 2
  mkdir -p "$deps_dir"/{downloads,locks,logs,unfinished} 2>/dev/null || true
  [[ -w $deps_dir/unfinished && -w $deps_dir ]] ||
    die "$deps_dir cannot be written: say with CUPEL_DEPS_DIR where to keep what is built" 2
  jobs=${CUPEL_JOBS:-$(nproc)}
  mirror=${CUPEL_DEBIAN_MIRROR:-$(machine_mirror)}
  mirror=${mirror%/}
  trap stop_downloads EXIT
  for i in "${!todo[@]}"; do
    counter="[$((i + 1))/${#todo[@]}]"
    if [[ ${todo[i]} == packages ]]; then
      install_packages "$counter"
      read_system  # a compiler may be there only now, and a Python
      read_requirements
    elif [[ -n ${tool_packages[${todo[i]}]:-} ]]; then
      # Waits for the network while the compiler works on the rest.
      {
        trap 'stop_child; exit 143' TERM  # a background process does not inherit the trap
        install_tool "${todo[i]}" "$counter"
      } &
      downloads+=($!)
    elif ! is_users_own "${todo[i]}"; then  # it may be in the system packages that were installed just now
      install_dependency "${todo[i]}" "$counter"
    fi
  done
  for i in "${!downloads[@]}"; do
    wait "${downloads[i]}" || exit
    unset "downloads[i]"
  done
}

main "$@"
exit
