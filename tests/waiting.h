// SPDX-License-Identifier: BSD-3-Clause
//
// Waits for conditions that another thread or process makes true, and provides a socket path for
// both sides.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace sluice {

/// Time in seconds that a test waits for an expected event. It is long because the machine may be
/// loaded.
inline constexpr uint64_t kPatienceS = 60;

/// Checks `condition` every millisecond. Returns true as soon as it holds, and false after
/// kPatienceS.
template <typename Condition>
bool Eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Returns a path that no other process uses.
inline std::string TestSocket() {
  const char* const folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/sluice-test-" +
         std::to_string(getpid()) + ".sock";
}

}  // namespace sluice
