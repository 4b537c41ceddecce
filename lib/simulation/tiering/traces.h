// SPDX-License-Identifier: BSD-3-Clause
//
// Accesses to pages over time: by Zipf's law with a hot set that moves, or recorded from a program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::simulation {

/// `times` accesses to one page, one after the other.
struct Access {
  uint32_t page = 0;
  uint32_t times = 1;
};

/// Fills in the accesses of the next tick (engine::tiering::kTickNanoseconds). False: the trace is
/// over.
using AccessSource = std::function<bool(std::vector<Access>&)>;

struct ZipfTrace {
  uint32_t pages = 16384;
  double exponent = 0.99;  ///< YCSB's.
  double accesses_per_second = 25'000;
  double seconds = 600;
  /// Pages of neighbouring ranks lie next to each other, so many at a time; else anywhere.
  uint32_t cluster_pages = 64;
  /// So many times a minute one of the hottest eighth of clusters changes places with any other.
  double moves_per_minute = 2;
  uint64_t seed = 1;
};
AccessSource MakeZipfSource(const ZipfTrace& trace);

/// A file of little-endian 32-bit words: kTraceMagic, number of pages, then page and times of each
/// access. The accesses are spread evenly over `seconds`.
inline constexpr uint32_t kTraceMagic = 0x65636172;  // "race"
struct RecordedTrace {
  AccessSource source;  ///< Empty: no such file, or none that can be played.
  uint32_t pages = 0;
  uint64_t accesses = 0;
  std::string error;
};
RecordedTrace OpenTrace(const std::string& path, double seconds);

/// What other placements would make of the same accesses.
class Baselines {
 public:
  Baselines(uint32_t pages, uint32_t fast_pages);

  void Play(const std::vector<Access>& accesses);
  /// Accesses before do not count; the LRU list stays.
  void StartMeasuring();

  /// Share of accesses that find their page among the `fast_pages` that were accessed last: every
  /// miss moves a page, at once and for nothing.
  double LruShare() const;
  /// What the best pages make that never move, chosen by who knows the whole trace.
  double OracleShare() const;

 private:
  void Unlink(uint32_t page);
  void PushFront(uint32_t page);

  // A list of what is in the fast tier, from newest to oldest; entry `pages` is both its ends.
  struct Link {
    uint32_t previous = 0, next = 0;
    bool in = false;
  };
  std::vector<Link> links_;
  std::vector<uint64_t> totals_;
  uint32_t fast_pages_;
  uint32_t used_ = 0;
  uint64_t hits_ = 0;
  uint64_t accesses_ = 0;
};

}  // namespace sluice::simulation
