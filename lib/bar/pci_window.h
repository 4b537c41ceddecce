// SPDX-License-Identifier: BSD-3-Clause
//
// The host side of a window in a PCI BAR. Host lines are in the BAR, where the device polls them as
// local memory. NIC lines are in host memory if the device can store to host memory, so that
// polling them needs no round trip. Otherwise the NIC lines follow the host lines in the BAR, and
// every read of a NIC line blocks.
//
// On processors with MOVDIR64B, a line is written with that instruction, which PCIe transports as
// one write. Otherwise it is written with eight stores and a fence, and may tear. PCIe does not
// guarantee an untorn read either. Therefore every line contains its CRC (line_check.h), in both
// directions and with both ways of writing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bar/fence.h"
#include "bar/line_check.h"
#include "bar/window.h"

namespace sluice::bar {

/// Position of the lines in memory, which the caller owns.
struct PciWindowPlace {
  /// The first host line, 64-byte aligned; pairs are 64 bytes apart.
  volatile void* bar = nullptr;
  size_t bar_bytes = 0;          ///< Bytes from `bar` to the end of the mapping.
  bool write_combining = false;  ///< True if the mapping is write-combining, false if it is
                                 ///< uncached.
  uint32_t lines = 0;            ///< 1 … kMaxWindowLines.
  /// Host memory for `lines` NIC lines, which the device stores. Null if the device cannot store to
  /// host memory; the NIC lines then follow the host lines in the BAR.
  Line* nic_lines = nullptr;
};

/// The host's end. A register read of all ones (surprise removal, completion time-out) means that
/// the link is dead. From then on, all reads return the values for a dead link, and posts are
/// discarded. With nic_lines, only ReadUncached() reads from the device and can detect this.
class PciWindow {
 public:
  /// Returns null (errno EINVAL) if the BAR is too small, null or not aligned to 64 bytes, or if
  /// the number of lines is out of range.
  static std::unique_ptr<PciWindow> Over(const PciWindowPlace& place);
  /// Maps the BAR of a device from byte `offset`, which must be a multiple of 64. `path` is its
  /// resourceN, or resourceN_wc for a write-combining mapping; any file may serve as an emulated
  /// BAR. Returns null and sets errno on failure: EINVAL if `offset` or `lines` is invalid or the
  /// file is too small, else the kernel's error.
  static std::unique_ptr<PciWindow> Open(const char* path, uint64_t offset, uint32_t lines,
                                         Line* nic_lines = nullptr);
  ~PciWindow();
  PciWindow(const PciWindow&) = delete;
  PciWindow& operator=(const PciWindow&) = delete;

  uint32_t lines() const { return lines_; }
  uint32_t capabilities() const { return capabilities_; }
  /// Returns the number of polls that found a torn line. May be called by any thread.
  uint64_t torn_lines() const { return torn_lines_.load(std::memory_order_relaxed); }
  bool dead() const { return dead_.load(std::memory_order_relaxed); }

  void Post(uint32_t index, const Line& line) {
    if (dead()) return;
    const Line sealed = SealLine(line);
    volatile uint64_t* const to = host_words_ + index * kWords;
    if (has_movdir64b_) {
      StoreFence();  // MOVDIR64B may pass the caller's earlier stores to memory.
      StoreWhole(to, sealed);
    } else {
      RegisterFence();  // First makes the memory that the line refers to visible.
      // Word 0 is stored last: uncached stores arrive in order, and a reader polls word 0.
      for (uint32_t i = 1; i < kWords; ++i) to[i] = sealed.word[i];
      to[0] = sealed.word[0];
    }
    StoreFence();
  }
  uint64_t Peek(uint32_t index) {
    if (dead()) return ~uint64_t{0};
    return nic_memory_ != nullptr ? MemoryWord(index, 0) : BarRead(nic_words_ + index * kWords);
  }
  bool Poll(uint32_t index, Line& out) {
    if (dead()) return false;
    for (uint32_t i = 0; i < kWords; ++i) {
      out.word[i] =
          nic_memory_ != nullptr ? MemoryWord(index, i) : BarRead(nic_words_ + index * kWords + i);
      if (out.word[0] == ~uint64_t{0}) return false;
    }
    if (dead()) return false;
    if (UnsealLine(out)) return true;
    torn_lines_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  /// Returns a word of the NIC's line. If NIC lines are in host memory, first reads this side's
  /// line in the BAR: the completion cannot pass the device's earlier stores (PCIe ordering), so
  /// host memory is up to date afterwards.
  uint64_t ReadUncached(uint32_t index, uint32_t word) {
    if (dead()) return ~uint64_t{0};
    if (nic_memory_ == nullptr) return BarRead(nic_words_ + index * kWords + word);
    if (BarRead(host_words_ + index * kWords) == ~uint64_t{0}) return ~uint64_t{0};
    RegisterReadFence();
    return MemoryWord(index, word);
  }
  void Flush() { StoreFence(); }
  /// Does nothing: a host does not interrupt a device.
  void Interrupt(uint32_t) {}

 private:
  static constexpr size_t kWords = kLineBytes / sizeof(uint64_t);

  explicit PciWindow(const PciWindowPlace& place);
  static void StoreWhole(volatile uint64_t* to, const Line& line);

  /// Reads a word in the BAR. Words 1 … 7 may contain all ones as payload, but word 0 never does.
  /// So if the word is all ones, word 0 is also read to detect a dead link.
  uint64_t BarRead(const volatile uint64_t* from) {
    const uint64_t value = *from;
    if (value == ~uint64_t{0} && *WordZero(from) == ~uint64_t{0})
      dead_.store(true, std::memory_order_relaxed);
    return value;
  }
  static const volatile uint64_t* WordZero(const volatile uint64_t* word) {
    return reinterpret_cast<const volatile uint64_t*>(reinterpret_cast<uintptr_t>(word) &
                                                      ~uintptr_t{kLineBytes - 1});
  }
  uint64_t MemoryWord(uint32_t index, uint32_t word) const {
    return LoadFromDevice(nic_memory_[index].word[word]);
  }

  volatile uint64_t* host_words_;
  const volatile uint64_t* nic_words_ = nullptr;  ///< NIC lines, if they are in the BAR.
  Line* nic_memory_;                              ///< NIC lines, if they are in host memory.
  uint32_t lines_;
  uint32_t capabilities_;
  bool has_movdir64b_;
  std::atomic<bool> dead_{false};
  std::atomic<uint64_t> torn_lines_{0};
  void* mapping_ = nullptr;  ///< Mapping made by Open(); null after Over().
  size_t mapping_bytes_ = 0;
};
static_assert(WindowEnd<PciWindow>);

}  // namespace sluice::bar
