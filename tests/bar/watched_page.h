// SPDX-License-Identifier: BSD-3-Clause
//
// A memory page that counts accesses and changes a word after it was read. It acts as a
// deterministic hostile peer that exposes double fetches. Every access faults; the handler permits
// one instruction with x86's trap flag and then protects the page again. Linux on x86-64 only.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace sluice::test {

/// Watches one page-aligned page of the test. While the object exists, it counts accesses by the
/// address of their first byte. A process may have one object at a time.
class WatchedPage {
 public:
  static constexpr uint32_t kBytes = 4096;

  /// `page` points to the first byte of the page.
  explicit WatchedPage(void* page) : page_(static_cast<uint8_t*>(page)) {
    watched_ = this;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = OnFault;
    sigaction(SIGSEGV, &action, &old_fault_);
    action.sa_sigaction = OnStep;
    sigaction(SIGTRAP, &action, &old_step_);
    mprotect(page_, kBytes, PROT_NONE);
  }
  ~WatchedPage() {
    mprotect(page_, kBytes, PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &old_fault_, nullptr);
    sigaction(SIGTRAP, &old_step_, nullptr);
    watched_ = nullptr;
  }
  WatchedPage(const WatchedPage&) = delete;
  WatchedPage& operator=(const WatchedPage&) = delete;

  /// Replaces the word at byte `offset` with `value` after the first access that begins there.
  void ChangeAfterAccess(uint32_t offset, uint64_t value) {
    change_at_ = offset;
    change_to_ = value;
  }
  /// Returns the number of accesses that began at byte `offset`.
  uint32_t accesses(uint32_t offset) const { return accesses_[offset]; }
  /// Returns the largest access count of any byte in [begin, end).
  uint32_t most_accesses(uint32_t begin, uint32_t end) const {
    uint32_t most = 0;
    for (uint32_t i = begin; i < end; ++i) most = most < accesses_[i] ? accesses_[i] : most;
    return most;
  }

 private:
  static constexpr uint64_t kTrapFlag = 1 << 8;
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  static void OnFault(int signal_number, siginfo_t* info, void* context) {
    WatchedPage& self = *watched_;
    const auto offset = static_cast<uint64_t>(static_cast<uint8_t*>(info->si_addr) - self.page_);
    if (offset >= kBytes) {  // A fault outside the page ends the process as usual.
      signal(signal_number, SIG_DFL);
      return;
    }
    self.at_ = static_cast<uint32_t>(offset);
    ++self.accesses_[offset];
    mprotect(self.page_, kBytes, PROT_READ | PROT_WRITE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }
  static void OnStep(int, siginfo_t*, void* context) {
    WatchedPage& self = *watched_;
    if (self.at_ == self.change_at_) {
      std::memcpy(self.page_ + self.at_, &self.change_to_, sizeof(self.change_to_));
      self.change_at_ = kNowhere;
    }
    mprotect(self.page_, kBytes, PROT_NONE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }

  static inline WatchedPage* watched_ = nullptr;
  uint8_t* page_;
  uint32_t at_ = 0;  ///< Offset of the access that is permitted.
  uint32_t change_at_ = kNowhere;
  uint64_t change_to_ = 0;
  std::array<uint32_t, kBytes> accesses_{};
  struct sigaction old_fault_ {};
  struct sigaction old_step_ {};
};

}  // namespace sluice::test
