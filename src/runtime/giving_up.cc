#include "runtime/giving_up.h"

#include <sys/syscall.h>

#include "base/arch.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"

namespace redflag::rt {

void GiveUp(const char* why) {
  const int exitcode = Runtime::Get().flags().exitcode;
  const int status = Runtime::FinishProcess(exitcode != 0 ? exitcode : 1);
  Complain(HasTsanForm() ? "ThreadSanitizer: " : "Redflag: ", why);
  for (;;) arch::Syscall(SYS_exit_group, status);
}

}  // namespace redflag::rt
