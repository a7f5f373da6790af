# Warnings and sanitizers: private to cupel, whoever includes it.
add_library(cupel_build_flags INTERFACE)
target_compile_options(cupel_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion $<$<BOOL:${CUPEL_WERROR}>:-Werror>)
if(CUPEL_SANITIZE)
  target_compile_options(cupel_build_flags INTERFACE -fsanitize=${CUPEL_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(cupel_build_flags INTERFACE -fsanitize=${CUPEL_SANITIZE})
endif()

# Libraries and programs compile eight sources as one: most of the time goes into headers. Names of a source's own
# differ from those of its neighbours, therefore.
function(cupel_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CUPEL_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(CUPEL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A source's private types look like a header's to g++ here.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# cupel_room(NAME [ADAPTER] SOURCES … USES rooms… PRIVATE third-party targets… HEADERS third-party targets…)
#
# One library per room: cupel_<name>, alias cupel::<name>. Its public headers are <room>/include/cupel/<room>/;
# the rooms it uses are public, third-party libraries are not. Of HEADERS nothing is left to be linked. An ADAPTER has a
# package file of its own: only a project that names the component has the target, and needs the framework.
function(cupel_room name)
  cmake_parse_arguments(room "ADAPTER" "" "SOURCES;USES;PRIVATE;HEADERS" ${ARGN})
  set(target cupel_${name})
  set(export cupelTargets)
  set(kind)
  if(room_ADAPTER)
    set(export cupel-${name}Targets)
    set(kind ADAPTER)
  endif()
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/cupel/${name}/*.h)
  add_library(${target} ${room_SOURCES})
  add_library(cupel::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_include_directories(${target} PRIVATE src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM room_USES PREPEND cupel::)
  list(TRANSFORM room_HEADERS REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(${target} PUBLIC ${room_USES}
    PRIVATE ${room_PRIVATE} ${room_HEADERS} $<BUILD_INTERFACE:cupel_build_flags>)
  cupel_component(${name} ${kind} USES ${room_USES} PRIVATE ${room_PRIVATE})
  cupel_compile_together(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH $ORIGIN
    DEFINE_SYMBOL "")
  install(TARGETS ${target} EXPORT ${export}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${name}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${name})
endfunction()

# A program of ours: cupel_program(NAME SOURCES … USES targets…)
function(cupel_program name)
  cmake_parse_arguments(program "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${program_SOURCES})
  target_link_libraries(${name} PRIVATE ${program_USES} cupel_build_flags)
  cupel_compile_together(${name})
endfunction()
