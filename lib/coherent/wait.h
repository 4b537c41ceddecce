// SPDX-License-Identifier: BSD-3-Clause
//
// How a core waits until another one stores to a word, since no load stalls here: by an instruction
// that sleeps until the word's line is taken away (umwait of WAITPKG, mwaitx of MONITORX), or by
// looking again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cpu/clock.h"

namespace sluice::coherent {

enum class WaitMethod : uint8_t {
  kUmwait,    ///< umonitor, umwait: Intel since Tremont and Alder Lake.
  kMonitorx,  ///< monitorx, mwaitx: AMD since Zen.
  kPause,     ///< Every processor.
};

/// Whether this processor has it, and the operating system lets a process use it.
bool CanWaitBy(WaitMethod method);
/// The first of the list that it can. Asks the processor each time.
WaitMethod BestWaitMethod();
/// "umwait", "monitorx" or "pause", for flags and reports.
std::string_view Name(WaitMethod method);
std::optional<WaitMethod> WaitMethodOf(std::string_view name);

/// Waits until `word` is not `seen` any more, until cpu::Cycles() is `deadline`, or for any reason:
/// the caller looks again. kPause: one pause. Only a method that CanWaitBy().
void SleepOn(WaitMethod method, const uint64_t& word, uint64_t seen, uint64_t deadline);
inline void WaitOn(WaitMethod method, const uint64_t& word, uint64_t seen, uint64_t deadline) {
  if (method != WaitMethod::kPause) return SleepOn(method, word, seen, deadline);
  cpu::Pause();
}

}  // namespace sluice::coherent
