// Compilers call memcpy, memmove, memset and memcmp by themselves, for a structure that is copied or cleared. In a library that takes the
// place of these functions in a program that would be a call of its own interceptors, which watch, and may come back here. So
// every file of the runtime begins with this one (src/CMakeLists.txt): the names stand for functions of its own.
//
// The file that defines the interceptors of these functions is left out.
#pragma once

#ifndef REDFLAG_DEFINES_BUILTINS
asm("memcpy = redflag_memcpy");
asm("memmove = redflag_memmove");
asm("memset = redflag_memset");
asm("memcmp = redflag_memcmp");
#endif
