# What build systems look for: find_package(redflag), pkg-config --cflags --libs redflag. Relocatable, so below lib/ like the runtime
# and not below CMAKE_INSTALL_LIBDIR.

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/redflag-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/redflag-config.cmake ${PROJECT_BINARY_DIR}/redflag-config-version.cmake DESTINATION lib/cmake/redflag)

# No option instruments with both families and leaves the link step alone: a file for each.
function(redflag_pc suffix compiler cflags shims)
  set(PC_SUFFIX "${suffix}")
  set(PC_COMPILER "${compiler}")
  set(PC_CFLAGS "${cflags}")
  set(PC_SHIMS "${shims}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/redflag.pc.in ${PROJECT_BINARY_DIR}/redflag${suffix}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/redflag${suffix}.pc DESTINATION lib/pkgconfig)
endfunction()
# The shims: programs are often linked with the compile options as well, and then g++ asks for -ltsan.
redflag_pc("" "g++" "-fsanitize=thread -isystem \${folder}/shims/include" "-L\${folder}/shims ")
redflag_pc("-clang" "clang" "-Xclang -fsanitize=thread" "")

configure_file(${PROJECT_SOURCE_DIR}/cmake/redflag-tolerate.pc.in ${PROJECT_BINARY_DIR}/redflag-tolerate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/redflag-tolerate.pc DESTINATION lib/pkgconfig)
