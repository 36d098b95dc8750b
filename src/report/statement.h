// One statement of C or C++ as it stands in the source, taken apart far enough to say what it does to a variable. No parser: words and
// signs only, so that what it says is a good guess from one to a few lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/source.h"

namespace redflag {

class Statement {
 public:
  // An object or a part of one, as it is written: `stats.hits` and `stats->hits` are {"stats", "hits"}.
  using Path = std::vector<std::string>;

  struct Write {
    Path path;
    std::string sign;           // "=", "+=", "++", ...
    std::string value;          // what stands behind the sign, words and signs apart; empty for ++ and --
    bool declares = false;      // a new variable: `int x = 1`
    bool dereferences = false;  // `*p = 1`
  };

  // The statement that the line is part of. Empty if there is no such line.
  static Statement At(const std::vector<std::string>& lines, uint32_t line);
  static Statement Of(std::string_view text);

  bool empty() const { return tokens_.empty(); }
  const std::vector<Write>& writes() const { return writes_; }
  // All paths, written ones too.
  const std::vector<Path>& paths() const { return paths_; }

  // Does a path end in the name?
  bool Mentions(std::string_view name) const;
  // The name is part of the condition of an `if`, or of a `?`.
  bool Checks(std::string_view name) const;
  // The name is part of the condition of a loop.
  bool LoopsOn(std::string_view name) const;
  // What the name is masked with, in the text `name & MASK`; empty: it is not.
  std::string MaskOf(std::string_view name) const;
  bool Dereferences(std::string_view name) const;

 private:
  void Parse();
  size_t PathAt(size_t token, Path& path) const;
  bool InParenthesesOf(std::string_view keyword, std::string_view name) const;

  std::vector<std::string> tokens_;
  std::vector<Path> paths_;
  std::vector<size_t> path_ends_;  // the token behind each path
  std::vector<Write> writes_;
};

// Does the file decrease the variable anywhere: `--x`, `x--`, `x -= n`?
bool Decreases(const std::vector<std::string>& lines, std::string_view name);

// Does it declare it as a bit-field: `x : 3`?
bool DeclaresBitField(const std::vector<std::string>& lines, std::string_view name);

}  // namespace redflag
