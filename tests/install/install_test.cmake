# Installs BUILD_DIR into a scratch prefix, looks at what came there, builds the projects in
# consumer/ and writer_only/ with nothing else, and runs their programs.
cmake_minimum_required(VERSION 3.25)

set(prefix ${WORK_DIR}/prefix)
set(consumer ${WORK_DIR}/consumer)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/consumer ${CMAKE_CURRENT_LIST_DIR}/writer_only DESTINATION ${WORK_DIR})
file(COPY ${SOURCE_DIR}/examples/my_rule.cc DESTINATION ${consumer})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nended with ${status}")
  endif()
  if(output MATCHES "CMake [A-Za-z ]*Warning")
    message(SEND_ERROR "a warning for who uses cupel:\n${output}")
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

# Nothing that is read leads to where it was built.
file(GLOB_RECURSE texts ${prefix}/*.cmake ${prefix}/*.pc ${prefix}/*.h ${prefix}/*.1)
foreach(file IN LISTS texts)
  file(READ ${file} text)
  foreach(place IN ITEMS ${SOURCE_DIR} ${BUILD_DIR} ${CACHE})
    string(FIND "${text}" "${place}" at)
    if(NOT at EQUAL -1)
      message(SEND_ERROR "${file} leads to ${place}")
    endif()
  endforeach()
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
if(commands MATCHES "${SOURCE_DIR}/(core|stats|format|store|s3|delivery|writer|trial|rules|scripting|command|include)")
  message(SEND_ERROR "the outside project was compiled with headers of the checkout")
endif()

# Who only saves needs neither libcurl nor Lua: they are not to be had here.
file(MAKE_DIRECTORY ${WORK_DIR}/pkgconfig)
execute_process(COMMAND pkg-config --variable pcfiledir libpcre2-8
  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
file(COPY ${folder}/libpcre2-8.pc DESTINATION ${WORK_DIR}/pkgconfig)
run(${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${WORK_DIR}/pkgconfig
  ${CMAKE_COMMAND} --no-warn-unused-cli -S ${WORK_DIR}/writer_only -B ${WORK_DIR}/writer_only_build -G ${GENERATOR}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${COMPILER}
  -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_BUILD_TYPE=${BUILD_TYPE} "-DCMAKE_CXX_FLAGS=${flags}"
  -D CMAKE_DISABLE_FIND_PACKAGE_CURL=ON -D CMAKE_DISABLE_FIND_PACKAGE_Arrow=ON)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/writer_only_build)

set(outside ${CMAKE_COMMAND} -E chdir ${WORK_DIR})
run(${outside} ${WORK_DIR}/writer_only_build/saver runs/writer_only)
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
if(WITH_S3)
  run(${outside} ${build}/bucket s3://bucket/run)
endif()
if(COMMAND_LINE)
  run(${outside} ${prefix}/bin/cupel info runs/outside)
  foreach(file IN ITEMS man/man1/cupel.1 bash-completion/completions/cupel zsh/site-functions/_cupel
      fish/vendor_completions.d/cupel.fish)
    if(NOT EXISTS ${prefix}/share/${file})
      message(SEND_ERROR "share/${file} was not installed")
    endif()
  endforeach()
endif()
