# Finds what cupel builds with. Arrow may come from the cache that scripts/bootstrap.sh fills, or from
# anywhere else CMake looks: an Arrow of one's own only has to be on CMAKE_PREFIX_PATH.

set(THREADS_PREFER_PTHREAD_FLAG ON)

execute_process(
  COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/../scripts/bootstrap.sh --print-prefix
  OUTPUT_VARIABLE CUPEL_CACHED_PREFIXES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
list(APPEND CMAKE_PREFIX_PATH ${CUPEL_CACHED_PREFIXES})

if(CUPEL_STATIC)
  execute_process(
    COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/../scripts/bootstrap.sh --print-package-prefix
    OUTPUT_VARIABLE prefixes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(LENGTH prefixes count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "CUPEL_STATIC needs a static libcurl, Highway and Lua: scripts/bootstrap.sh package builds them")
  endif()
  list(POP_BACK prefixes lua_prefix)
  list(PREPEND CMAKE_PREFIX_PATH ${prefixes})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS TRUE)
endif()

# A build directory remembers where it found things. What a former recipe built is looked for again.
if(CUPEL_CACHED_PREFIXES)
  list(GET CUPEL_CACHED_PREFIXES 0 prefix)
  cmake_path(GET prefix PARENT_PATH cache)
  get_cmake_property(found CACHE_VARIABLES)
  list(FILTER found INCLUDE REGEX "_DIR$")
  foreach(variable IN LISTS found)
    cmake_path(IS_PREFIX cache "${${variable}}" is_stale)
    foreach(prefix IN LISTS CUPEL_CACHED_PREFIXES)
      cmake_path(IS_PREFIX prefix "${${variable}}" is_current)
      if(is_current)
        set(is_stale OFF)
      endif()
    endforeach()
    if(is_stale)
      unset(${variable} CACHE)
    endif()
  endforeach()
endif()

find_package(Threads REQUIRED)
find_package(Arrow 15 CONFIG QUIET)
if(NOT Arrow_FOUND)
  find_package(Arrow CONFIG QUIET)
endif()
if(NOT Arrow_FOUND OR Arrow_VERSION VERSION_LESS 15)
  message(FATAL_ERROR
    "Apache Arrow C++ 15 or newer was not found.\n"
    "  scripts/bootstrap.sh            builds one into a cache outside the checkout (Debian)\n"
    "  -DCMAKE_PREFIX_PATH=/path       names one from vcpkg, conda, brew or elsewhere")
endif()
if(TARGET Arrow::arrow_static)
  set(CUPEL_ARROW_TARGET Arrow::arrow_static)
else()
  set(CUPEL_ARROW_TARGET Arrow::arrow_shared)
endif()
message(STATUS "Arrow ${Arrow_VERSION} from ${Arrow_DIR}")

find_package(aws-c-s3 CONFIG QUIET)  # without it there is no room s3
# It does not tell its version; the folder in the cache does.
string(REGEX MATCH "aws-crt-([0-9.]+)" CUPEL_AWS_VERSION "${aws-c-s3_DIR}")
set(CUPEL_AWS_VERSION ${CMAKE_MATCH_1})
find_package(nlohmann_json 3.11 REQUIRED)
# Headers only: no program that links cupel needs these libraries.
find_package(spdlog REQUIRED)
add_library(cupel_spdlog INTERFACE)
get_target_property(definitions spdlog::spdlog_header_only INTERFACE_COMPILE_DEFINITIONS)
target_compile_definitions(cupel_spdlog INTERFACE FMT_HEADER_ONLY $<$<BOOL:${definitions}>:${definitions}>)
target_include_directories(cupel_spdlog SYSTEM INTERFACE
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
find_package(hwy CONFIG REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(CURL REQUIRED)
if(CUPEL_STATIC)
  # Compiled with the system's headers, of the same versions: so objects are those of the preset release.
  set_target_properties(CURL::libcurl PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "" INTERFACE_COMPILE_DEFINITIONS "")
  find_library(static_hwy NAMES hwy PATHS ${prefixes} PATH_SUFFIXES lib NO_DEFAULT_PATH NO_CACHE REQUIRED)
  get_target_property(configurations hwy::hwy IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(hwy::hwy PROPERTIES IMPORTED_LOCATION_${configuration} ${static_hwy})
  endforeach()
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
# Compiled as C++: Lua's errors are exceptions, which destroy what functions of ours hold.
pkg_check_modules(LUA REQUIRED IMPORTED_TARGET lua5.4-c++)
if(CUPEL_STATIC AND SKBUILD)
  # An extension module needs a Lua that is position-independent, which Debian's is not; compiled with the system's headers.
  find_library(static_lua lua5.4-c++ PATHS ${lua_prefix} PATH_SUFFIXES lib NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set_target_properties(PkgConfig::LUA PROPERTIES INTERFACE_LINK_LIBRARIES ${static_lua})
endif()
find_library(CUPEL_CACHED_LUA lua5.4-c++ PATHS ${CUPEL_CACHED_PREFIXES} PATH_SUFFIXES lib
  NO_DEFAULT_PATH NO_CACHE)
find_package(sol2 3.5 CONFIG QUIET)
if(NOT sol2_FOUND)
  message(FATAL_ERROR
    "sol2 3.5 or newer, headers that bind Lua, was not found.\n"
    "  scripts/bootstrap.sh            fetches it into a cache outside the checkout (Debian)\n"
    "  -DCMAKE_PREFIX_PATH=/path       names a folder with its sol2-config.cmake")
endif()
