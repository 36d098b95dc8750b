// What the text reader knows behind the names of variables, blocks and synchronization objects, and how the
// operands that contain such names are read. Fills `syncs` and `ranges` of the Trace it was made for.
//
// Invariants:
// - A name means one kind of thing in a whole trace. (Threads and functions have names of their own.)
// - SyncIds are given out in the order of first use in an event, so that a trace which is written and read
//   again has the same ids; a declaration alone gives out none.
//
// Every function that takes a Token throws LineError there. The reader's own; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "trace/text_lexer.h"
#include "trace/text_tables.h"
#include "trace/trace.h"

namespace redflag {

struct Symbol {
  enum class Meaning : uint8_t { kVariable, kBlock, kLock, kSignal, kCondition, kSemaphore, kBarrier, kObject };
  Meaning meaning;
  uint32_t line = 0;  // of the first use

  // Variables and blocks; objects that share an address with atomics. 0: not such an object.
  Addr addr{};
  uint64_t size = 0;
  uint64_t reserved = 0;         // bytes from addr on that a block may be allocated in again
  uint64_t allocated_event = 0;  // the alloc that the name of a block stands for
  uint32_t freed_line = 0;       // 0: not freed under this name

  // Synchronization objects.
  SyncId sync = kNoSync;  // kNoSync: declared, in no event yet
  uint64_t parties = 0;
};

class TextNames {
 public:
  struct Bytes {
    Addr addr{};
    uint64_t size = 0;
  };

  explicit TextNames(Trace& trace) : trace_(trace) {}

  // The line that the following calls are about.
  void set_line(uint32_t line) { line_ = line; }

  // Null if the name is not known. Stays good.
  Symbol* Find(std::string_view name);
  // Fails if the name is known.
  Symbol& Declare(const Token& name, Symbol symbol);
  // Known as memory from the next event on.
  void AddRange(std::string_view name, Addr addr, uint64_t size);

  // The object of that kind and name, which comes into being if need be. One that was declared as `object` becomes one of that kind.
  SyncId FindSync(const Token& token, SyncKind kind);
  [[noreturn]] static void WrongMeaning(const Token& token, const Symbol& symbol, std::string_view wanted);

  // NAME, NAME+OFFSET, NAME:SIZE, NAME+OFFSET:SIZE or 0xADDRESS:SIZE. A name that is not known becomes a
  // variable.
  Bytes ParseBytes(const Token& token);
  // 0xADDRESS:SIZE
  static Bytes ParseRawBytes(const Token& token);
  // 0xADDRESS, NAME or NAME+OFFSET with a known name: where `size` bytes are to be.
  Addr ParsePlace(const Token& token, uint64_t size);
  Addr FreshPlace(const Token& token, uint64_t size, uint64_t align);
  // A place that was given as 0xADDRESS:SIZE.
  void TakePlace(const Bytes& bytes);

 private:
  Symbol& FindVariable(const Token& token, std::string_view name);

  Trace& trace_;
  uint32_t line_ = 0;
  std::map<std::string, Symbol, std::less<>> symbols_;
  AddressPlan addresses_;
};

}  // namespace redflag
