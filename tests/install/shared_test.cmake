# Builds and installs shared libraries, and builds and runs the outside project with them.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/using_cupel.cmake)

prepare_projects()
build_project(${SOURCE_DIR} ${WORK_DIR}/cupel ${same_objects} -D BUILD_SHARED_LIBS=ON)
run(${CMAKE_COMMAND} --install ${WORK_DIR}/cupel --prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR}/cupel)
build_project(${WORK_DIR}/consumer ${WORK_DIR}/build -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
use_programs(${WORK_DIR}/build)
run(ldd ${WORK_DIR}/build/no_bucket)
if(NOT output MATCHES "libcupel_store\\.so[^\n]*${WORK_DIR}/prefix")
  message(SEND_ERROR "the program was not linked with the installed libraries:\n${output}")
endif()
