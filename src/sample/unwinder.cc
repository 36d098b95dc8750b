#include "sample/unwinder.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace redflag {
namespace {

constexpr size_t kMostFrames = 128;

Dwfl_Callbacks MakeCallbacks() {
  static char* debug_path = nullptr;
  Dwfl_Callbacks callbacks{};
  callbacks.find_elf = dwfl_linux_proc_find_elf;
  callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  callbacks.debuginfo_path = &debug_path;
  return callbacks;
}
const Dwfl_Callbacks kCallbacks = MakeCallbacks();

}  // namespace

void Unwinder::Refresh() {
  session_ = Session(dwfl_begin(&kCallbacks), dwfl_end);
  if (session_ == nullptr) return;
  static const Dwfl_Thread_Callbacks kThreads = {.next_thread = NextThread,
                                                 .get_thread = GetThread,
                                                 .memory_read = ReadMemory,
                                                 .set_initial_registers = SetRegisters,
                                                 .detach = nullptr,
                                                 .thread_detach = nullptr};
  if (dwfl_linux_proc_report(session_.get(), pid_) != 0 || dwfl_report_end(session_.get(), nullptr, nullptr) != 0 ||
      !dwfl_attach_state(session_.get(), nullptr, pid_, &kThreads, this)) {
    session_.reset();
  }
}

pid_t Unwinder::NextThread(Dwfl*, void* argument, void** thread) {
  auto* self = static_cast<Unwinder*>(argument);
  if (*thread != nullptr) return 0;
  *thread = argument;
  return static_cast<pid_t>(self->stop_->tid);
}

bool Unwinder::GetThread(Dwfl*, pid_t, void* argument, void** thread) {
  *thread = argument;
  return true;
}

bool Unwinder::ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
  const SampleStop& stop = *static_cast<Unwinder*>(argument)->stop_;
  const uint64_t bytes = std::min(stop.stack_bytes, SampleStop::kStackBytes);
  if (address < stop.stack_begin || address - stop.stack_begin + sizeof *result > bytes) return false;
  std::memcpy(result, stop.stack + (address - stop.stack_begin), sizeof *result);
  return true;
}

bool Unwinder::SetRegisters(Dwfl_Thread* thread, void* argument) {
  const SampleStop& stop = *static_cast<Unwinder*>(argument)->stop_;
#if defined(__x86_64__)
  // The numbers of DWARF: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and where to go on.
  constexpr std::array<int, 8> kOrder = {0, 2, 1, 3, 6, 7, 5, 4};
  std::array<Dwarf_Word, 17> registers{};
  for (size_t i = 0; i < 8; ++i) registers[i] = stop.registers[kOrder[i]];
  for (size_t i = 8; i < 16; ++i) registers[i] = stop.registers[i];
  registers[16] = stop.pc;
#else
  std::array<Dwarf_Word, 32> registers{};
  for (size_t i = 0; i < 32; ++i) registers[i] = stop.registers[i];
  dwfl_thread_state_register_pc(thread, stop.pc);
#endif
  return dwfl_thread_state_registers(thread, 0, registers.size(), registers.data());
}

int Unwinder::OnFrame(Dwfl_Frame* frame, void* argument) {
  auto* self = static_cast<Unwinder*>(argument);
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  self->frames_.push_back(pc);
  if (self->frames_.size() < kMostFrames) return DWARF_CB_OK;
  self->truncated_ = true;
  return DWARF_CB_ABORT;
}

RawStack Unwinder::Unwind(const SampleStop& stop, uint64_t first) {
  if (session_ == nullptr) Refresh();
  frames_.clear();
  truncated_ = false;
  stop_ = &stop;
  if (session_ != nullptr && dwfl_getthread_frames(session_.get(), static_cast<pid_t>(stop.tid), OnFrame, this) == -1) {
    truncated_ = true;  // the end of the copy, or no table there
  }
  stop_ = nullptr;
  RawStack stack{.frames = {first}, .truncated = truncated_};
  if (frames_.size() > 1) stack.frames.insert(stack.frames.end(), frames_.begin() + 1, frames_.end());
  if (!stack.frames.empty() && stack.frames.back() == 0) stack.frames.pop_back();
  return stack;
}

}  // namespace redflag
