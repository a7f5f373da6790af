# Read by cpack for each kind of package: the archive has the command alone.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
else()
  set(CPACK_COMPONENTS_ALL cli)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
