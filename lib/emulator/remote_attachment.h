// SPDX-License-Identifier: BSD-3-Clause
//
// The Attachment that remote.h creates.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bar/posted_queue.h"
#include "emulator/attach.h"
#include "emulator/channel.h"
#include "emulator/connection.h"
#include "emulator/dpdk_memory.h"
#include "emulator/guarded_range.h"
#include "emulator/holdings.h"
#include "emulator/interrupt_files.h"
#include "emulator/message.h"
#include "emulator/model.h"
#include "emulator/remote.h"

namespace sluice::emulator {

/// Sums of the counters of all devices that have been connected to one link. Used by one thread at
/// a time.
class TotalStatistics {
 public:
  /// Merges the device's current counters. `returned` is true in the first call after a new
  /// connection. The names and their order are taken from the first device.
  void Merge(const std::vector<Statistic>& fresh, bool returned);
  const std::vector<Statistic>& values() const { return values_; }

 private:
  std::vector<Statistic> values_;  ///< Sums over all devices so far.
  std::vector<uint64_t> counted_;  ///< Counts of the current device that `values_` includes.
};

/// A model in another process: the functions for drivers, the connection, and the thread that
/// watches the connection.
class Remote final : public Attachment, private DpdkMemory {
 public:
  Remote(std::string_view name, const ModelInfo& model, const SettingValues& settings,
         DeviceSocket socket)
      : DpdkMemory(name),
        name_(name),
        socket_(std::move(socket)),
        model_(model),
        settings_(settings) {}
  ~Remote() override;

  /// Connects to the device for the first time. On failure, returns false and sets `error` to a
  /// one-line message. May throw std::system_error.
  bool Start(std::string* error);

  bar::Bar& registers() override { return bar_; }
  const bar::RingMemory& register_memory() const override { return queue_memory_; }
  bool Map(const bar::RingMemory& memory, std::string_view name) override;
  void Unmap(const bar::RingMemory& memory) override;
  int MapExternal(void* begin, size_t bytes, std::string* error) override;
  int UnmapExternal(void* begin, size_t bytes) override;
  bar::RingMemory Adopt(std::string_view name) override;
  uint32_t Generation() const override { return generation_.load(std::memory_order_acquire); }
  int InterruptFd(uint32_t vector) override { return interrupts_.Open(vector); }
  std::vector<Statistic> Statistics() override;
  bool WireUp() override;
  void MacAddress(uint8_t mac[6]) override;
  void EnableWire(bool enabled) override;

 private:
  void Mapped(const rte_memseg_list& list, uint64_t begin, uint64_t end) override;
  void Unmapping(uint64_t begin, uint64_t end) override;

  /// Connects, passes all memory to the device, and brings the link up.
  bool Reach(std::string* error);
  /// Sends a request and waits for the reply. Returns false if there is no connection, if the
  /// device rejects the request, or if the exchange fails, which ends the connection. The caller
  /// must hold `mutex_`.
  bool Ask(const Request& request, Reply* reply, base::OwnedFd* received = nullptr);
  /// If the connection has failed, brings the link down until the watching thread has connected
  /// again.
  void DropIfBad();
  /// Merges the device's current counts into the totals. `returned` is true on a new connection.
  void Merge(const std::vector<Statistic>& fresh, bool returned) { totals_.Merge(fresh, returned); }
  void Watch();
  /// Waits until the connection has ended. Returns false if it must not be re-established.
  bool AwaitEnd();
  /// Guards memory that is backed by a file shared with the device. If too much memory is already
  /// guarded, returns false and sets `error`. The caller must hold `mutex_`.
  bool Guard(const void* begin, size_t bytes, std::string* error);

  const std::string name_;
  const DeviceSocket socket_;
  const ModelInfo& model_;
  const SettingValues settings_;
  LossAlarm alarm_;
  InterruptFiles interrupts_;
  base::OwnedFd
      interrupt_socket_;  ///< Receives interrupts; used by Start, and then by the watching thread.
  bar::RingMemory queue_memory_;
  bar::PostedQueue* queue_ = nullptr;
  bar::Bar bar_;

  /// Guards all following members. It is acquired while EAL's memory lock is held, so code that
  /// holds this mutex must not acquire that lock.
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;  ///< Changed only by the watching thread.
  Holdings holdings_;
  std::map<const void*, GuardedRange> guards_;  ///< Guards of the queue, rings, and DPDK's memory.
  std::string missing_;  ///< Reason why the device cannot access all DPDK memory; empty if it can.
  TotalStatistics totals_;
  uint8_t mac_[6] = {};
  bool wire_enabled_ = false;
  bool stop_ = false;

  std::condition_variable stopping_;
  std::atomic<uint32_t> generation_{0};
  std::thread thread_;
};

}  // namespace sluice::emulator
