// Beside hooks.h: that the calling thread is in a transaction. What the compiler says of accesses meanwhile is part of the transaction: g++ tells of them
// twice, as accesses and to libitm. `is_untold`: libitm is told nothing, so that this is all there is.
#pragma once

namespace redflag::hooks {

void TransactionBegins(bool is_untold);
void TransactionEnds();

}  // namespace redflag::hooks
