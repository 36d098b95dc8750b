#include "trace/text_names.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace redflag {
namespace {

constexpr uint64_t kUndeclaredSize = 8;

Symbol::Meaning MeaningOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kLock:
      return Symbol::Meaning::kLock;
    case SyncKind::kSignal:
      return Symbol::Meaning::kSignal;
    case SyncKind::kCondition:
      return Symbol::Meaning::kCondition;
    case SyncKind::kSemaphore:
      return Symbol::Meaning::kSemaphore;
    case SyncKind::kBarrier:
      return Symbol::Meaning::kBarrier;
  }
  __builtin_unreachable();
}

std::string_view Describe(Symbol::Meaning meaning) {
  static constexpr std::string_view kDescriptions[] = {
      "a variable",           "an allocated block", "a lock",    "a signal",
      "a condition variable", "a semaphore",        "a barrier", "an object"};
  return kDescriptions[Raw(meaning)];
}

}  // namespace

Symbol* TextNames::Find(std::string_view name) {
  auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

Symbol& TextNames::Declare(const Token& name, Symbol symbol) {
  if (const Symbol* known = Find(name.text)) {
    WrongMeaning(name, *known, fmt::format("declared as {}", Describe(symbol.meaning)));
  }
  symbol.line = line_;
  return symbols_.emplace(name.text, symbol).first->second;
}

void TextNames::WrongMeaning(const Token& token, const Symbol& symbol, std::string_view wanted) {
  Fail(token.offset, "{} is {} since line {}, it cannot be {}", Shown(token.text), Describe(symbol.meaning),
       symbol.line, wanted);
}

SyncId TextNames::FindSync(const Token& token, SyncKind kind) {
  Symbol::Meaning meaning = MeaningOf(kind);
  Symbol* symbol = Find(token.text);
  if (symbol == nullptr) symbol = &Declare(token, Symbol{.meaning = meaning});
  if (symbol->meaning == Symbol::Meaning::kObject && kind != SyncKind::kBarrier) symbol->meaning = meaning;
  if (symbol->meaning != meaning) {
    WrongMeaning(token, *symbol, fmt::format("used as {}", Describe(meaning)));
  }
  if (symbol->sync == kNoSync) {
    symbol->sync = SyncId{static_cast<uint32_t>(trace_.syncs.size())};
    trace_.syncs.push_back(NamedSync{std::string(token.text), kind});
  }
  return symbol->sync;
}

TextNames::Bytes TextNames::ParseRawBytes(const Token& token) {
  size_t colon = std::min(token.text.find(':'), token.text.size());
  std::optional<uint64_t> addr = ParseNumber(token.text.substr(0, colon));
  if (!addr) Fail(token.offset, "expected an address, not {}", Shown(token.text.substr(0, colon)));
  if (colon == token.text.size()) Fail(token.offset + colon, "expected ':SIZE' after the address");
  std::optional<uint64_t> size = ParseNumber(token.text.substr(colon + 1));
  if (!size) Fail(token.offset + colon + 1, "expected a size, not {}", Shown(token.text.substr(colon + 1)));
  return Bytes{Addr{*addr}, *size};
}

TextNames::Bytes TextNames::ParseBytes(const Token& token) {
  if (token.text.starts_with("0x")) return ParseRawBytes(token);
  size_t at = NameLength(token.text);
  std::string_view name = token.text.substr(0, at);
  if (!IsName(name)) Fail(token.offset, "expected memory, not {}", Shown(token.text));
  auto number = [&](std::string_view what) {
    size_t begin = ++at;
    at = std::min(token.text.find(':', begin), token.text.size());
    std::optional<uint64_t> value = ParseNumber(token.text.substr(begin, at - begin));
    if (!value) Fail(token.offset + begin, "expected {}, not {}", what, Shown(token.text.substr(begin)));
    return *value;
  };
  uint64_t offset = 0;
  std::optional<uint64_t> size;
  if (at < token.text.size() && token.text[at] == '+') offset = number("an offset");
  if (at < token.text.size() && token.text[at] == ':') size = number("a size");
  if (at < token.text.size()) {
    Fail(token.offset + at, "expected '+OFFSET', ':SIZE' or a blank, not {}", Shown(token.text.substr(at)));
  }
  const Symbol& symbol = FindVariable(token, name);
  uint64_t rest = offset < symbol.size ? symbol.size - offset : 0;
  if (size == 0) Fail(token.offset, "{} has no bytes", Shown(token.text));
  if (rest == 0 || size.value_or(rest) > rest) {
    Fail(token.offset, "{} is outside {}, which has {} bytes", Shown(token.text), Shown(name), symbol.size);
  }
  return Bytes{symbol.addr + offset, size.value_or(rest)};
}

Symbol& TextNames::FindVariable(const Token& token, std::string_view name) {
  Symbol* symbol = Find(name);
  if (symbol != nullptr) {
    if (symbol->meaning != Symbol::Meaning::kVariable && symbol->meaning != Symbol::Meaning::kBlock) {
      WrongMeaning(Token{name, token.offset}, *symbol, "used as memory");
    }
    return *symbol;
  }
  Addr addr = FreshPlace(token, kUndeclaredSize, AddressPlan::kUsualAlign);
  AddRange(name, addr, kUndeclaredSize);
  return Declare(Token{name, token.offset},
                 Symbol{.meaning = Symbol::Meaning::kVariable, .addr = addr, .size = kUndeclaredSize});
}

Addr TextNames::ParsePlace(const Token& token, uint64_t size) {
  Addr addr{};
  if (token.text.starts_with("0x")) {
    std::optional<uint64_t> number = ParseNumber(token.text);
    if (!number) Fail(token.offset, "expected an address, not {}", Shown(token.text));
    addr = Addr{*number};
  } else {
    std::string_view name = token.text.substr(0, NameLength(token.text));
    if (name.empty() || Find(name) == nullptr) {
      Fail(token.offset, "expected an address or the name of a known variable, not {}", Shown(token.text));
    }
    if (token.text.substr(name.size()).find(':') != std::string_view::npos) {
      Fail(token.offset, "a place has no size: write NAME or NAME+OFFSET");
    }
    addr = ParseBytes(token).addr;
  }
  if (size > UINT64_MAX - Raw(addr)) {
    Fail(token.offset, "{:#x}:{} goes past the end of the address space", Raw(addr), size);
  }
  addresses_.Take(addr, size);
  return addr;
}

Addr TextNames::FreshPlace(const Token& token, uint64_t size, uint64_t align) {
  std::optional<Addr> addr = addresses_.Fresh(size, align);
  if (!addr) Fail(token.offset, "no addresses are left for {} bytes", size);
  return *addr;
}

void TextNames::TakePlace(const Bytes& bytes) {
  bool sound = bytes.size > 0 && bytes.size <= UINT64_MAX - Raw(bytes.addr);
  if (sound) addresses_.Take(bytes.addr, bytes.size);
}

void TextNames::AddRange(std::string_view name, Addr addr, uint64_t size) {
  trace_.ranges.push_back(NamedRange{std::string(name), addr, size, trace_.events.size()});
}

}  // namespace redflag
