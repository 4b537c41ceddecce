// SPDX-License-Identifier: BSD-3-Clause
//
// Time limits of requests to etcd, and pauses between attempts while it is unreachable.
#pragma once

#include <chrono>

namespace sluice::etcd {

inline constexpr int kAnswerTimeoutS = 5;  ///< For requests other than a watch.
/// Limits of the pauses between attempts (base::Backoff).
inline constexpr std::chrono::milliseconds kShortestPause{100}, kLongestPause{5000};

}  // namespace sluice::etcd
