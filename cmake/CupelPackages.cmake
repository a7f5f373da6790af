# Packages, made by `cpack` from a build of the preset `package`: cupel, the command alone, as .deb and as an archive
# to be unpacked anywhere; libcupel-dev, all that a project needs to use cupel, as .deb.

# Where a package has the licences: beside the command, and in a wheel's metadata.
set(licences ${CMAKE_INSTALL_DATADIR}/doc/cupel/licences COMPONENT cli)
if(SKBUILD AND CUPEL_STATIC)
  set(licences ${SKBUILD_METADATA_DIR}/licenses/libraries COMPONENT python)
  file(GLOB nanobind_licence ${nanobind_ROOT}/../../nanobind-*.dist-info/licenses/LICENSE)
  install(FILES ${nanobind_licence} RENAME nanobind.txt DESTINATION ${licences})
endif()

# cupel_install_licence(FILE NAME): installs FILE with what is linked with it, as NAME. A package is not made without it.
function(cupel_install_licence file name)
  if(EXISTS ${file})
    install(FILES ${file} RENAME ${name} DESTINATION ${licences})
  elseif(CUPEL_STATIC)
    message(FATAL_ERROR "${file} is missing: a package contains the licence of each library in the command")
  endif()
endfunction()

# The licences of what is linked into the command, from Debian's packages and from the cache.
foreach(package IN ITEMS libcurl4-openssl-dev libssl-dev libpcre2-dev liblua5.4-dev libhwy-dev libspdlog-dev libfmt-dev
    nlohmann-json3-dev libcli11-dev libstdc++-12-dev)
  cupel_install_licence(/usr/share/doc/${package}/copyright ${package}.txt)
endforeach()
foreach(prefix IN LISTS CUPEL_CACHED_PREFIXES)
  if(prefix MATCHES "/arrow-[^/]*$")
    foreach(file IN ITEMS LICENSE.txt NOTICE.txt)
      cupel_install_licence(${prefix}/share/doc/arrow/${file} arrow-${file})
    endforeach()
  elseif(prefix MATCHES "/sol2-[^/]*$")
    cupel_install_licence(${prefix}/share/doc/sol2-dev/copyright sol2.txt)
  elseif(EXISTS ${prefix}/share/doc/aws-crt)
    install(DIRECTORY ${prefix}/share/doc/aws-crt DESTINATION ${licences})
  elseif(CUPEL_STATIC AND CUPEL_WITH_S3 AND prefix MATCHES "/aws-crt-[^/]*$")
    message(WARNING "${prefix} has no licences: remove the folder and run scripts/bootstrap.sh package again")
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cupel COMPONENT cli)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcupel-dev COMPONENT package)

set(CPACK_PACKAGE_NAME cupel)
set(CPACK_PACKAGE_VENDOR cupel)
set(CPACK_PACKAGE_CONTACT "The maintainers of cupel <cupel@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/CupelPackageKinds.cmake)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)

get_property(components GLOBAL PROPERTY CUPEL_COMPONENTS)
get_property(archives GLOBAL PROPERTY CUPEL_COMPONENTS_OF_ARCHIVES)
set(CPACK_COMPONENTS_ALL cli ${components} ${archives} package)
foreach(component IN LISTS components archives ITEMS package)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENT_${upper}_GROUP DEVELOPMENT)
endforeach()
set(CPACK_COMPONENT_CLI_GROUP PROGRAM)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME cupel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
  "The program shows what a training run saved, and judges it by rules, while it runs or afterwards.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcupel-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libcurl4-openssl-dev, libhwy-dev, liblua5.4-dev, libpcre2-dev, libssl-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "Headers, static libraries and files for CMake and pkg-config: to save out of a training loop, and to judge runs.")

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_FILE_NAME cupel-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
include(CPack)
