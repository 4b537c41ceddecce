// SPDX-License-Identifier: BSD-3-Clause
#include "coherent/wait.h"

#include <array>
#include <utility>

#include "bar/load_once.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace sluice::coherent {
namespace {

constexpr auto kNames =
    std::to_array<std::pair<WaitMethod, std::string_view>>({{WaitMethod::kUmwait, "umwait"},
                                                            {WaitMethod::kMonitorx, "monitorx"},
                                                            {WaitMethod::kPause, "pause"}});

#ifdef __x86_64__

// CPUID leaf 7, ECX bit 5: WAITPKG (Intel SDM volume 2). Leaf 0x80000001, ECX bit 29: MONITORX (AMD
// APM volume 3).
bool Supports(uint32_t leaf, int bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> bit & 1) != 0;
}

// Loads the word again after arming the monitor, so that a store between the two is not missed.
__attribute__((target("waitpkg"))) void Umwait(const uint64_t& word, uint64_t seen,
                                               uint64_t deadline) {
  _umonitor(const_cast<uint64_t*>(&word));
  if (bar::LoadOnce(word) == seen) _umwait(/*C0.1, which wakes faster*/ 1, deadline);
}
__attribute__((target("mwaitx"))) void Monitorx(const uint64_t& word, uint64_t seen,
                                                uint64_t deadline) {
  const uint64_t now = cpu::Cycles();
  if (now >= deadline) return;
  const uint64_t cycles = deadline - now;
  const auto timeout = static_cast<uint32_t>(cycles > ~uint32_t{0} ? ~uint32_t{0} : cycles);
  _mm_monitorx(const_cast<uint64_t*>(&word), 0, 0);
  // Extension bit 1 enables the timeout. Hint 0xf0: C0, the fastest wake-up.
  if (bar::LoadOnce(word) == seen) _mm_mwaitx(2, 0xf0, timeout);
}

#endif

}  // namespace

bool CanWaitBy(WaitMethod method) {
  switch (method) {
#ifdef __x86_64__
    case WaitMethod::kUmwait:
      return Supports(7, 5);
    case WaitMethod::kMonitorx:
      return Supports(0x8000'0001, 29);
#endif
    case WaitMethod::kPause:
      return true;
    default:
      return false;
  }
}

WaitMethod BestWaitMethod() {
  for (const auto& [method, name] : kNames) {
    if (CanWaitBy(method)) return method;
  }
  return WaitMethod::kPause;
}

std::string_view Name(WaitMethod method) {
  for (const auto& [known, name] : kNames) {
    if (known == method) return name;
  }
  return {};
}

std::optional<WaitMethod> WaitMethodOf(std::string_view name) {
  for (const auto& [method, known] : kNames) {
    if (known == name) return method;
  }
  return std::nullopt;
}

void SleepOn([[maybe_unused]] WaitMethod method, [[maybe_unused]] const uint64_t& word,
             [[maybe_unused]] uint64_t seen, [[maybe_unused]] uint64_t deadline) {
#ifdef __x86_64__
  if (method == WaitMethod::kUmwait) return Umwait(word, seen, deadline);
  if (method == WaitMethod::kMonitorx) return Monitorx(word, seen, deadline);
#endif
}

}  // namespace sluice::coherent
