// Part files: the analysis of one shard of a trace, on its way to where the others are (`redflag merge`). JSON, versioned: only the version
// that wrote it reads it.
//
// Host side.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "offline/analysis.h"

namespace redflag {

struct Part {
  std::string version;   // of redflag
  std::string trace;     // its name
  std::string identity;  // of its content
  bool recorded = false;
  bool partial = false;  // see BinaryTrace::Options
  Shard shard;
  Analysis analysis;
};

// Writes all of it or nothing; what went wrong, in words; empty: nothing did.
std::string WritePart(const Part& part, const std::string& path);

// The part, or what is wrong with the file, in words.
std::variant<Part, std::string> ReadPart(const std::string& path);

// Are these all parts of one analysis? What is wrong, in words; empty: they are, and in order of their shards now.
std::string SortParts(std::vector<Part>& parts, const std::vector<std::string>& names);

}  // namespace redflag
