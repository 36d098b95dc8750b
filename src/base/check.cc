#include "base/check.h"

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "base/arch.h"

namespace redflag {
namespace {

// One fixed buffer on the stack; text that does not fit is cut.
class Line {
 public:
  void Text(const char* text) {
    while (*text != '\0' && length_ < sizeof(buffer_)) buffer_[length_++] = *text++;
  }
  void Number(uint32_t number) {
    char digits[11] = {};
    char* first = digits + 10;
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    Text(first);
  }
  void Write() const { arch::Syscall(SYS_write, 2, reinterpret_cast<int64_t>(buffer_), static_cast<int64_t>(length_)); }

 private:
  char buffer_[512];
  size_t length_ = 0;
};

}  // namespace

void CheckFailed(const char* condition, const char* file, int line) {
  Line message;
  message.Text("redflag: internal error: check failed: ");
  message.Text(condition);
  message.Text(" at ");
  message.Text(file);
  message.Text(":");
  message.Number(static_cast<uint32_t>(line));
  message.Text("\n");
  message.Write();
  __builtin_trap();
}

}  // namespace redflag
