// Subcommands of `redflag`: one file each, with its own help text. A command adds itself to the parser and
// returns the function that runs it once the command line has been understood.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace redflag::cli {

// Exit codes, the same for every command.
inline constexpr int kOk = 0;
inline constexpr int kMismatch = 1;    // --check, --verify: a detector did not do what the trace expects
inline constexpr int kNotWorking = 1;  // doctor: programs cannot be checked here
inline constexpr int kBadInput = 2;    // command line, unreadable or malformed input
inline constexpr int kRaces = 66;      // races were found (the code that ThreadSanitizer uses)

using Run = std::function<int()>;

Run AddAnalyze(CLI::App& app);
Run AddMerge(CLI::App& app);
Run AddReport(CLI::App& app);
Run AddConvert(CLI::App& app);
Run AddList(CLI::App& app);
Run AddCc(CLI::App& app);
Run AddCxx(CLI::App& app);
Run AddRun(CLI::App& app);
Run AddRecord(CLI::App& app);
Run AddDoctor(CLI::App& app);
Run AddHelp(CLI::App& app);
#ifdef REDFLAG_COLLECT  // left out of cross builds
Run AddCollect(CLI::App& app);
Run AddSample(CLI::App& app);
Run AddAttach(CLI::App& app);
Run AddSuppress(CLI::App& app);
Run AddMark(CLI::App& app);
Run AddSymbolize(CLI::App& app);
#endif

}  // namespace redflag::cli
