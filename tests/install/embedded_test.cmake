# Builds the outside project with cupel as a part of it, and runs its programs.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/using_cupel.cmake)

prepare_projects()
build_project(${WORK_DIR}/embedded ${WORK_DIR}/build ${same_objects} -D CUPEL_CHECKOUT=${SOURCE_DIR})
use_programs(${WORK_DIR}/build)
