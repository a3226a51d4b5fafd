# Install rules: public headers, one static library that holds all parts, and the package lathe::lathe.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(LATHE_PARTS lathe_dim_check lathe_dim lathe_ir lathe_runtime lathe_kernel lathe_llvm lathe_cuda lathe_compiler)
install(TARGETS ${LATHE_PARTS} EXPORT lathe_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/lathe)
target_include_directories(lathe INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS lathe EXPORT lathe_targets)
install(DIRECTORY ${lathe_SOURCE_DIR}/include/lathe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(LATHE_BUILD_TOOLS)
  foreach(tool jit-repl lathe-bench)
    if(TARGET ${tool})
      install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
  endforeach()
endif()

set(LATHE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)
install(EXPORT lathe_targets NAMESPACE lathe:: DESTINATION ${LATHE_CMAKE_DIR})
configure_package_config_file(${lathe_SOURCE_DIR}/cmake/lathe-config.cmake.in
  ${lathe_BINARY_DIR}/lathe-config.cmake INSTALL_DESTINATION ${LATHE_CMAKE_DIR})
write_basic_package_version_file(${lathe_BINARY_DIR}/lathe-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${lathe_BINARY_DIR}/lathe-config.cmake ${lathe_BINARY_DIR}/lathe-config-version.cmake
        DESTINATION ${LATHE_CMAKE_DIR})
