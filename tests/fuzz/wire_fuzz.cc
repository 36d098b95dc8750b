// Any bytes are a message, or an error: what decodes encodes to the same bytes, and goes through the collector and both renderers.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "collect/collector.h"
#include "collect/wire_reader.h"
#include "collect/wire_writer.h"

namespace {

class Nowhere : public redflag::TextOutput {
 public:
  void Print(const Render& render) override {
    if (render(redflag::Colour::kYes).empty()) __builtin_trap();
  }
};

// Files of the fuzzer's choice are not to be opened.
bool NamesAFile(const redflag::WireMessage& message) { return std::holds_alternative<redflag::ModuleMessage>(message); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace redflag;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto decoded = DecodeMessage(bytes);
  const auto* message = std::get_if<WireMessage>(&decoded);
  if (message == nullptr) return std::get<WireError>(decoded).what.empty() ? __builtin_trap(), 0 : 0;
  const std::vector<std::byte> written = EncodeMessage(*message);
  const auto again = DecodeMessage(written);
  if (written.size() != size || !std::holds_alternative<WireMessage>(again)) {
    std::fputs("a message that was read cannot be written and read again\n", stderr);
    __builtin_trap();
  }
  if (EncodeMessage(std::get<WireMessage>(again)) != written) __builtin_trap();
  if (NamesAFile(*message)) return 0;
  Nowhere nowhere;
  Collector collector({.detector = "hb", .pid = 1, .json = [](const std::string&) {}}, nowhere);
  collector.Consume(bytes);
  collector.Consume(bytes);
  collector.Finish(0);
  return 0;
}
