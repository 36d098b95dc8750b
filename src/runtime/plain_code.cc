#include "runtime/plain_code.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "intercept/calls.h"
#include "runtime/environment.h"

namespace redflag::rt {

constinit PlainCode::Range PlainCode::ranges_[kMost] = {};
constinit uint32_t PlainCode::count_ = 0;
constinit bool PlainCode::is_full_ = false;
constinit const void* PlainCode::looked_at_[kMostLookedAt] = {};
constinit uint32_t PlainCode::looked_at_count_ = 0;

namespace {

// The libraries of the system that serve whoever calls them, and what is loaded to watch programs.
constexpr const char* kAnybodys[] = {"ld-linux",   "libc.so",    "libc-2",      "libc++",   "libc++abi",
                                     "libdl.so",   "libdl-2",    "libgcc_s",    "libm.so",  "libm-2",
                                     "libmvec",    "libpthread", "libredflag_", "librt.so", "librt-2",
                                     "libstdc++.", "libthr",     "libunwind",   "[vdso"};

bool StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

// The relocations of a module, by which it gets at what others define.
struct Imports {
  const Elf64_Rela* first = nullptr;
  uint64_t count = 0;

  bool Have(const char* wanted, const Elf64_Sym* symbols, const char* names) const {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t symbol = ELF64_R_SYM(first[i].r_info);
      if (symbol == 0 || symbols[symbol].st_shndx != SHN_UNDEF) continue;
      const char* name = names + symbols[symbol].st_name;
      if (StartsWith(name, wanted) && StartsWith(wanted, name)) return true;
    }
    return false;
  }
};

bool ImportsInit(const link_map& module) {
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  Imports calls, data;
  uint64_t relative = 0;
  // The dynamic linker has made addresses of them, but where it can't write.
  const auto at = [&](const Elf64_Dyn& entry) {
    return entry.d_un.d_ptr < module.l_addr ? entry.d_un.d_ptr + module.l_addr : entry.d_un.d_ptr;
  };
  for (const Elf64_Dyn* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<const Elf64_Sym*>(at(*entry));
        break;
      case DT_STRTAB:
        names = reinterpret_cast<const char*>(at(*entry));
        break;
      case DT_JMPREL:
        calls.first = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_PLTRELSZ:
        calls.count = entry->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_RELA:
        data.first = reinterpret_cast<const Elf64_Rela*>(at(*entry));
        break;
      case DT_RELASZ:
        data.count = entry->d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_RELACOUNT:
        relative = entry->d_un.d_val;
        break;
    }
  }
  if (symbols == nullptr || names == nullptr) return false;
  if (calls.first == nullptr) calls.count = 0;
  if (data.first == nullptr || relative > data.count) data.count = relative = 0;
  data.first += relative;  // these come first, and import nothing
  data.count -= relative;
  return calls.Have("__tsan_init", symbols, names) || data.Have("__tsan_init", symbols, names);
}

bool IsAnybodys(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* prefix : kAnybodys) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

}  // namespace

void PlainCode::NoteInstrumented(uint64_t place) {
  if (is_full_) return;
  const uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
  // The first call of all may come from the dynamic linker, on behalf of a program whose constructor has not run.
  if (count == 0) {
    Range main{.begin = 0, .bytes = 0, .is_anybodys = false};
    Add(main);
    ForEachMappedFile(
        [](const MappedFile& file, void*) {
          if (IsAnybodys(file.path)) Add({.begin = file.begin, .bytes = file.end - file.begin, .is_anybodys = true});
          return true;
        },
        nullptr);
    return NoteInstrumented(place);
  }
  if (const Range* range = Find(place, count); range != nullptr) {
    if (range->is_anybodys) NoteImporters();
    return;
  }
  ForEachMappedFile(
      [](const MappedFile& file, void* data) {
        const uint64_t wanted = *static_cast<uint64_t*>(data);
        if (wanted - file.begin >= file.end - file.begin) return true;
        AddModule({.begin = file.begin, .bytes = file.end - file.begin, .is_anybodys = false});
        return false;
      },
      &place);
}

void PlainCode::AddModule(const Range& range) {
  if (const uint64_t entry = getauxval(AT_ENTRY); entry - range.begin < range.bytes) {
    ranges_[kMain].begin = range.begin;
    __atomic_store_n(&ranges_[kMain].bytes, range.bytes, __ATOMIC_RELEASE);
  } else {
    Add(range);
  }
}

// Called in a constructor, so that the list is the caller's: who loads a library holds the lock of the dynamic linker until its constructors have run.
void PlainCode::NoteImporters() {
  for (const link_map* module = _r_debug.r_map; module != nullptr; module = module->l_next) {
    bool is_known = module->l_ld == nullptr;
    for (uint32_t i = 0; i < looked_at_count_ && !is_known; ++i) is_known = looked_at_[i] == module->l_ld;
    if (is_known) continue;
    if (looked_at_count_ < kMostLookedAt) looked_at_[looked_at_count_++] = module->l_ld;
    if (!ImportsInit(*module)) continue;
    ForEachMappedFile(
        [](const MappedFile& file, void* data) {
          if (file.bias != *static_cast<const uint64_t*>(data) || IsAnybodys(file.path)) return true;
          const Range range{.begin = file.begin, .bytes = file.end - file.begin, .is_anybodys = false};
          if (Find(range.begin, __atomic_load_n(&count_, __ATOMIC_RELAXED)) == nullptr) AddModule(range);
          return false;
        },
        const_cast<Elf64_Addr*>(&module->l_addr));
  }
}

void PlainCode::NoteGone(uint64_t image, uint64_t bytes) {
  for (uint32_t i = looked_at_count_; i-- > 0;) {
    if (reinterpret_cast<uint64_t>(looked_at_[i]) - image < bytes) looked_at_[i] = looked_at_[--looked_at_count_];
  }
}

void PlainCode::Add(const Range& range) {
  const uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
  if (count == kMost) {
    is_full_ = true;
    __atomic_store_n(&count_, 0, __ATOMIC_RELEASE);
  }
  if (is_full_) return;
  ranges_[count] = range;
  __atomic_store_n(&count_, count + 1, __ATOMIC_RELEASE);
}

const PlainCode::Range* PlainCode::Find(uint64_t place, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (place - ranges_[i].begin < ranges_[i].bytes) return &ranges_[i];
  }
  return nullptr;
}

bool PlainCode::Looks(uint64_t place, uint32_t count) {
  const Range* range = Find(place, count);
  return range == nullptr || (range->is_anybodys && IsServed(count));
}

// Does the thread do what it does now for plain code? It has entered no function that was compiled for race detection; or the call that it made last is
// one that an interceptor tells of, such as operator new, and was made by plain code.
bool PlainCode::IsServed(uint32_t count) {
  const Thread* t = local.thread;
  if (t == nullptr || t->lost_frames() != 0) return false;
  const Calls& calls = CurrentCalls();
  if (calls.open_count > Calls::kMostOpen) return false;
  const Frame* frame = local.top;
  for (uint32_t open = calls.open_count; frame > t->frames(); --frame) {
    if (open == 0 || frame[-1].pc != calls.open[--open].pc) return false;
    const Range* range = Find(frame[-1].pc, count);
    if (range == nullptr) return true;
    if (!range->is_anybodys) return false;
  }
  return true;
}

}  // namespace redflag::rt
