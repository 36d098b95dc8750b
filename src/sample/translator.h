// From what the handler of breakpoints wrote down of a conflict to a race that the report pipeline understands (collect/wire_reader.h): the
// instructions of both sides decoded, both stacks unwound, threads numbered.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect/symbolizer.h"
#include "collect/wire_reader.h"
#include "collider/code_file.h"
#include "collider/pruning.h"
#include "collider/sampling_set.h"
#include "events/sample_page.h"
#include "sample/process_maps.h"
#include "sample/unwinder.h"

namespace redflag {

class Translator {
 public:
  explicit Translator(pid_t pid) : pid_(pid), unwinder_(pid) {}

  void SetMaps(std::vector<MappedFile> maps);

  struct Conflict {
    RaceMessage race;
    bool first_is_atomic = false;     // by the name of the function that it is in
    bool is_synchronization = false;  // both are: no race
    bool has_both_stacks = false;
    bool both_increment = false;
    std::vector<ThreadMessage> threads{};  // that were not known before
  };
  Conflict Translate(const SampleRecord& record, const SampleSite& site, bool has_watches);

 private:
  struct Code {
    const MappedFile* mapped = nullptr;
    const CodeFile* file = nullptr;
  };
  Code CodeAt(uint64_t address);
  uint32_t NumberOf(uint32_t tid, Conflict& conflict);
  bool IsAtomicByName(uint64_t return_address);
  Intent IntentAt(uint64_t address);
  void Judge(const SampleSite& site, const Located& second, Conflict& conflict, AccessKind first_kind,
             AccessKind second_kind);
  std::optional<Located> SecondAccess(const SampleStop& stop);
  RawAccess Access(const SampleRecord& record, const SampleStop& stop, const MemoryAccess& access, uint64_t behind,
                   Conflict& conflict);

  pid_t pid_;
  Unwinder unwinder_;
  Symbolizer symbolizer_;
  std::vector<MappedFile> maps_;
  std::map<std::string, std::unique_ptr<CodeFile>> files_;
  std::map<uint32_t, uint32_t> threads_;
  uint64_t sequence_ = 0;
};

}  // namespace redflag
