// Who takes breakpoints out of a running process if the sampler cannot do it any more.
//
// The process that the user started is the guard, and its child does the work, so that the death of one of them is seen by the other:
//   - the guard is killed: the child, told by the kernel, ends as if by SIGTERM, with everything taken out
//   - the child is killed: the guard knows from the page, which they share, where breakpoints are, and restores the code, of the process and of
//     those that it has just forked. Who meets a breakpoint until then is kept by the shield (sample/trap_shield.h)
// The child has another name, so that `killall -9 redflag` or `pkill -9 -f "redflag attach"` end the one and not both.
#pragma once

#include <sys/types.h>

#include <functional>

#include "sample/trap_shield.h"

namespace redflag {

// Runs the work in a child, and returns what it returns, or 128 and the signal that ended it. SIGINT, SIGTERM, SIGHUP and SIGQUIT reach the
// child as SIGTERM. `page_fd`: of the page of the breakpoints of process `pid`.
int RunGuarded(pid_t pid, int page_fd, const std::function<int(TrapShield&)>& work);

}  // namespace redflag
