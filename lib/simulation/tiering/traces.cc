// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/tiering/traces.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>

#include "engine/workload/popularity.h"
#include "engine/workload/random.h"
#include "simulation/tiering/abi.h"

namespace sluice::simulation {

namespace {

using engine::workload::Popularity;
using engine::workload::Random;

constexpr double kTickSeconds = tiering::kTickNanoseconds * 1e-9;

class Zipf {
 public:
  explicit Zipf(const ZipfTrace& trace)
      : trace_(trace),
        popularity_(trace.pages, trace.exponent),
        random_(trace.seed),
        place_((trace.pages + trace.cluster_pages - 1) / trace.cluster_pages) {
    std::iota(place_.begin(), place_.end(), 0u);
    for (size_t i = place_.size(); i > 1; --i) std::swap(place_[i - 1], place_[random_.Below(i)]);
  }

  bool Next(std::vector<Access>& out) {
    out.clear();
    if (ticks_ * kTickSeconds >= trace_.seconds) return false;
    ++ticks_;
    due_moves_ += trace_.moves_per_minute * kTickSeconds / 60;
    for (; due_moves_ >= 1; due_moves_ -= 1) {
      const size_t hottest = std::max<size_t>(place_.size() / 8, 1);
      std::swap(place_[random_.Below(hottest)], place_[random_.Below(place_.size())]);
    }
    due_ += trace_.accesses_per_second * kTickSeconds;
    for (; due_ >= 1; due_ -= 1) out.push_back({.page = Draw()});
    return true;
  }

 private:
  uint32_t Draw() {
    const uint32_t cluster = trace_.cluster_pages;
    for (;;) {
      const auto rank = static_cast<uint32_t>(popularity_.Draw(random_));
      const uint32_t page = place_[rank / cluster] * cluster + rank % cluster;
      if (page < trace_.pages) return page;
    }
  }

  ZipfTrace trace_;
  Popularity popularity_;
  Random random_;
  std::vector<uint32_t> place_;  ///< Maps a cluster of ranks to a cluster of pages.
  uint64_t ticks_ = 0;
  double due_ = 0, due_moves_ = 0;
};

uint32_t Little(const char* bytes) {
  const auto* b = reinterpret_cast<const uint8_t*>(bytes);
  return b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

/// Plays a validated file.
class Recorded {
 public:
  Recorded(std::ifstream file, double per_tick) : file_(std::move(file)), per_tick_(per_tick) {}

  bool Next(std::vector<Access>& out) {
    out.clear();
    due_ += per_tick_;
    while (due_ >= 1) {
      if (rest_.times == 0 && !Read()) break;
      const auto now = static_cast<uint32_t>(std::min<double>(rest_.times, due_));
      out.push_back({rest_.page, now});
      rest_.times -= now;
      due_ -= now;
    }
    return !out.empty() || due_ < 1;
  }

 private:
  bool Read() {
    char bytes[8];
    if (!file_.read(bytes, sizeof bytes)) return false;
    rest_ = {Little(bytes), Little(bytes + 4)};
    return true;
  }

  std::ifstream file_;
  double per_tick_;
  double due_ = 0;
  Access rest_{0, 0};
};

}  // namespace

AccessSource MakeZipfSource(const ZipfTrace& trace) {
  return
      [zipf = std::make_shared<Zipf>(trace)](std::vector<Access>& out) { return zipf->Next(out); };
}

RecordedTrace OpenTrace(const std::string& path, double seconds) {
  RecordedTrace trace;
  std::ifstream file(path, std::ios::binary);
  char bytes[8];
  if (!file.read(bytes, sizeof bytes) || Little(bytes) != kTraceMagic) {
    trace.error = path + " cannot be read, or is not a trace";
    return trace;
  }
  trace.pages = Little(bytes + 4);
  if (trace.pages == 0 || trace.pages > tiering::kMaxPages || !(seconds > 0)) {
    trace.error = path + " has an invalid number of pages, or the duration is not above 0";
    return trace;
  }
  while (file.read(bytes, sizeof bytes)) {
    if (Little(bytes) >= trace.pages || Little(bytes + 4) == 0) {
      trace.error = path + " has a record with a page number out of range, or with no accesses";
      return trace;
    }
    trace.accesses += Little(bytes + 4);
  }
  if (file.gcount() != 0 || trace.accesses == 0) {
    trace.error = path + " is truncated, or has no records";
    return trace;
  }
  file.clear();
  file.seekg(sizeof bytes);
  const double per_tick = static_cast<double>(trace.accesses) / (seconds / kTickSeconds);
  trace.source = [player = std::make_shared<Recorded>(std::move(file), per_tick)](
                     std::vector<Access>& out) { return player->Next(out); };
  return trace;
}

// --- Baselines.

Baselines::Baselines(uint32_t pages, uint32_t fast_pages)
    : links_(size_t{pages} + 1), totals_(pages), fast_pages_(fast_pages) {
  links_[pages] = {pages, pages, true};
}

void Baselines::Unlink(uint32_t page) {
  links_[links_[page].previous].next = links_[page].next;
  links_[links_[page].next].previous = links_[page].previous;
  links_[page].in = false;
}

void Baselines::PushFront(uint32_t page) {
  const auto ends = static_cast<uint32_t>(totals_.size());
  links_[page] = {ends, links_[ends].next, true};
  links_[links_[ends].next].previous = page;
  links_[ends].next = page;
}

void Baselines::Play(const std::vector<Access>& accesses) {
  const auto ends = static_cast<uint32_t>(totals_.size());
  for (const Access& access : accesses) {
    totals_[access.page] += access.times;
    accesses_ += access.times;
    if (fast_pages_ == 0) continue;
    if (links_[access.page].in) {
      hits_ += access.times;
      Unlink(access.page);
    } else {
      hits_ += access.times - 1;
      if (used_ == fast_pages_) {
        Unlink(links_[ends].previous);
      } else {
        ++used_;
      }
    }
    PushFront(access.page);
  }
}

void Baselines::StartMeasuring() {
  hits_ = accesses_ = 0;
  std::fill(totals_.begin(), totals_.end(), 0);
}

double Baselines::LruShare() const {
  return accesses_ == 0 ? 0 : static_cast<double>(hits_) / static_cast<double>(accesses_);
}

double Baselines::OracleShare() const {
  std::vector<uint64_t> sorted = totals_;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto best = sorted.begin() + std::min<size_t>(fast_pages_, sorted.size());
  const uint64_t sum = std::accumulate(sorted.begin(), best, uint64_t{0});
  return accesses_ == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(accesses_);
}

}  // namespace sluice::simulation
