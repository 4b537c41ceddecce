// SPDX-License-Identifier: BSD-3-Clause
//
// Ways in which a core can wait for another core to store a word. They are needed because a load
// from ordinary memory does not wait for a NIC's answer. Either an instruction sleeps until another
// core invalidates the word's line (umwait of WAITPKG, mwaitx of MONITORX), or the core polls.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cpu/clock.h"

namespace sluice::coherent {

enum class WaitMethod : uint8_t {
  kUmwait,    ///< umonitor, umwait: Intel since Tremont and Alder Lake.
  kMonitorx,  ///< monitorx, mwaitx: AMD since Excavator.
  kPause,     ///< Polls with the pause instruction; works on any processor.
};

/// Returns whether this processor supports the method and the operating system permits it.
bool CanWaitBy(WaitMethod method);
/// Returns the first method of the enumeration that is supported. Each call queries the processor.
WaitMethod BestWaitMethod();
/// Return and parse "umwait", "monitorx" or "pause", for flags and reports.
std::string_view Name(WaitMethod method);
std::optional<WaitMethod> WaitMethodOf(std::string_view name);

/// Waits until `word` differs from `seen` or until cpu::Cycles() reaches `deadline`. Spurious
/// returns are possible, so the caller must check again. With kPause, executes one pause
/// instruction. CanWaitBy(method) must be true.
void SleepOn(WaitMethod method, const uint64_t& word, uint64_t seen, uint64_t deadline);
inline void WaitOn(WaitMethod method, const uint64_t& word, uint64_t seen, uint64_t deadline) {
  if (method != WaitMethod::kPause) return SleepOn(method, word, seen, deadline);
  cpu::Pause();
}

}  // namespace sluice::coherent
