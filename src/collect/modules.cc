#include "collect/modules.h"

#include <algorithm>

namespace redflag {

void Modules::Add(const ModuleMessage& message) {
  const auto is_same = [&](const LoadedModule& module) {
    return !module.gone && module.begin == message.begin && module.end == message.end && module.path == message.path;
  };
  const auto same = std::find_if(modules_.begin(), modules_.end(), is_same);
  if (message.gone && message.path.empty()) {
    for (LoadedModule& module : modules_) {
      if (module.begin >= message.begin && module.end <= message.end) module.gone = true;
    }
    return;
  }
  if (message.gone) {
    if (same != modules_.end()) same->gone = true;
    return;
  }
  if (same != modules_.end()) return;
  modules_.push_front(LoadedModule{.path = message.path,
                                   .identity = IdentityOf(message.path),
                                   .begin = message.begin,
                                   .end = message.end,
                                   .bias = message.bias,
                                   .gone = false});
}

const LoadedModule* Modules::FindCode(uint64_t address) const {
  for (const bool gone : {false, true}) {
    for (const LoadedModule& module : modules_) {
      if (module.gone == gone && address >= module.begin && address < module.end) return &module;
    }
  }
  return nullptr;
}

}  // namespace redflag
