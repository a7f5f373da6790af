# Installs BUILD_DIR into a scratch prefix, looks at what came there, builds the project in
# consumer/ with nothing else, and runs its programs.
cmake_minimum_required(VERSION 3.25)

set(prefix ${WORK_DIR}/prefix)
set(consumer ${WORK_DIR}/consumer)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer DESTINATION ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nended with ${status}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

# What is installed shows no library to its users, and includes only what is installed as well.
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*.h)
list(LENGTH headers count)
if(count LESS 30)
  message(SEND_ERROR "only ${count} headers were installed: ${headers}")
endif()
foreach(header IN LISTS headers)
  file(STRINGS ${prefix}/include/${header} includes REGEX "^ *# *include")
  foreach(line IN LISTS includes)
    if(line MATCHES "[<\"](arrow|parquet|nlohmann|spdlog|fmt|hwy|pcre2|curl|sol|lua|aws|CLI)[/.\"]")
      message(SEND_ERROR "${header} shows a library's header: ${line}")
    endif()
    if(line MATCHES "[<\"](cupel/[^>\"]*)" AND NOT EXISTS ${prefix}/include/${CMAKE_MATCH_1})
      message(SEND_ERROR "${header} includes what is not installed: ${line}")
    endif()
  endforeach()
endforeach()

file(GLOB_RECURSE modules ${prefix}/*.cmake)
foreach(module IN LISTS modules)
  file(READ ${module} text)
  string(FIND "${text}" "${SOURCE_DIR}/core" at)
  if(NOT at EQUAL -1)
    message(SEND_ERROR "${module} leads into the checkout")
  endif()
endforeach()

set(flags)
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE} -fno-omit-frame-pointer")
endif()
run(${CMAKE_COMMAND} -S ${consumer} -B ${build} -G ${GENERATOR}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
  "-DCMAKE_CXX_FLAGS=${flags}" -D CMAKE_EXPORT_COMPILE_COMMANDS=ON)
run(${CMAKE_COMMAND} --build ${build})

file(READ ${build}/compile_commands.json commands)
if(commands MATCHES "${SOURCE_DIR}/(core|stats|format|store|s3|writer|trial|rules|scripting|include)")
  message(SEND_ERROR "the outside project was compiled with headers of the checkout")
endif()

set(outside ${CMAKE_COMMAND} -E chdir ${WORK_DIR})
run(${outside} ${build}/saver runs/outside)
run(${outside} ${build}/reader runs/outside)
run(${outside} ${build}/judge runs/outside)
run(${outside} ${build}/everything runs/everything)
if(WITH_S3)
  run(${outside} ${build}/bucket s3://bucket/run)
endif()
if(COMMAND_LINE)
  run(${outside} ${prefix}/bin/cupel info runs/outside)
endif()
