# Tests of the Python package by pytest: with PyPI's generation of the frameworks one entry for each file, with Debian's
# one for each folder. `core` needs numpy only.
#
# A test has a folder of its own for temporary files, and writes nothing beside the sources.

# cupel_python_test(NAME INTERPRETER python FOLDER folder TESTS paths…)
function(cupel_python_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "INTERPRETER;FOLDER" "TESTS")
  set(work ${CMAKE_CURRENT_BINARY_DIR}/python/${name})
  file(MAKE_DIRECTORY ${work})
  add_test(NAME ${name} WORKING_DIRECTORY ${work}
    COMMAND ${test_INTERPRETER} -m pytest -p no:cacheprovider --basetemp ${work}/tests ${test_TESTS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "PYTHONPATH=${PROJECT_BINARY_DIR}/python;TMPDIR=${work};PYTHONDONTWRITEBYTECODE=1;PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")
endfunction()

# Sets problem to the reason why INTERPRETER cannot run tests that import MODULES, or to nothing. The extension is built
# for one version of Python.
function(cupel_python_problem interpreter modules)
  execute_process(COMMAND ${interpreter} -c [[
import importlib.machinery, importlib.util, sys
suffix, modules = sys.argv[1], sys.argv[2:]
missing = [module for module in modules if importlib.util.find_spec(module) is None]
if missing:
    print("it has no " + ", ".join(missing))
elif suffix not in importlib.machinery.EXTENSION_SUFFIXES:
    print("the extension is built for another version of Python")
]] "${NB_SUFFIX}" ${modules} OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
    RESULT_VARIABLE status WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  if(NOT status EQUAL 0)
    set(output "it does not run")
  endif()
  set(problem "${output}" PARENT_SCOPE)
endfunction()

set(needs_core numpy pytest)
set(needs_pytorch torch ${needs_core})
set(needs_xgboost xgboost ${needs_core})
if(NOT CUPEL_WITH_PYTHON)
  message(STATUS "Not registered: the tests of python (${CUPEL_PYTHON_OFF})")
endif()
set(folders core pytorch xgboost)
file(GLOB_RECURSE everywhere RELATIVE ${CMAKE_CURRENT_LIST_DIR}/python CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_LIST_DIR}/python/test_*.py)
list(JOIN folders "|" of_folders)
list(FILTER everywhere EXCLUDE REGEX "^(${of_folders})/[^/]*$")
if(everywhere)
  message(FATAL_ERROR "These tests would never run, because they are in no folder that tests/python.cmake names: ${everywhere}")
endif()
foreach(folder IN LISTS folders)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/python/${folder}/test_*.py)
  if(NOT CUPEL_WITH_PYTHON OR NOT files)
    continue()
  endif()

  set(interpreter ${CUPEL_PYTHON_ENVIRONMENT}/bin/python)
  if(CUPEL_PYTHON_ENVIRONMENT)
    cupel_python_problem(${interpreter} "${needs_${folder}}")
  else()
    set(problem "scripts/bootstrap.sh python has not fetched it for this CUPEL_PYTHON")
  endif()
  if(problem)
    message(STATUS "Not registered: python.${folder} with the environment of PyPI (${problem})")
  else()
    foreach(file IN LISTS files)
      cmake_path(GET file STEM name)
      string(REGEX REPLACE "^test_" "python.${folder}." name ${name})
      # What tests/python/conftest.py reads, too.
      file(STRINGS ${file} modules REGEX "^# requires: " LIMIT_INPUT 2000)
      string(REGEX REPLACE "# requires: |[<>=]+ *[0-9.]+| " "" modules "${modules}")
      string(REPLACE "," ";" modules "${modules}")
      cupel_python_problem(${interpreter} "${modules}")
      if(problem)
        message(STATUS "Not registered: ${name} (${problem})")
      else()
        cupel_python_test(${name} INTERPRETER ${interpreter} TESTS ${file})
      endif()
    endforeach()
  endif()

  cupel_python_problem(${Python_EXECUTABLE} "${needs_${folder}}")
  if(problem)
    message(STATUS "Not registered: generation.python_${folder} with ${Python_EXECUTABLE} (${problem})")
  else()
    cupel_python_test(generation.python_${folder} INTERPRETER ${Python_EXECUTABLE}
      TESTS ${CMAKE_CURRENT_LIST_DIR}/python/${folder})
    set_tests_properties(generation.python_${folder} PROPERTIES LABELS generation TIMEOUT 1200)
  endif()
endforeach()

# scripts/pypi-python.txt has all that its packages, torch and XGBoost depend on.
if(CUPEL_PYTHON_ENVIRONMENT)
  add_test(NAME python.environment_has_all_that_its_packages_depend_on
    COMMAND ${CUPEL_PYTHON_ENVIRONMENT}/bin/python -m pip --disable-pip-version-check check)
  set_tests_properties(python.environment_has_all_that_its_packages_depend_on PROPERTIES TIMEOUT 120)
endif()

# The benchmark in Python still runs: two blocks of a few of its cases, whose times are not judged.
if(CUPEL_WITH_PYTHON)
  set(interpreter ${CUPEL_PYTHON_ENVIRONMENT}/bin/python)
  set(problem "scripts/bootstrap.sh python has not fetched it for this CUPEL_PYTHON")
  if(CUPEL_PYTHON_ENVIRONMENT)
    cupel_python_problem(${interpreter} "numpy")
  endif()
  if(problem)
    message(STATUS "Not registered: python.bench with the environment of PyPI (${problem})")
  else()
    set(work ${CMAKE_CURRENT_BINARY_DIR}/python/bench)
    file(MAKE_DIRECTORY ${work})
    add_test(NAME python.bench
      COMMAND ${interpreter} ${PROJECT_SOURCE_DIR}/bench/python_bench.py --repetitions 2 --only due)
    set_tests_properties(python.bench PROPERTIES TIMEOUT 300 ENVIRONMENT
      "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;CUPEL_BENCH_DIR=${work}")
  endif()
endif()

# The extension beside another Arrow in the same process.
set(name python.stands_beside_pyarrow_in_every_order_of_import)
execute_process(COMMAND bash ${PROJECT_SOURCE_DIR}/scripts/bootstrap.sh --print-python-readers
  OUTPUT_VARIABLE readers OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(CUPEL_WITH_PYTHON)
  set(problem "scripts/bootstrap.sh could not fetch Python's readers")
  if(readers)
    cupel_python_problem(${readers}/bin/python "pyarrow;numpy")
  endif()
  if(problem)
    message(STATUS "Not registered: ${name} (${problem})")
  else()
    add_test(NAME ${name} COMMAND ${readers}/bin/python ${CMAKE_CURRENT_LIST_DIR}/python/beside_pyarrow.py)
    set_tests_properties(${name} PROPERTIES TIMEOUT 300
      ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
  endif()
endif()
