// SPDX-License-Identifier: BSD-3-Clause
//
// How long etcd is waited for, and what lies between two attempts while it is away.
#pragma once

#include <chrono>

namespace sluice::etcd {

inline constexpr int kAnswerTimeoutS = 5;  ///< Of a request that is not a watch.
/// Each pause is twice as long as the one before.
inline constexpr std::chrono::milliseconds kShortestPause{100}, kLongestPause{5000};

}  // namespace sluice::etcd
