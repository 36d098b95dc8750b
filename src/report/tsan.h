// A report as ThreadSanitizer prints it, for scripts and dashboards that read its reports. What they look for is there, word for word; what
// ThreadSanitizer does not know is left out, and a mutex whose making was not seen has the place where it was taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/race_report.h"

namespace redflag {

std::string RenderTsan(const RaceReport& report);

// Of something that is no race: its title; where it happened (access.stack), where the lock was taken and made (access.locks, block) and
// whose creation is told (threads), as far as they are there.
std::string RenderTsanMisuse(std::string_view title, const RaceReport& report);

// What it prints at the end of a program with so many reports; empty for none.
std::string TsanSummary(uint64_t reports);

}  // namespace redflag
