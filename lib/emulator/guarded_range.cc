// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/guarded_range.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace sluice::emulator {
namespace {

/// Read by the signal handler. `end` is 0 while the slot is free; stored last and
/// cleared first.
struct Slot {
  std::atomic<uint64_t> begin{0};
  std::atomic<uint64_t> end{0};
};
std::array<Slot, 1024> slots;
std::mutex slots_mutex;  ///< Orders writers.

/// Page sizes of files of memory: a mapping of huge pages cannot be replaced in part.
constexpr uint64_t kPages[] = {uint64_t{1} << 12, uint64_t{1} << 21, uint64_t{1} << 30};

/// Only calls that a signal handler may make.
void OnBusError(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  for (const Slot& slot : slots) {
    const uint64_t end = slot.end.load(std::memory_order_acquire);
    if (address >= end || address < slot.begin.load(std::memory_order_relaxed)) continue;
    for (const uint64_t page : kPages) {
      void* const at = reinterpret_cast<void*>(address & ~(page - 1));
      if (mmap(at, page, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED) {
        return;
      }
    }
  }
  signal(SIGBUS, SIG_DFL);  // Not ours: happens again, with the usual end.
}

void Install() {
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

GuardedRange::GuardedRange(void* begin, size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, Install);
  const std::scoped_lock lock(slots_mutex);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].end.load(std::memory_order_relaxed) != 0) continue;
    const auto first = reinterpret_cast<uint64_t>(begin);
    slots[i].begin.store(first, std::memory_order_relaxed);
    slots[i].end.store(first + bytes, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

GuardedRange::GuardedRange(GuardedRange&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

GuardedRange::~GuardedRange() {
  if (slot_ < 0) return;
  const std::scoped_lock lock(slots_mutex);
  slots[static_cast<size_t>(slot_)].end.store(0, std::memory_order_release);
}

}  // namespace sluice::emulator
