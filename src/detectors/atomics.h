// C++20 atomics and fences, written once for every detector: which steps (detector.h) an operation consists of, and in
// which order. What a step means is the detector's business: clocks for hb, lockset elements for goldilocks.
//
// The paragraphs, in the wording of C++20 (N4861)
//   [intro.races]/5       A release sequence headed by a release operation A is A and the read-modify-writes that
//                         follow it in modification order without a gap. So: a store *replaces* what the variable
//                         carries (OnReleaseStore, OnRelaxedStore; since P0982 also a store by the same thread), a
//                         read-modify-write *extends* it (OnReleaseMerge, OnRelaxedMerge).
//   [atomics.order]/2     A synchronizes with an acquire operation that reads from A's release sequence (OnAcquire).
//   [atomics.fences]/2    Release fence ... relaxed store, relaxed load ... acquire fence: the relaxed store carries
//                         the thread's past as of its latest release fence; the relaxed load notes what it saw for
//                         the next acquire fence. "The hypothetical release sequence X would head" is the same rule
//                         of replacing and extending.
//   [atomics.fences]/3,4  The mixed cases follow from the same steps.
//   [atomics.order]/4     seq_cst constrains the order of values; it adds no happens-before to acquire and release.
//   [atomics.types.operations]/23  A failed compare-exchange is a load with the failure order.
//
// The access comes after what is acquired and before what is released: synchronizes-with relates the operations
// themselves, so the memory access of an acquire load is ordered, and the one of a release store is ordered before.
//
// Plain writes do not end a release sequence here. In a race-free run they cannot matter: a plain write W that follows
// a store S is ordered after it, and a load that reads W's value is ordered after W.
#pragma once

#include "detectors/detector.h"
#include "events/event.h"

namespace redflag {

// `access` performs the memory access: a call without arguments.
template <class D, class AccessStep>
Tag AtomicLoad(D& detector, typename D::Thread& thread, typename D::Sync& sync, MemoryOrder order, AccessStep access) {
  const Tag tag = Acquires(order) ? detector.OnAcquire(thread, sync) : detector.OnRelaxedLoad(thread, sync);
  access();
  return tag;
}

template <class D, class AccessStep>
Tag AtomicStore(D& detector, typename D::Thread& thread, typename D::Sync& sync, MemoryOrder order, AccessStep access) {
  access();
  return Releases(order) ? detector.OnReleaseStore(thread, sync) : detector.OnRelaxedStore(thread, sync);
}

template <class D, class AccessStep>
Tag AtomicRmw(D& detector, typename D::Thread& thread, typename D::Sync& sync, MemoryOrder order, AccessStep access) {
  const Tag tag = Acquires(order) ? detector.OnAcquire(thread, sync) : detector.OnRelaxedLoad(thread, sync);
  access();
  return tag | (Releases(order) ? detector.OnReleaseMerge(thread, sync) : detector.OnRelaxedMerge(thread, sync));
}

// A fence that is both acquires first: what it releases includes what it acquired.
template <class D>
Tag Fence(D& detector, typename D::Thread& thread, MemoryOrder order) {
  Tag tag = Tag::kKept;
  if (Acquires(order)) tag = tag | detector.OnAcquireFence(thread);
  if (Releases(order)) tag = tag | detector.OnReleaseFence(thread);
  return tag;
}

}  // namespace redflag
