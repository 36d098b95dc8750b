// Will an exception that is thrown here be caught? Answered from the unwind tables of the calls that are on the stack, before it is thrown: by
// the Itanium C++ ABI, an exception that meets a call that no table expects to throw ends the program (std::terminate), and so does one that
// nobody catches. Part of redflag/race_error.hpp.
#ifndef REDFLAG_DETAIL_THROW_PROOF_HPP_
#define REDFLAG_DETAIL_THROW_PROOF_HPP_

#include <cxxabi.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include <exception>
#include <stdexcept>
#include <typeinfo>

namespace redflag {

class data_race_error;

namespace detail {

// A table of one function: which of its calls may throw, and where that leads (the "LSDA").
class exception_table {
 public:
  enum class finding {
    none,       // no call at this place is expected to throw: std::terminate
    passes,     // on to the caller, after what has to be cleaned up
    caught,     // by a handler of data_race_error or of a base of it
    catch_all,  // by catch (...)
    terminate,  // by a handler that ends the program
    unknown,    // written in a way that is not known here
  };

  exception_table(const void* table, uintptr_t function) : at_(static_cast<const uint8_t*>(table)), base_(function) {}

  finding look_up(uintptr_t place) {
    uintptr_t pads = base_;
    uint8_t encoding = *at_++;
    if (encoding != omitted) pads = take(encoding);
    const uint8_t type_encoding = *at_++;
    const uint8_t* types = nullptr;
    if (type_encoding != omitted) {
      const uintptr_t offset = take_unsigned();
      types = at_ + offset;
    }
    encoding = *at_++;
    const uintptr_t bytes = take_unsigned();
    const uint8_t* const actions = at_ + bytes;
    while (at_ < actions && is_good_) {
      const uintptr_t begin = base_ + take(encoding);
      const uintptr_t length = take(encoding);
      const uintptr_t pad = take(encoding);
      const uintptr_t action = take_unsigned();
      if (place < begin) break;
      if (place >= begin + length) continue;
      if (pad == 0 || action == 0) return finding::passes;
      at_ = actions + action - 1;
      return look_at_handlers(pads + pad, types, type_encoding);
    }
    return is_good_ ? finding::none : finding::unknown;
  }

 private:
  static constexpr uint8_t omitted = 0xff;

  finding look_at_handlers(uintptr_t pad, const uint8_t* types, uint8_t type_encoding) {
    for (;;) {
      const intptr_t filter = take_signed();
      const uint8_t* const link = at_;
      const intptr_t next = take_signed();
      if (filter < 0) return finding::unknown;  // an exception specification of old
      if (filter > 0) {
        const std::type_info* type = nullptr;
        if (types == nullptr || !read_type(types, type_encoding, static_cast<uintptr_t>(filter), type))
          return finding::unknown;
        if (type == nullptr) return ends_program(pad) ? finding::terminate : finding::catch_all;
        if (is_ours(*type)) return finding::caught;
      }
      if (next == 0) return finding::passes;
      at_ = link + next;
    }
  }

  static bool is_ours(const std::type_info& type) {
#if defined(__cpp_rtti)
    return type == typeid(std::runtime_error) || type == typeid(std::exception) || is_data_race_error(type);
#else
    (void)type;
    return false;
#endif
  }
  static bool is_data_race_error(const std::type_info& type) {
    return strcmp(type.name(), "N7redflag15data_race_errorE") == 0;  // the name is the type's, in every library
  }

  // clang has a handler for what may not throw, too: after what has to be cleaned up, it calls a function that takes the exception and calls
  // std::terminate, nothing else. As code, that is two calls in a row and then the end. A handler of the program's takes the exception itself.
  static bool ends_program(uintptr_t pad) {
#if defined(__x86_64__)
    constexpr int window = 96, call_bytes = 5;
    const uint8_t* const code = reinterpret_cast<const uint8_t*>(pad);
    const auto target_of = [](const uint8_t* call) {
      int32_t offset;
      memcpy(&offset, call + 1, sizeof offset);
      return call + call_bytes + offset;
    };
    for (int i = 0; i < window; ++i) {
      if (code[i] != 0xe8) continue;
      const uint8_t* const function = target_of(code + i);
      if (function < code - (1 << 27) || function > code + (1 << 27))
        continue;  // no call, but a part of something else
      if (begins_catch(function)) return false;
      for (int j = 0; j < 32; ++j) {  // behind what instrumentation adds
        if (function[j] == 0xc3) break;
        if (function[j] == 0xe8 && function[j + call_bytes] == 0xe8) return !goes_on(function + j + 2 * call_bytes);
      }
    }
    return false;
#elif defined(__aarch64__)
    constexpr int window = 24;
    const auto is_call = [](uint32_t instruction) { return instruction >> 26 == 0x25; };
    const uint32_t* const code = reinterpret_cast<const uint32_t*>(pad);
    for (int i = 0; i < window; ++i) {
      if (!is_call(code[i])) continue;
      const uint32_t* const function = code + i + (static_cast<int32_t>(code[i] << 6) >> 6);
      for (int j = 0; j < 12; ++j) {
        if (function[j] == 0xd65f03c0 || function[j] >> 26 == 0x05) break;  // ret, b
        if (is_call(function[j]) && is_call(function[j + 1])) return true;
      }
    }
    return false;
#else
    (void)pad;
    return false;
#endif
  }
#if defined(__x86_64__)
  // Is it how this module calls __cxa_begin_catch: a jump through a word that holds its address?
  static bool begins_catch(const uint8_t* function) {
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (memcmp(function, endbr, sizeof endbr) == 0) function += sizeof endbr;
    if (*function == 0xf2) ++function;
    if (function[0] != 0xff || function[1] != 0x25) return false;
    int32_t offset;
    memcpy(&offset, function + 2, sizeof offset);
    void* address;
    memcpy(&address, function + 6 + offset, sizeof address);
    return address == reinterpret_cast<void*>(&abi::__cxa_begin_catch);
  }
  // Is there more of the function behind a call?
  static bool goes_on(const uint8_t* code) {
    switch (*code) {
      case 0x0f:
      case 0x2e:
      case 0x66:
      case 0x90:
      case 0xcc:
      case 0x50:
      case 0x53:
      case 0x55:
      case 0x41:
      case 0xf3:
        return false;  // padding, or the next function
      default:
        return true;
    }
  }
#endif

  uintptr_t take_unsigned() {
    uintptr_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = *at_++;
      value |= static_cast<uintptr_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  intptr_t take_signed() {
    uintptr_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
      byte = *at_++;
      value |= static_cast<uintptr_t>(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if ((byte & 0x40) != 0 && shift < 64) value |= ~uintptr_t{0} << shift;
    return static_cast<intptr_t>(value);
  }
  template <class T>
  uintptr_t take_number() {
    T value;
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return static_cast<uintptr_t>(static_cast<intptr_t>(value));
  }
  uintptr_t take(uint8_t encoding) {
    const uintptr_t here = reinterpret_cast<uintptr_t>(at_);
    uintptr_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = take_number<uint64_t>();
        break;
      case 0x01:
        value = take_unsigned();
        break;
      case 0x02:
        value = take_number<uint16_t>();
        break;
      case 0x03:
        value = take_number<uint32_t>();
        break;
      case 0x0a:
        value = take_number<int16_t>();
        break;
      case 0x0b:
        value = take_number<int32_t>();
        break;
      default:
        is_good_ = false;
    }
    if (value != 0 && (encoding & 0x70) == 0x10) value += here;
    if ((encoding & 0x70) > 0x10) is_good_ = false;
    if (value != 0 && (encoding & 0x80) != 0) memcpy(&value, reinterpret_cast<const void*>(value), sizeof value);
    return value;
  }
  bool read_type(const uint8_t* types, uint8_t encoding, uintptr_t filter, const std::type_info*& type) {
    const unsigned form = encoding & 0x07;
    const uintptr_t bytes = form == 0x02 ? 2 : form == 0x03 ? 4 : 8;
    at_ = types - filter * bytes;
    type = reinterpret_cast<const std::type_info*>(take(encoding));
    return is_good_;
  }

  const uint8_t* at_;
  const uintptr_t base_;
  bool is_good_ = true;
};

struct throw_walk {
  uintptr_t first;   // the return address that the walk begins at
  bool is_exit;      // the thread is ended, not an exception thrown
  bool must_expect;  // the compiler must have expected the first place to throw
  bool has_begun = false;
  bool is_certain = false;
  const char* why = nullptr;

  static _Unwind_Reason_Code visit(struct _Unwind_Context* context, void* data) {
    return static_cast<throw_walk*>(data)->look(context) ? _URC_NO_REASON : _URC_NORMAL_STOP;
  }

 private:
  bool fails(const char* reason) {
    why = reason;
    return false;
  }
  bool look(struct _Unwind_Context* context) {
    int is_exact = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
    const bool is_first = !has_begun;
    if (is_first && address != first) return true;
    has_begun = true;
    const void* table = reinterpret_cast<const void*>(_Unwind_GetLanguageSpecificData(context));
    if (table == nullptr) {
      return is_first && must_expect
                 ? fails("the compiler did not expect this access to throw: build with `redflag c++ --throw` and g++")
                 : true;
    }
    exception_table entries(table, _Unwind_GetRegionStart(context));
    switch (entries.look_up(is_exact != 0 ? address : address - 1)) {
      case exception_table::finding::passes:
        return true;
      case exception_table::finding::caught:
        is_certain = !is_exit;
        return is_exit;
      case exception_table::finding::catch_all:
        if (is_exit) return fails("a catch (...) is in the way of the end of the thread");
        is_certain = true;
        return false;
      case exception_table::finding::terminate:
        return fails("it would leave a noexcept function or a destructor");
      case exception_table::finding::unknown:
        return fails("an exception specification is in its way");
      case exception_table::finding::none:
        break;
    }
    if (!is_first || !must_expect) return fails("it would leave a noexcept function or a destructor");
    return fails(
        "the compiler did not expect this access to throw (it is in a noexcept function or a destructor, or a direct "
        "access to a variable)");
  }
};

// Null if what is thrown by the function that returns to this address is caught for certain; else why not.
inline const char* why_not_thrown(uintptr_t return_address, bool is_exit, bool must_expect) {
  throw_walk walk{return_address, is_exit, must_expect};
  _Unwind_Backtrace(throw_walk::visit, &walk);
  if (walk.why != nullptr) return walk.why;
  if (!walk.has_begun) return "there are no unwind tables for it: build with -fexceptions -fasynchronous-unwind-tables";
  if (walk.is_certain || is_exit) return nullptr;
  return "nobody catches it, as far as there are unwind tables";
}

}  // namespace detail
}  // namespace redflag

#endif
