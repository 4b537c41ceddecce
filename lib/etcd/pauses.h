// SPDX-License-Identifier: BSD-3-Clause
//
// Time limits for etcd requests, and pauses between attempts while etcd is unreachable.
#pragma once

#include <chrono>

namespace sluice::etcd {

inline constexpr int kAnswerTimeoutS = 5;  ///< For requests other than a watch.
/// Shortest and longest pause between attempts (base::Backoff).
inline constexpr std::chrono::milliseconds kShortestPause{100}, kLongestPause{5000};

}  // namespace sluice::etcd
