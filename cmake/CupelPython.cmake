# The interpreter that the room python is built for, and nanobind: decides whether the room is built.
#
# Reads and sets CUPEL_WITH_PYTHON; CUPEL_PYTHON_OFF is the reason where it is off. Python_EXECUTABLE names the
# interpreter; by default it is the system's, as scripts/bootstrap.sh python uses it, and never a shim of the PATH.

set(CUPEL_WITH_PYTHON AUTO CACHE STRING "Build the Python package: ON, OFF, or AUTO (where nanobind is found)")
set(CUPEL_PYTHON_OFF)

set(found OFF)
set(problem "Python's headers and nanobind were not found (scripts/bootstrap.sh python)")
if(CUPEL_WITH_PYTHON STREQUAL "AUTO" AND NOT PROJECT_IS_TOP_LEVEL)
  set(problem "cupel is a part of another project")
elseif(CUPEL_WITH_PYTHON)  # AUTO counts as true
  if(NOT Python_EXECUTABLE AND EXISTS /usr/bin/python3)
    set(Python_EXECUTABLE /usr/bin/python3)
  endif()
  set(module_component Development.Module)
  if(SKBUILD_SABI_VERSION)
    list(APPEND module_component Development.SABIModule)
  endif()
  find_package(Python 3.10 QUIET COMPONENTS Interpreter ${module_component})
  if(Python_FOUND)
    # The environment of bootstrap.sh has nanobind; its path stays the same, so ccache has its objects for pip as well,
    # whose build environments have nanobind at another path each time. Where there is none, pip's is taken.
    execute_process(COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/bootstrap.sh --print-python
      OUTPUT_VARIABLE CUPEL_PYTHON_ENVIRONMENT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(interpreters ${Python_EXECUTABLE})
    if(CUPEL_PYTHON_ENVIRONMENT)
      list(PREPEND interpreters ${CUPEL_PYTHON_ENVIRONMENT}/bin/python)
    endif()
    foreach(interpreter IN LISTS interpreters)
      if(NOT nanobind_ROOT)
        execute_process(COMMAND ${interpreter} -m nanobind --cmake_dir
          OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      endif()
    endforeach()
    find_package(nanobind CONFIG QUIET)
    if(nanobind_FOUND)
      set(found ON)
    endif()
  endif()
endif()
cupel_decide(PYTHON ${found} "${problem}")
