// Where this library stands among those of the process.
#pragma once

namespace redflag::real {

// Do programs call our functions? Not if libc comes before this library in their search order.
bool ComesFirst();

// If they do not: is that because somebody before us has functions of these names, and not because libc does? ThreadSanitizer is one that a
// compiler may have linked into the program.
bool ComesAfterAnother();

// Do they call our malloc? Not if another allocator is preloaded before us, or is part of the program itself.
bool AllocatorComesFirst();

}  // namespace redflag::real
