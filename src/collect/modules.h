// Which files were mapped where in the program. A module that was unmapped is still found, after those that are there: a
// stack that was kept from before may lead into it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "collect/symbol_file.h"
#include "collect/wire_reader.h"

namespace redflag {

struct LoadedModule {
  std::string path;
  FileIdentity identity;  // when it was loaded
  uint64_t begin = 0;     // of its code
  uint64_t end = 0;
  uint64_t bias = 0;
  bool gone = false;
};

class Modules {
 public:
  void Add(const ModuleMessage& message);

  // The module whose code holds the byte; null: none. Pointers stay valid.
  const LoadedModule* FindCode(uint64_t address) const;

  // Newest first.
  const std::deque<LoadedModule>& all() const { return modules_; }

 private:
  std::deque<LoadedModule> modules_;
};

}  // namespace redflag
