# find_package(redflag): programs of an ordinary CMake project, built for race detection with g++ or clang.
#
#   find_package(redflag REQUIRED)
#   target_link_libraries(app PRIVATE redflag::redflag)
#
#   redflag::redflag   adds what `redflag c++` adds (src/cli/instrument.h): instrumentation, and the runtime library
#   redflag::tolerate  redflag/tolerate.hpp and its library, for programs that are checked and others: nothing is instrumented. It is the
#                      static library; redflag::tolerate_shared is the shared one
#   redflag::command   the command: add_test(NAME app COMMAND redflag::command run $<TARGET_FILE:app>)
#
# Link every library of the program with it as well: what is not instrumented is not checked. Programs find the runtime library by
# their run path; for installed ones set CMAKE_INSTALL_RPATH_USE_LINK_PATH, or run them with `redflag run`.

get_filename_component(_redflag_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_redflag_runtime "${_redflag_prefix}/lib/redflag/hb/libredflag_rt.so")
if(NOT EXISTS "${_redflag_runtime}")
  set(redflag_FOUND FALSE)
  set(redflag_NOT_FOUND_MESSAGE "the runtime library is not where it was installed: ${_redflag_runtime}")
  return()
endif()

if(NOT TARGET redflag::redflag)
  add_executable(redflag::command IMPORTED)
  set_target_properties(redflag::command PROPERTIES IMPORTED_LOCATION "${_redflag_prefix}/bin/redflag")

  add_library(redflag::runtime SHARED IMPORTED)
  set_target_properties(redflag::runtime PROPERTIES IMPORTED_LOCATION "${_redflag_runtime}"
                                                    IMPORTED_SONAME libredflag_rt.so)

  add_library(redflag::redflag INTERFACE IMPORTED)
  foreach(_redflag_language C CXX)
    # At the link step this option would bring in the compiler's own runtime: clang gets it for the compiler proper only.
    target_compile_options(redflag::redflag INTERFACE
      "$<$<COMPILE_LANG_AND_ID:${_redflag_language},GNU>:-fsanitize=thread>"
      "$<$<COMPILE_LANG_AND_ID:${_redflag_language},GNU>:SHELL:-isystem \"${_redflag_prefix}/lib/redflag/shims/include\">"
      "$<$<COMPILE_LANG_AND_ID:${_redflag_language},Clang,AppleClang>:SHELL:-Xclang -fsanitize=thread>")
  endforeach()
  # Programs have the entry points in themselves; before the library, which has them too.
  target_link_options(redflag::redflag INTERFACE
    "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:${_redflag_prefix}/lib/redflag/entry_points.o>")
  # Before everything else, as an interposing library must be; and as a library, for the run path and for static libraries.
  target_link_options(redflag::redflag INTERFACE
    "SHELL:-Wl,--push-state,--no-as-needed \"${_redflag_runtime}\" -Wl,--pop-state")
  target_link_libraries(redflag::redflag INTERFACE redflag::runtime)
  target_include_directories(redflag::redflag INTERFACE "${_redflag_prefix}/include")  # redflag/annotations.h

  find_package(Threads REQUIRED)
  foreach(_redflag_library tolerate tolerate_shared)
    set(_redflag_file "libredflag_tolerate.a")
    set(_redflag_kind STATIC)
    if(_redflag_library STREQUAL "tolerate_shared")
      set(_redflag_file "libredflag_tolerate.so")
      set(_redflag_kind SHARED)
    endif()
    add_library(redflag::${_redflag_library} ${_redflag_kind} IMPORTED)
    set_target_properties(redflag::${_redflag_library} PROPERTIES IMPORTED_LOCATION "${_redflag_prefix}/lib/${_redflag_file}")
    target_include_directories(redflag::${_redflag_library} INTERFACE "${_redflag_prefix}/include")
    target_compile_features(redflag::${_redflag_library} INTERFACE cxx_std_20)
    target_link_libraries(redflag::${_redflag_library} INTERFACE Threads::Threads)
  endforeach()
  unset(_redflag_library)
  unset(_redflag_file)
  unset(_redflag_kind)
endif()

unset(_redflag_prefix)
unset(_redflag_runtime)
unset(_redflag_language)
