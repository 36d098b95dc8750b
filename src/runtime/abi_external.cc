// Objects of libraries that are not instrumented (sanitizer/tsan_interface.h): a library says "this call reads, or changes, that object
// of mine", on behalf of its caller, and a report names the kind of object. The access is to the object's first byte; two calls that
// change one object without order race, whatever bytes they touch inside.
#include <cstdint>

#include "base/mem.h"
#include "runtime/abi.h"
#include "runtime/emit.h"
#include "runtime/external_tags.h"
#include "runtime/runtime.h"

namespace redflag::rt {
namespace {

struct Tag {
  char object_type[64];
  char header[128];
};

constinit AtomicMem::Lock lock;
constinit Tag tags[kMaxTags + 1] = {};  // by number, from 1
constinit uint32_t tag_count = 0;

void Copy(char* to, size_t capacity, const char* from) {
  size_t i = 0;
  for (; i + 1 < capacity && from[i] != '\0'; ++i) to[i] = from[i];
  to[i] = '\0';
}

void Tell(uint32_t number) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  TellTag(number, tags[number].object_type, tags[number].header);
  Runtime::Leave(t);
}

// Handles are pointers into the table: a library that has none passes null.
uint32_t NumberOf(const void* handle) {
  const auto* tag = static_cast<const Tag*>(handle);
  return tag > tags && tag <= tags + kMaxTags ? static_cast<uint32_t>(tag - tags) : 0;
}

void TellAccess(void* object, void* caller, const void* handle, AccessKind kind, uint64_t place) {
  Thread* t = Runtime::Enter();
  if (t == nullptr) return;
  Runtime& runtime = Runtime::Get();
  uint32_t number = NumberOf(handle);
  if (number == 0) number = TagOfObject(reinterpret_cast<uint64_t>(object));
  if (number != 0) place = PlaceWithTag(place & kPlaceMask, number);
  // Inside the library, called from the program.
  if (caller != nullptr) EnterFunction(reinterpret_cast<uint64_t>(caller));
  runtime.AccessRange(*t, reinterpret_cast<uint64_t>(object), 1, kind, place);
  if (caller != nullptr) LeaveFunction();
  Runtime::Leave(t);
}

// Objects that were given a tag, by address: a direct-mapped table, in which a newcomer may push another one out.
struct Assigned {
  uint64_t object;
  uint32_t number;
};
constexpr uint64_t kAssigned = 1u << 14;
constinit Assigned assigned[kAssigned] = {};
Assigned& PlaceOf(uint64_t object) { return assigned[HashKey(object) % kAssigned]; }

}  // namespace

uint32_t TagOfObject(uint64_t object) {
  ScopedLock guard(lock);
  const Assigned& entry = PlaceOf(object);
  return entry.object == object ? entry.number : 0;
}

const char* ObjectTypeOf(uint32_t tag) { return tag == 0 || tag > tag_count ? nullptr : tags[tag].object_type; }
const char* HeaderOf(uint32_t tag) { return tag == 0 || tag > tag_count ? nullptr : tags[tag].header; }
void* HandleOf(uint32_t tag) { return tag == 0 || tag > tag_count ? nullptr : &tags[tag]; }

}  // namespace redflag::rt

using namespace redflag;      // NOLINT: this file is the outside of that namespace
using namespace redflag::rt;  // NOLINT

REDFLAG_ABI void* __tsan_external_register_tag(const char* object_type) {
  rt::Tag* tag = nullptr;
  uint32_t number = 0;
  {
    ScopedLock guard(lock);
    if (tag_count == kMaxTags) return nullptr;
    number = ++tag_count;
    tag = &tags[number];
    Copy(tag->object_type, sizeof tag->object_type, object_type);
  }
  Tell(number);
  return tag;
}

REDFLAG_ABI void __tsan_external_register_header(void* handle, const char* header) {
  const uint32_t number = NumberOf(handle);
  if (number == 0) return;
  {
    ScopedLock guard(lock);
    Copy(tags[number].header, sizeof(rt::Tag::header), header);
  }
  Tell(number);
}

REDFLAG_ABI void __tsan_external_assign_tag(void* object, void* handle) {
  ScopedLock guard(lock);
  PlaceOf(reinterpret_cast<uint64_t>(object)) = {.object = reinterpret_cast<uint64_t>(object),
                                                 .number = NumberOf(handle)};
}

REDFLAG_ABI void __tsan_external_read(void* object, void* caller, void* tag) {
  TellAccess(object, caller, tag, AccessKind::kRead, REDFLAG_CALLER);
}
REDFLAG_ABI void __tsan_external_write(void* object, void* caller, void* tag) {
  TellAccess(object, caller, tag, AccessKind::kWrite, REDFLAG_CALLER);
}
