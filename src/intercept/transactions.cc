// Transactions of GCC's -fgnu-tm: what the compiler makes of `__transaction_atomic`, calls of libitm, whose names and meaning are those of the
// "Intel transactional memory compiler and runtime ABI". What a transaction has read and written is told when it commits: before the real
// commit, as everything that hands something on. What libitm does inside is nobody's business.
//
// A transaction may run several times. libitm jumps back to where _ITM_beginTransaction returned to, without a word; but it undoes what was done,
// and we are among what is undone (_ITM_addUserUndoAction).
#include "intercept/transactions.h"

#include <complex.h>
#include <pthread.h>

#include "base/arch.h"
#include "base/check.h"
#include "intercept/hooks.h"
#include "intercept/real.h"
#include "intercept/transaction_turns.h"

namespace redflag {

REDFLAG_REAL(void, _ITM_beginTransaction, unsigned properties)
REDFLAG_REAL(int, _ITM_inTransaction)
REDFLAG_REAL(void, _ITM_addUserUndoAction, void (*)(void*), void*)

namespace {

constexpr uintptr_t kUninstrumentedCode = 2;  // a property: there is code that tells nobody what it does
constexpr int kOuterAbort = 0x10;

constexpr uintptr_t kInstrumentedCode = 1;

struct Level {
  uint32_t depth = 0;       // of nested transactions
  uint32_t undo_depth = 0;  // up to which we are undone
  bool is_committing = false, is_aborting = false;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Level level;

constinit TransactionTurns turns;
struct Turn {
  bool is_taken = false;
  uint32_t count = 0;

  void Take() {
    if (!is_taken) is_taken = turns.Take();
  }
  void GiveBack() {
    if (is_taken) turns.GiveBack(++count);
    is_taken = false;
  }
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Turn turn;

[[gnu::constructor]] void WatchForks() {
  REDFLAG_CHECK(pthread_atfork(nullptr, nullptr, [] { turns.BeginProcess(turn.is_taken); }) == 0);
}

void Over() {
  hooks::TransactionEnds();
  turn.GiveBack();
}

// What is undone goes back to a level, and to what had been read and written then.
void* MarkOf(uint64_t told, uint32_t depth) { return reinterpret_cast<void*>(told << 16 | depth); }
void Undo(void* mark) {
  const auto bits = reinterpret_cast<uintptr_t>(mark);
  const auto depth = static_cast<uint32_t>(bits & 0xffff);
  if (level.is_committing) {  // in vain
    level.is_committing = false;
    level.depth = depth;
  } else if (level.depth > depth) {
    level.depth = depth;
  }
  level.undo_depth = depth - 1;
  hooks::TransactionUndone(bits >> 16);
  if (level.is_aborting && depth == 1) Over();
}
void BeUndone() {
  if (level.undo_depth >= level.depth) return;
  level.undo_depth = level.depth;
  real::_ITM_addUserUndoAction(Undo, MarkOf(hooks::TransactionSize(), level.depth));
}

void Tell(hooks::Pc pc, const void* memory, size_t bytes, bool is_write) {
  if (level.depth == 0 || !hooks::Active()) return;
  BeUndone();
  hooks::TransactionAccess(pc, memory, bytes, is_write);
}

}  // namespace

extern "C" {
// Takes the choice of code that tells nobody what it does from libitm; the properties are the first argument.
[[gnu::visibility("hidden"), gnu::used]] void* redflag_before_transaction(uintptr_t stack_pointer) {
  auto* properties = reinterpret_cast<uint64_t*>(stack_pointer) - 2;
  const bool is_untold = (*properties & kInstrumentedCode) == 0;
  if (!is_untold) *properties &= ~kUninstrumentedCode;
  if (real::_ITM_inTransaction() == 0) {
    level = {};
    hooks::TransactionEnds();
    if (hooks::Active()) {
      turn.Take();
      hooks::TransactionUndone(0);
      hooks::TransactionBegins(is_untold);
    }
  } else if (hooks::Active()) {
    BeUndone();
  }
  ++level.depth;
  return real::_ITM_beginTransaction.address();
}
}
REDFLAG_ARCH_STAND_BEFORE(_ITM_beginTransaction, redflag_before_transaction);

namespace {
void Ends(hooks::Pc pc) {
  if (level.depth == 0) return;
  if (--level.depth == 0) {
    if (hooks::Active()) hooks::TransactionCommits(pc);
    level.is_committing = true;
  }
  if (level.undo_depth > level.depth) level.undo_depth = level.depth;
}

void HasEnded() {
  level.is_committing = false;
  if (level.depth == 0) Over();
}
}  // namespace

// If it fails, it does not return, and Undo() has the say.
REDFLAG_INTERCEPT(void, _ITM_commitTransaction) {
  Ends(REDFLAG_CALLER);
  real::_ITM_commitTransaction();
  HasEnded();
}
REDFLAG_INTERCEPT(void, _ITM_commitTransactionEH, void* exception) {
  Ends(REDFLAG_CALLER);
  real::_ITM_commitTransactionEH(exception);
  HasEnded();
}
REDFLAG_INTERCEPT(void, _ITM_abortTransaction, int reason) {
  const uint32_t after = (reason & kOuterAbort) != 0 || level.depth == 0 ? 0 : level.depth - 1;
  level.depth = after;
  level.is_aborting = after == 0;
  if (after == 0 && level.undo_depth == 0) Over();  // else when all is undone: libitm copies for that
  real::_ITM_abortTransaction(reason);
}

#define REDFLAG_READ(name, type)                     \
  REDFLAG_INTERCEPT(type, name, const type* from) {  \
    Tell(REDFLAG_CALLER, from, sizeof(type), false); \
    return real::name(from);                         \
  }
#define REDFLAG_WRITE(name, type)                       \
  REDFLAG_INTERCEPT(void, name, type* to, type value) { \
    Tell(REDFLAG_CALLER, to, sizeof(type), true);       \
    real::name(to, value);                              \
  }
// Read for the first time, after a read, after a write, for a write; written, after a read, after a write.
#define REDFLAG_ACCESSES(suffix, type)  \
  REDFLAG_READ(_ITM_R##suffix, type)    \
  REDFLAG_READ(_ITM_RaR##suffix, type)  \
  REDFLAG_READ(_ITM_RaW##suffix, type)  \
  REDFLAG_READ(_ITM_RfW##suffix, type)  \
  REDFLAG_WRITE(_ITM_W##suffix, type)   \
  REDFLAG_WRITE(_ITM_WaR##suffix, type) \
  REDFLAG_WRITE(_ITM_WaW##suffix, type)
using Vector8 [[gnu::vector_size(8)]] = int;
using Vector16 [[gnu::vector_size(16)]] = float;
using ComplexFloat = _Complex float;
using ComplexDouble = _Complex double;
using ComplexLong = _Complex long double;
using LongDouble = long double;
REDFLAG_ACCESSES(U1, uint8_t)
REDFLAG_ACCESSES(U2, uint16_t)
REDFLAG_ACCESSES(U4, uint32_t)
REDFLAG_ACCESSES(U8, uint64_t)
REDFLAG_ACCESSES(F, float)
REDFLAG_ACCESSES(D, double)
REDFLAG_ACCESSES(E, LongDouble)
REDFLAG_ACCESSES(M64, Vector8)
REDFLAG_ACCESSES(M128, Vector16)
REDFLAG_ACCESSES(CF, ComplexFloat)
REDFLAG_ACCESSES(CD, ComplexDouble)
REDFLAG_ACCESSES(CE, ComplexLong)

// Transactional, on each side or on one.
#define REDFLAG_COPY(name)                                                  \
  REDFLAG_INTERCEPT(void, name, void* to, const void* from, size_t bytes) { \
    Tell(REDFLAG_CALLER, from, bytes, false);                               \
    Tell(REDFLAG_CALLER, to, bytes, true);                                  \
    real::name(to, from, bytes);                                            \
  }
#define REDFLAG_COPIES(suffix)      \
  REDFLAG_COPY(_ITM_memcpy##suffix) \
  REDFLAG_COPY(_ITM_memmove##suffix)
REDFLAG_COPIES(RtWt)
REDFLAG_COPIES(RtWtaR)
REDFLAG_COPIES(RtWtaW)
REDFLAG_COPIES(RtaRWt)
REDFLAG_COPIES(RtaRWtaR)
REDFLAG_COPIES(RtaRWtaW)
REDFLAG_COPIES(RtaWWt)
REDFLAG_COPIES(RtaWWtaR)
REDFLAG_COPIES(RtaWWtaW)
REDFLAG_COPIES(RnWt)
REDFLAG_COPIES(RnWtaR)
REDFLAG_COPIES(RnWtaW)
REDFLAG_COPIES(RtWn)
REDFLAG_COPIES(RtaRWn)
REDFLAG_COPIES(RtaWWn)
#define REDFLAG_FILL(name)                                           \
  REDFLAG_INTERCEPT(void, name, void* to, int value, size_t bytes) { \
    Tell(REDFLAG_CALLER, to, bytes, true);                           \
    real::name(to, value, bytes);                                    \
  }
REDFLAG_FILL(_ITM_memsetW)
REDFLAG_FILL(_ITM_memsetWaR)
REDFLAG_FILL(_ITM_memsetWaW)

}  // namespace redflag
