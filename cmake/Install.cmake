# Installs the library so that find_package(gridfold) finds it. Linked statically, its dependencies must be found again.
include(CMakePackageConfigHelpers)

set(GRIDFOLD_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/gridfold")
get_target_property(GRIDFOLD_TYPE gridfold_core TYPE)
if(GRIDFOLD_TYPE STREQUAL "STATIC_LIBRARY")
    set(GRIDFOLD_STATIC TRUE)
else()
    set(GRIDFOLD_STATIC FALSE)
endif()

install(TARGETS gridfold_core gridfold_npy gridfold_ops gridfold_fusion EXPORT gridfoldTargets
    FILE_SET HEADERS FILE_SET text)
install(TARGETS gridfold_gridfold EXPORT gridfoldTargets)
install(EXPORT gridfoldTargets NAMESPACE gridfold:: DESTINATION "${GRIDFOLD_CMAKE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/gridfoldConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/gridfoldConfig.cmake" INSTALL_DESTINATION "${GRIDFOLD_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gridfoldConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/gridfoldConfig.cmake" "${PROJECT_BINARY_DIR}/gridfoldConfigVersion.cmake"
    DESTINATION "${GRIDFOLD_CMAKE_DIR}")
