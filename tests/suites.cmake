# Functions that make the programs of tests and register their suites.

# cupel_suites(TARGET PREFIX text [TIMING regex] [ALONE suites…] [PROPERTIES …]): the suites of a program, by name in
# ctest. A suite runs in one process, one of ALONE in a process for each of its tests. Suites whose names match TIMING get
# the label `timing`: they have processes, threads, clocks or sockets, and scripts/repeat-tests.sh repeats them most.
function(cupel_suites target)
  cmake_parse_arguments(suites "" "PREFIX;TIMING" "ALONE;PROPERTIES" ${ARGN})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${file}
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D PREFIX=${suites_PREFIX}
      "-DTIMING=${suites_TIMING}" "-DALONE=${suites_ALONE}" "-DPROPERTIES=${suites_PROPERTIES}"
      -D DIRECTORY=${CMAKE_CURRENT_BINARY_DIR} -D FILE=${file} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/discover_suites.cmake VERBATIM)
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${include} "if(EXISTS \"${file}\")\n  include(\"${file}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# cupel_test(ROOM USES rooms… LINK targets… [TIMING regex]): every *_test.cc of tests/<room> in one program, every suite
# by name in ctest.
function(cupel_test room)
  cmake_parse_arguments(test "" "TIMING" "USES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${room}/*.cc)
  list(TRANSFORM test_USES PREPEND cupel::)
  cupel_program(${room}_test SOURCES ${sources} USES ${test_USES} ${test_LINK} GTest::gmock GTest::gtest_main)
  target_include_directories(${room}_test PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  cupel_suites(${room}_test PREFIX "${room}." TIMING "${test_TIMING}")
endfunction()
