# Asks PROGRAM for its tests and writes FILE, which adds a test to ctest for each of its suites: a program start
# for each single test would take longer than the tests. A suite in ALONE has tests that need a process each; one whose
# name matches TIMING gets the label `timing`.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  TIMEOUT 60 OUTPUT_VARIABLE listing ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with ${status}\n${errors}")
endif()

set(text)
function(add_entry name filter)
  string(APPEND text "add_test([=[${PREFIX}${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${filter}]=])\n")
  string(APPEND text "set_tests_properties([=[${PREFIX}${name}]=] PROPERTIES WORKING_DIRECTORY [=[${DIRECTORY}]=]")
  if(TIMING AND suite MATCHES "${TIMING}")
    list(APPEND PROPERTIES LABELS timing)
  endif()
  foreach(word IN LISTS PROPERTIES)
    string(APPEND text " [=[${word}]=]")
  endforeach()
  string(APPEND text ")\n")
  set(text ${text} PARENT_SCOPE)
endfunction()

# Brackets and semicolons would change how CMake takes the lines apart; names of tests have none.
string(REGEX REPLACE "  #[^\n]*" "" listing "${listing}")
string(REPLACE ";" "" listing "${listing}")
string(REPLACE "\n" ";" listing "${listing}")
foreach(line IN LISTS listing)
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    if(NOT suite IN_LIST ALONE)
      add_entry(${suite} "${suite}.*")
    endif()
  elseif(line MATCHES "^  ([^ ]+)$" AND suite IN_LIST ALONE)
    add_entry(${suite}.${CMAKE_MATCH_1} "${suite}.${CMAKE_MATCH_1}")
  endif()
endforeach()
file(WRITE ${FILE} "${text}")
