#include "runtime/brief.h"

#include <sys/syscall.h>

#include <cstdint>

#include "base/arch.h"
#include "runtime/environment.h"

namespace redflag::rt {
namespace {

void PrintStack(const ContextTree& tree, ContextId context) {
  struct Search {
    uint64_t pc;
    Line* line;
  };
  context = tree.PartsOf(context).calls;
  int number = 0;
  for (ContextId at = context; at != kNoContext && number < 64; at = tree.CallerOf(at), ++number) {
    Line line;
    line.Add("    #").Add(static_cast<uint64_t>(number)).Add(" ");
    Search search{tree.PlaceOf(at) & kPlaceMask, &line};
    ForEachMappedFile(
        [](const MappedFile& file, void* data) {
          auto& in = *static_cast<Search*>(data);
          if (in.pc < file.begin || in.pc >= file.end) return true;
          in.line->Add(file.path).Add("+0x").Add(in.pc - file.bias, 16);
          return false;
        },
        &search);
    line.Add("\n").Print();
  }
}

}  // namespace

void PrintBriefly(const ContextTree& tree, const RaceRecord& record, uint64_t addr) {
  const auto print = [&](const char* what, const AccessRecord& access) {
    Line line;
    line.Add("  ").Add(what).Add(IsWrite(access.kind) ? " write" : " read").Add(" by thread ");
    if (access.thread == kNoThread) {
      line.Add("?");
    } else {
      line.Add("T").Add(Raw(access.thread));
    }
    line.Add(":\n").Print();
    PrintStack(tree, access.context);
  };
  Line line;
  line.Add("==")
      .Add(static_cast<uint64_t>(arch::Syscall(SYS_getpid)))
      .Add("== Redflag: data race at 0x")
      .Add(addr, 16)
      .Add("\n")
      .Print();
  print("the", record.access);
  for (uint32_t i = 0; i < record.earlier_count; ++i) print("with an earlier", record.earlier[i]);
  Line hint;
  hint.Add("  (pipe this through `redflag symbolize` for functions and lines)\n").Print();
}

}  // namespace redflag::rt
