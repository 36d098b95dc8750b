// Is the calling thread in a transaction of -fgnu-tm (transactions.cc)? Then its accesses are not looked at until that commits.
#pragma once

namespace redflag::rt {

extern __attribute__((tls_model("initial-exec"), visibility("hidden"))) thread_local constinit bool in_transaction;

}  // namespace redflag::rt
