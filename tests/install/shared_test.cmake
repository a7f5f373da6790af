# Builds and installs shared libraries, and builds and runs the outside project with them.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/using_cupel.cmake)

prepare_projects()
# Beside BUILD_DIR and with its flags: relative paths are the same, so ccache has the objects.
set(shared ${BUILD_DIR}-shared)
string(TOUPPER "${BUILD_TYPE}" upper)
build_project(${SOURCE_DIR} ${shared} ${libraries_only} -D BUILD_SHARED_LIBS=ON
  "-DCMAKE_CXX_FLAGS_${upper}=${FLAGS}" -D CUPEL_WERROR=${WERROR})
run(${CMAKE_COMMAND} --install ${shared} --prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${shared})
build_project(${WORK_DIR}/consumer ${WORK_DIR}/build -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
use_programs(${WORK_DIR}/build)
use_frameworks(${WORK_DIR}/prefix)
run(ldd ${WORK_DIR}/build/no_bucket)
if(NOT output MATCHES "libcupel_store\\.so[^\n]*${WORK_DIR}/prefix")
  message(SEND_ERROR "the program was not linked with the installed libraries:\n${output}")
endif()
