# What the tests of this folder share. They are scripts, which get these variables: SOURCE_DIR and BUILD_DIR of cupel,
# CACHE (the folders that scripts/bootstrap.sh filled), WORK_DIR, GENERATOR, COMPILER, LAUNCHER, BUILD_TYPE, FLAGS (those
# of the build type), WERROR, SANITIZE, COMMAND_LINE, WITH_S3, WITH_LIBTORCH, WITH_XGBOOST, FRAMEWORKS (files
# of the frameworks on this machine).

set(sanitizers)
if(SANITIZE)
  set(sanitizers "-fsanitize=${SANITIZE} -fno-omit-frame-pointer")
endif()

# Starts with an empty WORK_DIR that holds the projects of this folder.
function(prepare_projects)
  file(REMOVE_RECURSE ${WORK_DIR})
  file(MAKE_DIRECTORY ${WORK_DIR})
  foreach(project IN ITEMS consumer component embedded frameworks other_torch)
    file(COPY ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${project} DESTINATION ${WORK_DIR})
  endforeach()
  file(COPY ${SOURCE_DIR}/examples/my_rule.cc DESTINATION ${WORK_DIR}/consumer)
endfunction()

# run(COMMAND…): must succeed, and CMake must not warn who uses cupel. Leaves what it printed in `output`.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nended with ${status}")
  endif()
  if(output MATCHES "CMake [A-Za-z ]*Warning")
    message(SEND_ERROR "a warning for who uses cupel:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# build_project(SOURCE BUILD OPTIONS…): with the compiler and the flags that cupel was built with.
function(build_project source build)
  run(${CMAKE_COMMAND} --no-warn-unused-cli -S ${source} -B ${build} -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    "-DCMAKE_CXX_FLAGS=${sanitizers}" ${ARGN})
  run(${CMAKE_COMMAND} --build ${build})
endfunction()

# Options for a build of cupel itself: the libraries only. Cupel calls ccache with options of its own.
set(libraries_only -D CUPEL_WITH_S3=${WITH_S3} -D CUPEL_WITH_LIBTORCH=${WITH_LIBTORCH}
  -D CUPEL_WITH_XGBOOST=${WITH_XGBOOST} -D CUPEL_WITH_PYTHON=OFF -D CUPEL_BUILD_TESTS=OFF
  -D CUPEL_BUILD_EXAMPLES=OFF -D CUPEL_BUILD_BENCH=OFF -D CUPEL_BUILD_CLI=OFF -D CMAKE_CXX_COMPILER_LAUNCHER=)

# use_frameworks(PREFIX): builds and runs a program of each framework with what is installed below PREFIX.
function(use_frameworks prefix)
  foreach(framework IN ITEMS libtorch xgboost)
    string(TOUPPER ${framework} upper)
    if(WITH_${upper})
      set(build ${WORK_DIR}/${framework})
      build_project(${WORK_DIR}/frameworks ${build} -D FRAMEWORK=${framework} -D CMAKE_PREFIX_PATH=${prefix})
      run(${build}/trainer ${WORK_DIR}/runs/${framework})
    endif()
  endforeach()
endfunction()

# use_programs(BUILD): runs the programs of consumer/programs.cmake, which were built there.
function(use_programs build)
  set(outside ${CMAKE_COMMAND} -E chdir ${WORK_DIR})
  run(${outside} ${build}/saver runs/outside)
  run(${outside} ${build}/reader runs/outside)
  run(${outside} ${build}/judge runs/outside)
  run(${outside} ${build}/deliverer runs)
  run(${outside} ${build}/everything runs/everything)

  # A hook that saves no gradients does not feed the rule of the program, which the command line of the program finds.
  file(WRITE ${WORK_DIR}/hook.json [[{"CollectionConfigurations": [{"CollectionName": "weights"}]}]])
  execute_process(COMMAND ${outside} ${build}/my_rule check hook.json --rule MyRule
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT status EQUAL 1 OR NOT output MATCHES "^MyRule: the collection gradients is not saved\n")
    message(SEND_ERROR "my_rule check ended with ${status}:\n${output}${error}")
  endif()
  execute_process(COMMAND ${outside} ${build}/my_rule watch runs/outside --rule MyRule --rule VanishingGradient --no-wait
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT status EQUAL 1 OR NOT output MATCHES "\nMyRule +NoIssuesFound.*\nVanishingGradient +IssuesFound")
    message(SEND_ERROR "my_rule watch ended with ${status}:\n${output}${error}")
  endif()

  # Who links cupel::cupel opens every store of the build; single components open those that the program names.
  execute_process(COMMAND ${outside} ${build}/no_bucket s3://bucket/run RESULT_VARIABLE status OUTPUT_VARIABLE output)
  if(NOT status EQUAL 3 OR NOT output MATCHES
      "cannot open s3:// locations, only directories; link cupel::cupel, or pass a StoreScheme: s3://bucket/run")
    message(SEND_ERROR "no_bucket ended with ${status}:\n${output}")
  endif()
  if(WITH_S3)
    run(${outside} ${build}/bucket s3://bucket/run)
    run(${outside} ${build}/any_location s3://bucket/run)
    run(${outside} ${build}/through_library s3://bucket/run)
    run(${outside} ${build}/my_rule info --build)
    if(NOT output MATCHES "stores +file, s3\n")
      message(SEND_ERROR "the command line of a program does not open s3:// locations:\n${output}")
    endif()
  endif()
endfunction()
