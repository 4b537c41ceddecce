// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/guarded_range.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

namespace sluice::emulator {
namespace {

/// A guarded range, read by the signal handler. `end` is 0 while the slot is free or is being
/// changed.
struct Slot {
  std::atomic<uint64_t> begin{0};
  std::atomic<uint64_t> end{0};
  std::atomic<int> alarm{-1};
  std::atomic<bool> whole{false};
};
/// The number of slots exceeds the number of ranges in a DmaSpace, because one host may need a slot
/// for each range.
std::array<Slot, 16384> slots;
std::mutex slots_mutex;  ///< Serializes writers.

struct sigaction previous;

bool BlankPages(uint64_t begin, uint64_t end) {
  return mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/// Replaces memory with zeroed pages: all of [begin, end) if `whole` is set and this is possible,
/// otherwise only the page of `address`, limited to [begin, end). Returns false on failure.
bool Blank(uint64_t address, uint64_t begin, uint64_t end, bool whole) {
  if (whole && BlankPages(begin, end)) return true;
  // A mapping of huge pages cannot be replaced in part, and replacing many small parts may exceed
  // the limit on mappings.
  for (const uint64_t page : {uint64_t{1} << 12, uint64_t{1} << 21, uint64_t{1} << 30}) {
    const uint64_t first = address & ~(page - 1);
    if (BlankPages(std::max(first, begin), std::min(first + page, end))) return true;
  }
  return false;
}

/// Returns whether the address was guarded. If so, it now reads as zeros.
bool Replace(uint64_t address) {
  bool replaced = false;
  for (const Slot& slot : slots) {
    const uint64_t end = slot.end.load();
    const uint64_t begin = slot.begin.load();
    const int alarm = slot.alarm.load();
    const bool whole = slot.whole.load();
    if (address >= end || address < begin || slot.end.load() != end) continue;
    replaced = replaced || Blank(address, begin, end, whole);
    const uint64_t one = 1;
    if (write(alarm, &one, sizeof(one)) < 0) continue;  // The alarm has already been triggered.
  }
  return replaced;
}

void HandOn(int signal_number, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;  // True if a process sent the signal, false if an access
                                         // caused it.
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal_number, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal_number);
  } else if (previous.sa_handler == SIG_DFL || !sent) {
    signal(signal_number, SIG_DFL);
    if (sent)
      raise(signal_number);  // Otherwise the access is repeated and raises the signal
                             // again.
  }
}

/// Uses only async-signal-safe calls.
void OnBusError(int signal_number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool ours =
      info->si_code == BUS_ADRERR && Replace(reinterpret_cast<uint64_t>(info->si_addr));
  errno = saved_errno;
  if (!ours) HandOn(signal_number, info, context);
}

void Install() {
  sigaction(SIGBUS, nullptr, &previous);
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_mask = previous.sa_mask;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

LossAlarm::LossAlarm() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

LossAlarm::~LossAlarm() {
  if (fd_ >= 0) close(fd_);
}

bool LossAlarm::Rung() const {
  pollfd rung = {fd_, POLLIN, 0};
  return fd_ >= 0 && poll(&rung, 1, 0) > 0;
}

GuardedRange::GuardedRange(void* begin, size_t bytes, Loss loss, const LossAlarm& alarm) {
  static std::once_flag installed;
  std::call_once(installed, Install);
  if (!alarm || bytes == 0) return;
  const std::scoped_lock lock(slots_mutex);
  const auto free = std::find_if(slots.begin(), slots.end(),
                                 [](const Slot& slot) { return slot.end.load() == 0; });
  if (free == slots.end()) return;
  const auto first = reinterpret_cast<uint64_t>(begin);
  free->begin.store(first);
  free->alarm.store(alarm.fd());
  free->whole.store(loss == Loss::kRange);
  free->end.store(first + bytes);
  slot_ = static_cast<int>(free - slots.begin());
}

GuardedRange::GuardedRange(GuardedRange&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

GuardedRange& GuardedRange::operator=(GuardedRange&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

GuardedRange::~GuardedRange() {
  if (slot_ < 0) return;
  const std::scoped_lock lock(slots_mutex);
  slots[static_cast<size_t>(slot_)].end.store(0);
}

}  // namespace sluice::emulator
