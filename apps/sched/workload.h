// SPDX-License-Identifier: BSD-3-Clause
//
// Client requests: an open loop with Poisson arrivals, as from many independent users. By default,
// 99.5% of the requests are short and 0.5% are long. They model the RocksDB key lookups and range
// scans with which Shinjuku and ghOSt were evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/workload/random.h"
#include "engine/workload/schedule.h"
#include "request.h"

namespace sluice::sched {

struct WorkloadOptions {
  double rate = 50'000;  ///< Requests per second.
  double short_us = 5;
  double long_us = 500;
  double long_share = 0.005;  ///< Fraction of all requests.
  double runaway_share = 0;   ///< Fraction of the long requests that have no safe points.
  uint64_t seed = 1;
};

/// Classes of short and long requests.
inline constexpr uint8_t kShortClass = 0;
inline constexpr uint8_t kLongClass = 1;

/// Returns the average number of processors that the requests occupy.
double Load(const WorkloadOptions& options);
/// Returns an error message, or an empty string.
std::string WhatIsWrong(const WorkloadOptions& options);

class Workload {
 public:
  Workload(const WorkloadOptions& options, uint64_t start_ns)
      : options_(options),
        schedule_(options.rate, engine::workload::Arrivals::kPoisson, start_ns, options.seed),
        random_(~options.seed) {}

  uint64_t due_ns() const { return schedule_.due_ns(); }
  /// Returns the due request, and advances to the next one. IDs start at 0.
  Request Pop() {
    Request request{.id = next_id_++};
    const bool is_long = random_.Unit() < options_.long_share;
    const bool runaway = is_long && random_.Unit() < options_.runaway_share;
    request.task_class = is_long ? kLongClass : kShortClass;
    request.service_ns =
        static_cast<uint32_t>((is_long ? options_.long_us : options_.short_us) * 1e3);
    request.flags = runaway ? kNoSafePoints : 0;
    schedule_.Advance();
    return request;
  }

 private:
  WorkloadOptions options_;
  engine::workload::Schedule schedule_;
  engine::workload::Random random_;
  uint64_t next_id_ = 0;
};

}  // namespace sluice::sched
