# Toolchain file: builds for the architecture that this machine is not, and runs the results under qemu-user.
cmake_host_system_information(RESULT host QUERY OS_PLATFORM)
if(host STREQUAL "x86_64")
  set(REDFLAG_CROSS aarch64)
else()
  set(REDFLAG_CROSS x86_64)
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${REDFLAG_CROSS})
set(CMAKE_CXX_COMPILER ${REDFLAG_CROSS}-linux-gnu-g++)
set(CMAKE_CXX_COMPILER_TARGET ${REDFLAG_CROSS}-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${REDFLAG_CROSS};-L;/usr/${REDFLAG_CROSS}-linux-gnu)
# Header-only libraries are found where the machine's own are.
list(APPEND CMAKE_PREFIX_PATH /usr/lib/${host}-linux-gnu/cmake)
