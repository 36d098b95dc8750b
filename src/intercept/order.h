// Where this library stands among those of the process.
#pragma once

namespace redflag::real {

// Do programs call our functions? Not if libc comes before this library in their search order.
bool ComesFirst();

}  // namespace redflag::real
