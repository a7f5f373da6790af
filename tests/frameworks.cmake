# The tests of the rooms libtorch and xgboost: here, and once more in the project tests/generation.
if(CUPEL_WITH_LIBTORCH)
  cupel_test(libtorch USES libtorch trial LINK torch)
  # Most of the time goes into torch's headers; two groups keep two cores busy.
  set_target_properties(libtorch_test PROPERTIES UNITY_BUILD_BATCH_SIZE 4)
  # What a user may link in front of the library: torch's inline functions with their assertions.
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/libtorch/operator_debug_source.cc
    PROPERTIES COMPILE_OPTIONS "-UNDEBUG;-O0" SKIP_UNITY_BUILD_INCLUSION ON)
  # The public header, by a target that does not link torch.
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libtorch/without_torch/*.cc)
  add_library(libtorch_header OBJECT ${sources})
  target_link_libraries(libtorch_header PRIVATE cupel::libtorch GTest::gtest cupel_build_flags)
  target_link_libraries(libtorch_test PRIVATE $<TARGET_OBJECTS:libtorch_header>)
else()
  message(STATUS "Not registered: the tests of libtorch (${CUPEL_LIBTORCH_OFF})")
endif()
if(CUPEL_WITH_XGBOOST)
  cupel_test(xgboost USES xgboost trial LINK cupel_xgboost_library nlohmann_json::nlohmann_json)
else()
  message(STATUS "Not registered: the tests of xgboost (${CUPEL_XGBOOST_OFF})")
endif()
