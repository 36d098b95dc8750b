#include "sample/breakpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "events/sample_machine.h"
#include "events/sample_rules.h"

namespace redflag {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSpare = 1u << 16;  // for what is loaded later

uint32_t Milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint32_t>(static_cast<uint64_t>(time.tv_sec) * 1000 +
                               static_cast<uint64_t>(time.tv_nsec) / 1'000'000);
}

uint64_t Aligned(uint64_t size) { return (size + kPage - 1) & ~(kPage - 1); }

template <class T>
std::atomic_ref<T> Atomic(T& word) {
  return std::atomic_ref<T>(word);
}

}  // namespace

Breakpoints::Breakpoints() : fd_(memfd_create("redflag-sample", MFD_CLOEXEC)) {
  if (fd_ < 0 || ftruncate(fd_, sizeof(SamplePage)) != 0) return;
  void* at = mmap(nullptr, sizeof(SamplePage), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) return;
  page_ = static_cast<SamplePage*>(at);
  mapped_ = sizeof(SamplePage);
  page_->magic = SamplePage::kMagic;
  page_->own_fd = static_cast<uint32_t>(fd_);
}

Breakpoints::~Breakpoints() {
  if (page_ != nullptr) munmap(page_, mapped_);
  if (fd_ >= 0) close(fd_);
  if (memory_ >= 0) close(memory_);
}

std::string Breakpoints::Open(pid_t pid, size_t sites) {
  memory_ = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC);
  if (memory_ < 0) return fmt::format("its memory may not be written: {}", std::strerror(errno));
  const size_t capacity = sites + sites / 4 + kSpare;
  const uint64_t sites_at = Aligned(sizeof(SamplePage));
  const uint64_t states_at = sites_at + Aligned(capacity * sizeof(SampleSite));
  const uint64_t armed_at = states_at + Aligned(capacity);
  const uint64_t bytes = armed_at + Aligned(capacity * sizeof(uint32_t));
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return "there is no memory for its tables";
  void* at = mremap(page_, mapped_, bytes, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) return "there is no memory for its tables";
  page_ = static_cast<SamplePage*>(at);
  mapped_ = bytes;
  page_->sites_offset = sites_at;
  page_->states_offset = states_at;
  page_->armed_offset = armed_at;
  page_->site_capacity = static_cast<uint32_t>(capacity);
  page_->tables_bytes = bytes;
  return "";
}

SampleSite* Breakpoints::Sites() const { return sampling::SitesOf(page_); }
uint8_t* Breakpoints::States() const { return sampling::StatesOf(page_); }
uint32_t* Breakpoints::ArmedAt() const { return sampling::ArmedOf(page_); }

const SampleSite* Breakpoints::SiteAt(uint32_t index) const { return index < count_ ? &Sites()[index] : nullptr; }

size_t Breakpoints::AddModule(const MappedFile& mapped, const CodeFile& file, const std::vector<Site>& sites,
                              const std::vector<bool>& focus) {
  const uint32_t module = page_->module_count;
  if (module == SamplePage::kModules) return 0;
  const size_t first = count_;
  std::vector<std::byte> code(mapped.code_end - mapped.code_begin);
  const ssize_t got = pread(memory_, code.data(), code.size(), static_cast<off_t>(mapped.code_begin));
  const size_t there = got < 0 ? 0 : static_cast<size_t>(got);
  for (size_t i = 0; i < sites.size() && count_ < page_->site_capacity; ++i) {
    const Site& site = sites[i];
    const uint64_t address = site.address + mapped.bias;
    const std::span<const std::byte> original = file.At(site.address);
    const size_t length = site.access.length;
    if (address < mapped.code_begin || address - mapped.code_begin + length > there || original.size() < length)
      continue;
    std::byte* now = code.data() + (address - mapped.code_begin);
    // A process that was forked has inherited breakpoints.
    if (std::memcmp(now, kBreakpoint, sizeof kBreakpoint) == 0) {
      pwrite(memory_, original.data(), sizeof kBreakpoint, static_cast<off_t>(address));
      std::memcpy(now, original.data(), sizeof kBreakpoint);
    }
    if (std::memcmp(now, original.data(), length) != 0) continue;
    SampleSite& to = Sites()[count_];
    to = {.address = address, .access = site.access, .original = {}};
    std::memcpy(to.original, original.data(), std::min(sizeof to.original, length));
    is_focus_.push_back(i < focus.size() && focus[i]);
    is_idle_.push_back(true);
    is_banned_.push_back(false);
    is_first_.push_back(false);
    IdleOf(static_cast<uint32_t>(count_)).fresh.push_back(static_cast<uint32_t>(count_));
    ++count_;
  }
  page_->modules[module] = {.begin = mapped.code_begin,
                            .end = mapped.code_end,
                            .first_site = static_cast<uint32_t>(first),
                            .count = static_cast<uint32_t>(count_ - first)};
  Atomic(page_->module_count).store(module + 1, std::memory_order_release);
  return count_ - first;
}

// The time and the state come first: the breakpoint may be met at once.
bool Breakpoints::Write(uint32_t index, bool breakpoint, bool never_met) {
  const SampleSite& site = Sites()[index];
  const auto at = static_cast<off_t>(site.address);
  uint8_t now[sizeof kBreakpoint];
  const void* expected = breakpoint ? static_cast<const void*>(site.original) : kBreakpoint;
  if (pread(memory_, now, sizeof now, at) != sizeof now || std::memcmp(now, expected, sizeof now) != 0) return false;
  if (breakpoint) {
    ArmedAt()[index] = sampling::ArmedWord(Milliseconds(), never_met);
    Atomic(States()[index]).store(1, std::memory_order_release);
  }
  const void* bytes = breakpoint ? kBreakpoint : static_cast<const void*>(site.original);
  const bool done = pwrite(memory_, bytes, sizeof kBreakpoint, at) == sizeof kBreakpoint;
  if (!breakpoint || !done) Atomic(States()[index]).store(0, std::memory_order_release);
  return done;
}

// Page by page: nobody runs that could meet one in between.
void Breakpoints::WritePages(std::vector<uint32_t> sites) {
  std::sort(sites.begin(), sites.end());
  std::vector<std::byte> code(kPage);
  for (size_t i = 0; i < sites.size();) {
    const uint64_t begin = Sites()[sites[i]].address;
    size_t last = i;
    while (last + 1 < sites.size() && Sites()[sites[last + 1]].address - begin + sizeof kBreakpoint <= kPage &&
           Sites()[sites[last + 1]].address > begin) {
      ++last;
    }
    const size_t bytes = Sites()[sites[last]].address - begin + sizeof kBreakpoint;
    const bool readable = pread(memory_, code.data(), bytes, static_cast<off_t>(begin)) == static_cast<ssize_t>(bytes);
    for (size_t k = i; readable && k <= last; ++k) {
      std::memcpy(code.data() + (Sites()[sites[k]].address - begin), kBreakpoint, sizeof kBreakpoint);
      ArmedAt()[sites[k]] = sampling::ArmedWord(Milliseconds(), true);
      Atomic(States()[sites[k]]).store(1, std::memory_order_release);
    }
    if (readable) pwrite(memory_, code.data(), bytes, static_cast<off_t>(begin));
    i = last + 1;
  }
}

void Breakpoints::ArmFirst(uint64_t count, bool is_waiting) {
  std::vector<uint32_t> sites;
  for (uint32_t site = 0; sites.size() < count && (Pick(focus_.fresh, site) || Pick(others_.fresh, site));) {
    sites.push_back(site);
    is_first_[site] = true;
  }
  if (is_waiting) return WritePages(std::move(sites));
  for (const uint32_t site : sites) Write(site, true, true);
}

bool Breakpoints::Pick(std::vector<uint32_t>& from, uint32_t& picked) {
  if (from.empty()) return false;
  const size_t at = std::uniform_int_distribution<size_t>(0, from.size() - 1)(random_);
  picked = from[at];
  from[at] = from.back();
  from.pop_back();
  is_idle_[picked] = false;
  return true;
}

bool Breakpoints::Pick(Idle& from, uint32_t& picked) {
  const size_t all = from.met.size() + from.fresh.size();
  if (all == 0) return false;
  const bool is_met = std::uniform_int_distribution<size_t>(0, all - 1)(random_) < from.met.size();
  return Pick(is_met ? from.met : from.fresh, picked);
}

void Breakpoints::Hasten(uint32_t site) {
  if (site < count_) hastened_[site] = kHastened;
}

bool Breakpoints::TakeOut(std::vector<uint32_t>& from, uint32_t site) {
  const auto at = std::find(from.begin(), from.end(), site);
  if (at == from.end()) return false;
  *at = from.back();
  from.pop_back();
  return true;
}

// -> how many of the count are left.
uint64_t Breakpoints::RearmHastened(uint64_t count) {
  for (auto next = hastened_.begin(); next != hastened_.end() && count != 0;) {
    auto& [site, left] = *next;
    if (is_idle_[site] && TakeOut(IdleOf(site).met, site)) {
      is_idle_[site] = false;
      if (!is_banned_[site]) Write(site, true);
      --left;
      --count;
    }
    next = left == 0 ? hastened_.erase(next) : std::next(next);
  }
  return count;
}

void Breakpoints::Rearm(uint64_t count) {
  count = RearmHastened(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t index = 0;
    const bool prefer_focus = (random_() & 1) != 0;
    if (!Pick(prefer_focus ? focus_ : others_, index) && !Pick(prefer_focus ? others_ : focus_, index)) return;
    if (!is_banned_[index]) Write(index, true);
  }
}

void Breakpoints::DisarmAll() {
  for (uint32_t i = 0; i < count_; ++i) Write(i, false);
}

Breakpoints::Fired Breakpoints::TakeFired() {
  Fired fired;
  const uint32_t head = Atomic(page_->fired_head).load(std::memory_order_acquire);
  const auto note = [&](uint32_t index) {
    if (index >= count_ || is_idle_[index] || is_banned_[index]) return;
    fired.first += is_first_[index] ? 1 : 0;
    is_first_[index] = false;
    is_idle_[index] = true;
    IdleOf(index).met.push_back(index);
  };
  if (head - tail_ > SamplePage::kFiredRing) {  // it has overrun: the states tell
    fired.all = head - tail_;
    for (uint32_t& entry : page_->fired) Atomic(entry).store(0, std::memory_order_relaxed);
    tail_ = head;
    for (uint32_t i = 0; i < count_; ++i) {
      if (Atomic(States()[i]).load(std::memory_order_acquire) == 0) note(i);
    }
    return fired;
  }
  for (; tail_ != head; ++tail_) {
    uint32_t& entry = page_->fired[tail_ % SamplePage::kFiredRing];
    const uint32_t index = Atomic(entry).exchange(0, std::memory_order_acquire);
    if (index == 0) break;  // it is being written
    note(index - 1);
    ++fired.all;
  }
  return fired;
}

void Breakpoints::Ban(uint32_t site) {
  if (site >= count_) return;
  is_banned_[site] = true;
  Write(site, false);
}

size_t Breakpoints::armed() const {
  size_t armed = 0;
  for (uint32_t i = 0; i < count_; ++i) armed += Atomic(States()[i]).load(std::memory_order_relaxed);
  return armed;
}

}  // namespace redflag
