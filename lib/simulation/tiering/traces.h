// SPDX-License-Identifier: BSD-3-Clause
//
// Accesses to pages over time: by Zipf's law with a moving hot set, or recorded from a program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::simulation {

/// `times` consecutive accesses to one page.
struct Access {
  uint32_t page = 0;
  uint32_t times = 1;
};

/// Fills in the accesses of the next tick (tiering::kTickNanoseconds). Returns false at the
/// end of the trace.
using AccessSource = std::function<bool(std::vector<Access>&)>;

struct ZipfTrace {
  uint32_t pages = 16384;
  double exponent = 0.99;  ///< Exponent of Zipf's law; the default is YCSB's.
  double accesses_per_second = 25'000;
  double seconds = 600;
  /// Number of consecutive ranks whose pages are adjacent. The clusters themselves are placed at
  /// random.
  uint32_t cluster_pages = 64;
  /// Number of times per minute that a cluster of the hottest eighth swaps places with a random
  /// cluster.
  double moves_per_minute = 2;
  uint64_t seed = 1;
};
AccessSource MakeZipfSource(const ZipfTrace& trace);

/// A file of little-endian 32-bit words: kTraceMagic, the number of pages, then `page` and `times`
/// of each access. The accesses are spread evenly over `seconds`.
inline constexpr uint32_t kTraceMagic = 0x65636172;  // "race"
struct RecordedTrace {
  AccessSource source;  ///< Empty if the file is missing or invalid.
  uint32_t pages = 0;
  uint64_t accesses = 0;
  std::string error;
};
RecordedTrace OpenTrace(const std::string& path, double seconds);

/// Computes, for the same accesses, the fraction in the fast tier under each of two other
/// placements: LRU, and the best fixed set.
class Baselines {
 public:
  Baselines(uint32_t pages, uint32_t fast_pages);

  void Play(const std::vector<Access>& accesses);
  /// Resets the counts of accesses; the LRU list does not change.
  void StartMeasuring();

  /// Returns the fraction of accesses to the `fast_pages` most recently accessed pages. Every miss
  /// moves the page into the fast tier immediately and at no cost.
  double LruShare() const;
  /// Returns the fraction of accesses to the best fixed set of pages, chosen with knowledge of the
  /// whole trace.
  double OracleShare() const;

 private:
  void Unlink(uint32_t page);
  void PushFront(uint32_t page);

  // A list of the pages in the fast tier, from newest to oldest; entry `pages` is the head and tail
  // sentinel.
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
