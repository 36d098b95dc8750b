#include "report/own_code.h"

#include <algorithm>
#include <array>

namespace redflag {
namespace {

constexpr std::array<std::string_view, 8> kSystemFolders = {"/usr/include/",      "/usr/local/include/", "/usr/lib/",
                                                            "/include/c++/",      "/lib/gcc/",           "/lib/llvm-",
                                                            "/redflag/tolerate/", "/redflag/shims/"};
constexpr std::array<std::string_view, 4> kSystemModuleFolders = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
constexpr std::array<std::string_view, 12> kSystemModules = {
    "libc.so",     "libc-",    "libstdc++",  "libc++",        "libpthread",          "ld-linux",
    "libgcc_s.so", "libm.so.", "libtsan.so", "libredflag_rt", "libredflag_tolerate", "[vdso"};
constexpr std::array<std::string_view, 9> kSystemNames = {
    "std::",        "__gnu_cxx::",         "__cxxabiv1::",
    "operator new", "operator delete",     "__libc_",
    "_start",       "redflag::tolerate::", "redflag::basic_tolerant_mutex"};

bool IsWordLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_';
}

// Behind the bracket that closes the one at `at`; the end if there is none. Of `<`: without those of operators and arrows.
size_t Behind(std::string_view text, size_t at, char open, char close) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && (close != '>' || text[at - 1] != '-') && --depth == 0) return at + 1;
  }
  return text.size();
}

// Reads a name from front to back and keeps what is to stay.
class Reducer {
 public:
  explicit Reducer(std::string_view text) : text_(text) {}

  std::string Reduce() {
    while (at_ < text_.size()) Step();
    return Finish();
  }

 private:
  bool Skip(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void Step() {
    switch (text_[at_]) {
      case 'o':
        if ((at_ == 0 || !IsWordLetter(text_[at_ - 1])) && Skip("operator")) return Operator();
        break;
      case '(':
        if (Skip("(anonymous namespace)")) return Keep("{anonymous}");
        if (Skip("(anonymous)")) return Keep("unnamed");  // a class
        at_ = Behind(text_, at_, '(', ')');
        return;
      case '[':  // [clone .cold], [abi:cxx11], [with T = int]
        at_ = Behind(text_, at_, '[', ']');
        return;
      case '{':  // {lambda(int)#1}, {unnamed type#2}
        Keep(text_.substr(at_).starts_with("{lambda") ? "lambda" : "unnamed");
        at_ = Behind(text_, at_, '{', '}');
        return;
      case '<':
        if (text_.substr(at_).starts_with("<lambda")) Keep("lambda");
        at_ = Behind(text_, at_, '<', '>');
        return;
      case '$':
      case '\'':  // $_0, 'lambda0': clang's
        if (!Skip("$_") && !Skip("'lambda")) break;
        while (at_ < text_.size() && (IsWordLetter(text_[at_]) || text_[at_] == '\'')) ++at_;
        return Keep("lambda");
      case '.':  // f.constprop.0, f.part.1
        if (at_ == 0) break;
        while (at_ < text_.size() && (IsWordLetter(text_[at_]) || text_[at_] == '.')) ++at_;
        return;
      default:
        break;
    }
    kept_ += text_[at_++];
  }

  void Keep(std::string_view text) { kept_ += text; }

  void Operator() {
    kept_ += "operator";
    if (Skip("()")) {
      kept_ += "()";
    } else if (Skip(" new") || Skip(" delete")) {
      kept_ += text_[at_ - 1] == 'w' ? "-new" : "-delete";
    } else if (at_ < text_.size() && text_[at_] == ' ') {  // a conversion: the type is its name
      kept_ += "-conversion";
      at_ = std::min(text_.find('(', at_), text_.size());
    } else {
      while (at_ < text_.size() && text_.find_first_of("<>=!+-*/%&|^~[],", at_) == at_) kept_ += text_[at_++];
    }
  }

  // Without what stands before the name (the type that a template answers) and behind it (const).
  std::string Finish() {
    for (const std::string_view word : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (const size_t found = kept_.find(word); found != std::string::npos && found != 0) kept_.resize(found);
    }
    while (!kept_.empty() && kept_.back() == ' ') kept_.pop_back();
    if (const size_t space = kept_.rfind(' '); space != std::string::npos) kept_.erase(0, space + 1);
    kept_.erase(0, std::min(kept_.find_first_not_of("*&"), kept_.size()));
    for (const std::string_view noise : {"__cxx11::", "__1::", "lambda::", "unnamed::"}) {
      for (size_t found = kept_.find(noise); found != std::string::npos; found = kept_.find(noise, found)) {
        kept_.erase(found, noise.size());
      }
    }
    constexpr std::string_view kCall = "operator()";
    if (kept_.ends_with(kCall)) kept_.replace(kept_.size() - kCall.size(), kCall.size(), "lambda");
    return std::move(kept_);
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string kept_;
};

// The name may follow the type that a template answers: `void std::f<int>()`.
bool IsOfLibrary(const std::string& function) {
  const auto is_in = [&](std::string_view word) { return function.find(word) != std::string::npos; };
  if (std::none_of(kSystemNames.begin(), kSystemNames.end(), is_in)) return false;
  const std::string name = PlainName(function);
  return std::any_of(kSystemNames.begin(), kSystemNames.end(), [&](std::string_view word) {
    return word == "_start" ? function == word : name.starts_with(word) || function.starts_with(word);
  });
}

}  // namespace

std::string PlainName(std::string_view function) { return Reducer(function).Reduce(); }

std::string_view LastPart(std::string_view plain_name) {
  const size_t colon = plain_name.rfind(':');
  return colon == std::string_view::npos ? plain_name : plain_name.substr(colon + 1);
}

// Only what stands behind the last dot that is not in brackets is looked at: of parameters and template arguments there may be dots too.
std::string NameInStatements(std::string_view variable) {
  for (;;) {
    size_t dot = std::string_view::npos;
    int depth = 0;
    for (size_t i = variable.size(); i-- > 0 && dot == std::string_view::npos;) {
      const char letter = variable[i];
      if (letter == ')' || letter == ']' || letter == '>' || letter == '}') ++depth;
      if (letter == '(' || letter == '[' || letter == '<' || letter == '{') --depth;
      if (letter == '.' && depth == 0) dot = i;
    }
    if (dot == std::string_view::npos) return std::string(LastPart(PlainName(variable)));
    const std::string_view member = variable.substr(dot + 1);
    const bool is_number = !member.empty() && member.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number && member != "llvm") return std::string(LastPart(PlainName(member)));
    variable = variable.substr(0, dot);
  }
}

bool IsOwnCode(const Frame& frame) {
  if (IsOfLibrary(frame.function)) return false;
  const std::string_view module = std::string_view(frame.module).substr(frame.module.rfind('/') + 1);
  const auto is_in = [&](std::string_view prefix) { return module.starts_with(prefix); };
  if (std::any_of(kSystemModules.begin(), kSystemModules.end(), is_in)) return false;
  // A library of the system that comes with its source may well be what somebody works on.
  const auto is_from = [&](std::string_view folder) { return frame.file.empty() && frame.module.starts_with(folder); };
  if (std::any_of(kSystemModuleFolders.begin(), kSystemModuleFolders.end(), is_from)) return false;
  const auto is_below = [&](std::string_view folder) { return frame.file.find(folder) != std::string::npos; };
  if (std::any_of(kSystemFolders.begin(), kSystemFolders.end(), is_below)) return false;
  return !frame.file.empty() || !module.empty();
}

const Frame* InnermostOwn(const std::vector<Frame>& stack) {
  if (stack.empty()) return nullptr;
  const auto found = std::find_if(stack.begin(), stack.end(), IsOwnCode);
  return found == stack.end() ? &stack.front() : &*found;
}

}  // namespace redflag
