#include "report/printable.h"

#include <string>
#include <vector>

namespace redflag {
namespace {

void Clean(std::string& text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
}

void Clean(std::vector<std::string>& texts) {
  for (std::string& text : texts) Clean(text);
}

void Clean(std::vector<Frame>& stack) {
  for (Frame& frame : stack) {
    Clean(frame.function);
    Clean(frame.file);
    Clean(frame.module);
  }
}

void Clean(HeldLockInfo& lock) {
  Clean(lock.name);
  Clean(lock.taken_at);
  Clean(lock.made_at);
}

void Clean(AccessSite& site) {
  Clean(site.thread);
  Clean(site.stack);
  for (HeldLockInfo& lock : site.locks) Clean(lock);
}

void Clean(ThreadInfo& thread) {
  Clean(thread.name);
  Clean(thread.title);
  Clean(thread.creator);
  Clean(thread.created_at);
}

}  // namespace

MisuseReport Printable(MisuseReport report) {
  Clean(report.title);
  Clean(report.category);
  Clean(report.thread);
  Clean(report.where);
  Clean(report.mutex);
  Clean(report.on_stack_of);
  Clean(report.taken_at);
  Clean(report.made_at);
  for (WaiterInfo& waiter : report.cycle) {
    Clean(waiter.thread);
    Clean(waiter.held);
    Clean(waiter.wanted);
  }
  for (ThreadInfo& thread : report.threads) Clean(thread);
  Clean(report.command);
  return report;
}

RaceReport Printable(RaceReport report) {
  Clean(report.detector);
  Clean(report.variable);
  Clean(report.access);
  for (AccessSite& site : report.earlier) Clean(site);
  for (ThreadInfo& thread : report.threads) Clean(thread);
  Clean(report.why);
  Clean(report.evidence);
  Clean(report.confirmed_by);
  Clean(report.trace);
  if (report.block) {
    Clean(report.block->thread);
    Clean(report.block->allocated_at);
    Clean(report.block->module);
    Clean(report.block->function);
    Clean(report.block->declared_at);
  }
  Clean(report.command);
  Clean(report.notes);
  Clean(report.fingerprint);
  if (report.judgement) {
    Clean(report.judgement->pattern);
    Clean(report.judgement->suggestion);
    Clean(report.judgement->reasons);
  }
  return report;
}

}  // namespace redflag
