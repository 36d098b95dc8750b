// redflag convert: text traces to binary ones and back.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/traces.h"
#include "trace/binary_convert.h"
#include "trace/replacement.h"
#include "trace/text_writer.h"

namespace redflag::cli {
namespace {

struct Options {
  std::string from;
  std::string to;
  std::string form;
  bool partial = false;
};

constexpr const char* kFooter =
    R"(IN is a text or a binary trace, which is found out from what is in it; OUT becomes the other one. `-` is standard input or output,
for text. OUT is there as a whole or not at all. docs/trace-format.md describes both forms.

A binary trace that was made from text gives back that text, in the spelling of the writer. One that was recorded becomes text as far
as a text trace can say it: what was replaced or left out is counted on standard error.

Examples:
  redflag convert app.trace app.rft                 smaller, and quicker to read
  redflag convert app.rft -                         to look at
  redflag convert --partial app.rft part.trace      what there is of a recording that broke off)";

// What went wrong, in words; empty: nothing.
template <class Write>
std::string WriteText(const std::string& path, Write write) {
  if (path == "-") {
    std::string problem = write(std::cout);
    std::cout.flush();
    if (problem.empty() && !std::cout) return "cannot write to standard output";
    return problem;
  }
  Replacement file(path);
  if (file.fd() < 0) return fmt::format("cannot write {}: {}", path, std::strerror(errno));
  close(file.fd());
  std::ofstream out(file.temporary(), std::ios::binary);
  std::string problem = write(out);
  if (!problem.empty()) return problem;
  out.close();
  if (!out || !file.Keep()) return fmt::format("cannot write {}: {}", path, std::strerror(errno));
  return {};
}

std::string WriteBinary(const std::string& path, const Trace& trace) {
  if (path == "-") return "a binary trace is not written to standard output: name a file";
  Replacement file(path);
  if (file.fd() < 0) return fmt::format("cannot write {}: {}", path, std::strerror(errno));
  auto created = BinaryWriter::Create(file.fd());
  if (const auto* problem = std::get_if<std::string>(&created)) return fmt::format("{}: {}", path, *problem);
  const auto writer = std::get<std::unique_ptr<BinaryWriter>>(std::move(created));
  if (std::string problem = WriteBinaryTrace(trace, *writer); !problem.empty())
    return fmt::format("{}: {}", path, problem);
  if (!file.Keep()) return fmt::format("cannot write {}: {}", path, std::strerror(errno));
  return {};
}

std::string FromBinary(const Options& options) {
  if (options.form == "binary") return fmt::format("{} is a binary trace already", options.from);
  auto opened = BinaryTrace::Open(options.from, {.partial = options.partial});
  if (const auto* problem = std::get_if<std::string>(&opened)) return *problem;
  const BinaryTrace& trace = *std::get<std::unique_ptr<BinaryTrace>>(opened);
  std::vector<std::string> notes;
  std::string problem = WriteText(options.to, [&](std::ostream& out) { return WriteAsText(trace, out, notes); });
  if (!problem.empty()) return problem;
  if (!trace.left_out().empty()) notes.insert(notes.begin(), fmt::format("left out: {}", trace.left_out()));
  for (const std::string& note : notes) fmt::print(stderr, "redflag: {}: {}\n", options.from, note);
  return {};
}

std::string FromText(const Options& options) {
  const auto read = ReadText(options.from);
  if (const auto* problem = std::get_if<std::string>(&read)) return *problem;
  const Trace& trace = std::get<Trace>(read);
  if (options.form != "text") return WriteBinary(options.to, trace);
  return WriteText(options.to, [&](std::ostream& out) {
    WriteTextTrace(trace, out);
    return std::string();
  });
}

int RunConvert(const Options& options) {
  const bool binary = options.from != "-" && BinaryTrace::IsBinary(options.from);
  std::string problem = binary ? FromBinary(options) : FromText(options);
  if (problem.empty()) return kOk;
  PrintProblem(problem);
  return kBadInput;
}

}  // namespace

Run AddConvert(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "Text traces to binary ones and back");
  command->add_option("IN", options->from, "Trace to read, or - for text on standard input")->required();
  command->add_option("OUT", options->to, "Trace to write, or - for text on standard output")->required();
  command->add_option("--to", options->form, "What OUT is to be: text or binary; without it, what IN is not")
      ->check(CLI::IsMember({"text", "binary"}))
      ->type_name("FORM");
  command->add_flag("--partial", options->partial,
                    "Of a recording that breaks off or is damaged, take the part before that");
  command->footer(kFooter);
  return [options] { return RunConvert(*options); };
}

}  // namespace redflag::cli
