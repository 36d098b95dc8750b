// Rules `fun` and `src` in the terms of clang's -fsanitize-ignorelist=: what they name is not instrumented at all. Clang knows functions by
// their linker's names and nothing of patterns like ours. What cannot be said in its terms is left to the run; never is more left out than a
// rule names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redflag {

struct ClangIgnoreList {
  std::string text;
  std::vector<std::string> problems;  // in words, a line each
};

// Of the text of a file of rules.
ClangIgnoreList ClangIgnoreListOf(std::string_view rules);

}  // namespace redflag
