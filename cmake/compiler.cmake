# Two sets of flags, as interface targets: one for all code, one for code that will run inside programs under test.

add_library(redflag_flags INTERFACE)
target_compile_options(redflag_flags INTERFACE -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: a false alarm inside std::string's operator+ at -O2 and above, mended in GCC 13.
  target_compile_options(redflag_flags INTERFACE -Wno-restrict)
endif()
target_include_directories(redflag_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/generated)
if(REDFLAG_ASAN)
  target_compile_options(redflag_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(redflag_flags INTERFACE -fsanitize=address,undefined)
endif()

add_library(redflag_inprocess_flags INTERFACE)
target_link_libraries(redflag_inprocess_flags INTERFACE redflag_flags)
target_compile_options(redflag_inprocess_flags INTERFACE -fno-exceptions -fno-rtti)

if(REDFLAG_FUZZ)
  target_compile_options(redflag_flags INTERFACE -fsanitize=fuzzer-no-link)  # coverage for the fuzzers to follow
endif()

# Code that is not in a hurry, the command line and unit tests: an optimizing compiler takes half as long for it again, and nobody would notice.
add_library(redflag_patient_flags INTERFACE)
target_compile_options(redflag_patient_flags INTERFACE $<$<CONFIG:Release>:-O1>)

# Headers that most host code reads, read once a target. Every file includes what it uses all the same: clang reads it without these. (What clang precompiles knows
# where the checkout is: ccache could not give it, nor what includes it, to another one.)
# Flags: ccache must be able to tell whether the headers have changed; and g++ 12, which no longer tells std::string from code of ours then, has more of the
# false alarms of GCC bug 105651.
add_library(redflag_precompiled_flags INTERFACE)
target_compile_options(redflag_precompiled_flags INTERFACE -fpch-preprocess)
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(redflag_precompiled_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# Call it when all libraries are linked: these flags come after theirs.
function(redflag_precompile target)
  if(REDFLAG_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} PRIVATE <fmt/format.h> <algorithm> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
                                                <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector> ${ARGN})
    target_link_libraries(${target} PRIVATE redflag_precompiled_flags)
  endif()
endfunction()
