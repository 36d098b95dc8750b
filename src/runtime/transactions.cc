// Transactions, of libitm (intercept/transactions.cc) and of whoever tells of its own (redflag/transaction.hpp): what each has read and written is
// kept until it commits, and is then one step: ordered after the commits that have a byte in common, its accesses checked as any, and ordered before
// the commits to come (Goldilocks, Figure 5, rule 9).
#include "intercept/transactions.h"

#include <cstdint>

#include "intercept/hooks.h"
#include "runtime/abi.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "runtime/transactions.h"

namespace redflag::rt {

thread_local constinit bool in_transaction = false;

namespace {

constinit char everybody = 0;  // if all transactions are in order, they have this in common
[[gnu::tls_model("initial-exec")]] constinit thread_local uint32_t own_depth =
    0;  // of transactions that the program tells of

}  // namespace

void Runtime::OrderTransactions() {
  if (flags_.transactions != Transactions::kReads || OrderByReads(detector_)) return;
  Complain(
      "Redflag: transactions=reads is known to hb and goldilocks only: here, those that have a byte in common are in "
      "order");
}

void Runtime::TransactionAccess(Thread& t, uint64_t addr, uint64_t bytes, AccessKind kind, uint64_t place) {
  const Footprint what{.addr = Addr{addr}, .size = bytes, .kind = kind};
  if (bytes != 0 && !t.told_in_transaction.Covers(what)) t.transaction.Push({.what = what, .place = place});
}

// By reads, an access of a transaction does not stand for what its thread did before: every cell has to look.
void Runtime::CommitAccess(Thread& t, const Thread::TransactionAccess& access) {
  const Footprint& what = access.what;
  if (kIsBoxed || flags_.transactions != Transactions::kReads) {
    return AccessRange(t, Raw(what.addr), what.size, what.kind, access.place);
  }
  if ((t.ModeWord() & Thread::UnusualModes()) != 0 && !IsWatched(t, what.kind, access.place)) return;
  if (t.mode.locks_to_log) LogLocks(t);
  const ContextId context = t.ContextOf(contexts_, access.place);
  if (context == kIgnoredContext) return;
  ForEachGranule(what.addr, what.size, [&](Addr granule, ByteMask bytes) {
    ExamineCell(t, Raw(granule), bytes, what.kind, context, Raw(what.addr), what.size);
  });
}

void Runtime::Commit(Thread& t, uint64_t place) {
  if (t.transaction.empty()) return Retag(t);
  t.footprint.Clear();
  for (const Thread::TransactionAccess& access : t.transaction) t.footprint.Push(access.what);
  if (flags_.transactions == Transactions::kAll) {
    t.footprint.Push({.addr = Addr{reinterpret_cast<uint64_t>(&everybody)}, .size = 1, .kind = AccessKind::kWrite});
  }
  ScopedLock guard(commit_lock_);
  Changed(t, detector_.OnCommitBegin(t.state, t.footprint.begin(), t.footprint.size()));
  t.is_committing = true;
  // Writes first, because they conflict with more.
  for (const AccessKind kind : {AccessKind::kWrite, AccessKind::kRead}) {
    for (const Thread::TransactionAccess& access : t.transaction) {
      if (access.what.kind == kind) CommitAccess(t, access);
    }
  }
  t.is_committing = false;
  HandedOn(t, detector_.OnCommitEnd(t.state, t.footprint.begin(), t.footprint.size()), wire::Handover::kSignal,
           Raw(t.footprint[0].addr), place);
  t.transaction.Clear();
  t.told_in_transaction.Forget();
}

}  // namespace redflag::rt

namespace redflag::hooks {

using rt::Runtime, rt::Thread;

void TransactionAccess(Pc pc, const void* memory, size_t bytes, bool is_write) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime::Get().TransactionAccess(*t, reinterpret_cast<uint64_t>(memory), bytes,
                                   is_write ? AccessKind::kWrite : AccessKind::kRead, pc);
  Runtime::Leave(t);
}

void TransactionCommits(Pc pc) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  // What libitm does to commit is ignored, what the transaction did is not.
  const bool is_ignoring = rt::in_transaction && t->mode.ignore != 0;
  if (is_ignoring) --t->mode.ignore;
  Runtime::Get().Commit(*t, pc);
  if (is_ignoring) ++t->mode.ignore;
  Runtime::Leave(t);
}

void TransactionBegins(bool is_untold) {
  Thread* t = Runtime::IsActive() ? rt::local.thread : nullptr;
  if (t == nullptr || rt::in_transaction) return;
  rt::in_transaction = true;
  ++t->mode.ignore;
  if (is_untold) rt::local.tag = UINT64_MAX;  // nothing is redundant, until the commit
}

void TransactionEnds() {
  Thread* t = rt::local.thread;
  if (t == nullptr || !rt::in_transaction) return;
  rt::in_transaction = false;
  if (t->mode.ignore != 0) --t->mode.ignore;
}

uint64_t TransactionSize() { return rt::local.thread == nullptr ? 0 : rt::local.thread->transaction.size(); }

void TransactionUndone(uint64_t size) {
  Thread* t = rt::local.thread;
  if (t == nullptr) return;
  while (t->transaction.size() > size) t->transaction.Remove(t->transaction.size() - 1);
  t->told_in_transaction.Forget();
}

}  // namespace redflag::hooks

// ---- Of programs that tell of their own: redflag/transaction.hpp ----

using namespace redflag;  // NOLINT: this file is the outside of that namespace

REDFLAG_ABI void redflag_transaction_begin() {
  if (rt::own_depth++ == 0) hooks::TransactionUndone(0);
}
REDFLAG_ABI void redflag_transaction_access(const volatile void* memory, size_t bytes, int is_write) {
  if (rt::own_depth == 0)
    return rt::Complain("Redflag: redflag_transaction_access outside of a transaction: begin one first");
  hooks::TransactionAccess(REDFLAG_CALLER, const_cast<const void*>(memory), bytes, is_write != 0);
}
REDFLAG_ABI void redflag_transaction_commit() {
  if (rt::own_depth == 0) {
    return rt::Complain(
        "Redflag: redflag_transaction_commit without redflag_transaction_begin: nothing is ordered by it. Call begin "
        "before the "
        "first access of the transaction, in the same thread");
  }
  if (--rt::own_depth == 0) hooks::TransactionCommits(REDFLAG_CALLER);
}
// All of it: a nested transaction is part of the outer one, so that there is no undoing it alone.
REDFLAG_ABI void redflag_transaction_abort() {
  if (rt::own_depth == 0) return rt::Complain("Redflag: redflag_transaction_abort without redflag_transaction_begin");
  if (rt::own_depth > 1) {
    rt::Complain(
        "Redflag: redflag_transaction_abort in a nested transaction ends the outer one too: begin that again before "
        "going on");
  }
  rt::own_depth = 0;
  hooks::TransactionUndone(0);
}
