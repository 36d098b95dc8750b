// Which frames of a stack are code of the user, and their names without what changes when the program is built anew: parameters, template
// arguments, the numbers of lambdas, the compiler's clones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/race_report.h"

namespace redflag {

// Not of the standard library, of libc, of another library of the system without source or of the runtime, and not what runs before main.
bool IsOwnCode(const Frame& frame);

// The innermost frame that is; if there is none, the innermost of all. Null: the stack is empty.
const Frame* InnermostOwn(const std::vector<Frame>& stack);

// `void ns::Box<int>::Put<long>(long) const [clone .cold]` -> `ns::Box::Put`. The call operator of a lambda in f is `f::lambda`.
std::string PlainName(std::string_view function);

// The last part of a plain name: `ns::Box::Put` -> `Put`.
std::string_view LastPart(std::string_view plain_name);

// What a statement calls a variable that reports name so: `ns::pool.slots[5].hits` -> `hits`, `Next(int)::count` -> `count`. Without the
// numbers that compilers give to names: `count.0`.
std::string NameInStatements(std::string_view variable);

}  // namespace redflag
