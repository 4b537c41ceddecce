// SPDX-License-Identifier: BSD-3-Clause
//
// Conditions that another thread or process makes true, and a socket to meet it at.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace sluice {

/// How long a test waits for what must come: a loaded machine may take long.
inline constexpr uint64_t kPatienceS = 60;

/// Looks at `condition` every millisecond. True as soon as it is; false after a generous while.
template <typename Condition>
bool Eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(kPatienceS);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// A path that no other process uses.
inline std::string TestSocket() {
  const char* const folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/sluice-test-" +
         std::to_string(getpid()) + ".sock";
}

}  // namespace sluice
