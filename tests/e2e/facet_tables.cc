// Two threads compile regular expressions: the C++ library fills tables of the locale that both use, with the same bytes.
// NORACE
#include <regex>
#include <thread>

int main() {
  const auto match = [] {
    for (int i = 0; i < 10; ++i) {
      if (!std::regex_match("aab", std::regex("a+[[:alpha:]]"))) abort();
    }
  };
  std::thread one(match), two(match);
  one.join();
  two.join();
}
