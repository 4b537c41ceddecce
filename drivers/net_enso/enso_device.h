// SPDX-License-Identifier: BSD-3-Clause
//
// One Ensō NIC, shared by the native API and the ethdev port: owners of pipes and notification
// buffers, the fallback set, the flow table, and configuration. Used only on the control path. The
// caller of a method must hold mutex(), except for FindPipe, Lost, the counters and the accessors
// of constant members.
#pragma once

#include <rte_cycles.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "net_enso/enso_backend.h"
#include "net_enso/enso_flow_table.h"
#include "net_enso/enso_nb.h"
#include "net_enso/enso_pipe.h"
#include "regs/enso.h"

namespace sluice::net_enso {

/// Time limits in microseconds for the NIC's answers and for transmissions in progress.
inline constexpr uint32_t kAnswerTimeoutUs = 2'000'000;
inline constexpr uint32_t kDrainTimeoutUs = 500'000;

/// A busy wait on the control path, with a time limit.
class Deadline {
 public:
  explicit Deadline(uint64_t us)
      : end_(rte_get_timer_cycles() + us * rte_get_timer_hz() / 1'000'000) {}
  bool Passed() const { return rte_get_timer_cycles() >= end_; }
  /// Yields, so that a model can run on this core.
  void Relax() const { std::this_thread::yield(); }

 private:
  uint64_t end_;
};

/// Events that a correct NIC and a correct peer never cause, or that the driver repaired. They are
/// rare, so all threads share atomic counters.
enum class Event : uint32_t {
  kBadNotification,  ///< Pipe id, tail or signal out of range; ignored.
  kBadCompletion,    ///< A TX slot was altered or completed out of order; ignored.
  kWakeups,          ///< rx_head stores that recover a pipe after a notification was lost.
  kUnreadFlits,      ///< Flits that had not been read when their pipe was closed.
  kStuckRings,       ///< Rings that stay mapped because the NIC did not release them.
  kCount,
};

/// The API that owns the fallback pipes.
enum class FallbackOwner { kNone, kNative, kEthdev };

class Device {
 public:
  Device(std::unique_ptr<Backend> backend, const Geometry& geometry);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  std::mutex& mutex() { return mutex_; }
  const Geometry& geometry() const { return geometry_; }
  Backend& backend() { return *backend_; }
  bar::Bar& bar() { return bar_; }

  // Functions return 0 or a negative errno.
  int OpenNb(NotificationBuffer** nb);
  void CloseNb(NotificationBuffer* nb);

  /// Opens a pipe. If it is a fallback pipe, the NIC starts to distribute frames to it. A fallback
  /// pipe gets the lowest free ID, any other pipe the highest.
  int OpenPipe(NotificationBuffer* nb, rte_pmd_enso_pipe_kind kind, bool fallback,
               FallbackOwner owner, Pipe** pipe);
  void ClosePipe(Pipe* pipe);
  /// Empties the fallback set and waits until no frame can reach its pipes. The pipes remain open
  /// and readable, and are closed one by one.
  int StopFallback();
  /// Waits for a fixed time, after which frames in flight can no longer reach a pipe that the NIC
  /// was configured to avoid.
  void Quiesce();

  /// Returns whether the device has lost power, and with it all pipes and buffers, since it was
  /// programmed. May be called by any thread, without the lock.
  bool Lost() const { return backend_->Generation() != generation_.load(); }
  /// Reinitializes a lost device. The port must be stopped. Returns 0, -EBUSY (native buffers are
  /// open) or -EIO (the device does not respond).
  int Recover();
  /// Returns whether a started port or native users have a buffer open.
  bool InUse() const { return nbs_.size() > (control_nb_ != nullptr ? 1u : 0u); }

  /// Returns 0 if BindFlow can bind the flow, -EEXIST if the flow is bound to a pipe, or -ENOSPC.
  int CheckFlow(const FlowKey& key) const;
  int BindFlow(Pipe* pipe, const FlowKey& key);
  int UnbindFlow(Pipe* pipe, const FlowKey& key);
  int SetTimestamp(bool enable, uint8_t offset);
  int SetRateLimit(bool enable, uint16_t numerator, uint16_t denominator);
  int SetRoundRobin(bool enable);

  FallbackOwner fallback_owner() const { return fallback_owner_; }

  /// Returns the receiving pipe `id` if it reports to buffer `nb`, otherwise null. Called by the
  /// thread of `nb`, without the lock. Does not access pipes of other buffers, because these may be
  /// closed concurrently.
  Pipe* FindPipe(uint64_t id, uint32_t nb) const {
    if (id >= regs::enso::kMaxPipes) return nullptr;
    const PipeEntry& entry = pipes_[id];
    if (entry.nb.load(std::memory_order_acquire) != nb) return nullptr;
    return entry.pipe.load(std::memory_order_relaxed);
  }
  /// Stores `value` in a register and waits until the register reads as `value`. Returns false on
  /// timeout.
  bool StoreUntilRead(uint32_t offset, uint32_t value);
  bool StoreUntilRead64(uint32_t offset, uint64_t value);
  /// Keeps a ring mapped for the lifetime of the device, because the NIC has not released it.
  void KeepMapped(DmaRing ring);
  /// Returns the maximum number of notifications that one pipe can cause without an rx_head store.
  uint32_t NotificationsOfPipe() const {
    return geometry_.notify_per_packet ? geometry_.pipe_flits : 1;
  }
  void Count(Event event, uint64_t times = 1) {
    events_[static_cast<uint32_t>(event)].fetch_add(times, std::memory_order_relaxed);
  }
  uint64_t Counted(Event event) const {
    return events_[static_cast<uint32_t>(event)].load(std::memory_order_relaxed);
  }

 private:
  int Configure(const void* slot);
  int ConfigureFallback();
  /// Returns the largest n such that pipes 0 … n−1 are all fallback pipes. The NIC accepts only
  /// sets of this form.
  uint32_t FallbackRun() const;
  int ConfigureFlow(const FlowKey& key, uint32_t pipe);
  int EnsureControlNb();
  int CreateNb(NotificationBuffer** nb);
  std::vector<Pipe*> PipesOf(const NotificationBuffer* nb) const;
  int FreePipeId(bool fallback) const;
  int EnablePipe(Pipe* pipe);
  /// Waits for a fixed time, during which the NIC processes all earlier rx_head stores.
  void SettleHeadStores();

  std::mutex mutex_;
  std::unique_ptr<Backend> backend_;
  std::atomic<uint32_t> generation_;  ///< The device's generation when it was programmed.
  const Geometry geometry_;
  bar::Bar bar_;

  /// When a pipe is opened, `nb` is stored last; when it is closed, first.
  struct PipeEntry {
    std::atomic<uint32_t> nb{kNoNb};
    std::atomic<Pipe*> pipe{nullptr};
  };
  static constexpr uint32_t kNoNb = ~0u;
  std::array<PipeEntry, regs::enso::kMaxPipes> pipes_;
  std::bitset<regs::enso::kMaxNotificationBuffers> nbs_used_;
  NotificationBuffer* control_nb_ = nullptr;  ///< Used only for configuration.
  FlowTable flows_;
  FallbackOwner fallback_owner_ = FallbackOwner::kNone;
  uint32_t fallback_count_ = 0;  ///< Number of fallback pipes that the NIC is configured to use.
  bool round_robin_ = false;
  std::vector<std::unique_ptr<NotificationBuffer>> nbs_;
  std::vector<std::unique_ptr<Pipe>> open_pipes_;
  std::vector<DmaRing> stuck_rings_;  ///< Rings that the NIC has not released and may still access.
  std::array<std::atomic<uint64_t>, static_cast<uint32_t>(Event::kCount)> events_{};
};

}  // namespace sluice::net_enso
