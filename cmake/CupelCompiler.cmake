# The language standard, ccache and the linker of all that belongs to cupel.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What one checkout compiled, another one on the same machine takes: paths below the checkout count as relative ones.
find_program(CUPEL_CCACHE ccache)
if(CUPEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH checkout)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${checkout} CCACHE_NOHASHDIR=1 ${CUPEL_CCACHE})
endif()

# A linker that takes a tenth of the time.
find_program(CUPEL_MOLD mold)
if(CUPEL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
