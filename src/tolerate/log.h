// What the library says by itself, in a process that the runtime of Redflag does not watch: text on standard error, and lines of JSON in a file
// (docs/json.md) that `redflag report` reads. Any thread.
#pragma once

#include <cstdint>
#include <redflag/tolerate/section.hpp>
#include <string>

namespace redflag::tolerate {

// In one piece, to standard error.
void Print(const std::string& text);

// "cache.cc:12".
std::string PlaceTitle(const char* file, int line);
std::string TitleOf(const detection& found);

void PrintSummary(const std::string& title, const counters& counted);

// No more often than a few times at once, and then once a second; how many were left out is said with the next.
void Log(const detection& found, bool is_limited);

}  // namespace redflag::tolerate
