# Builds the outside project with cupel as a part of it, without optimisation, and runs its programs.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/using_cupel.cmake)

prepare_projects()
build_project(${WORK_DIR}/embedded ${WORK_DIR}/build ${libraries_only} -D CUPEL_CHECKOUT=${SOURCE_DIR}
  -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0)
use_programs(${WORK_DIR}/build)
foreach(framework IN ITEMS libtorch xgboost)
  string(TOUPPER ${framework} upper)
  if(WITH_${upper})
    run(${WORK_DIR}/build/${framework}_trainer ${WORK_DIR}/runs/${framework})
  endif()
endforeach()
