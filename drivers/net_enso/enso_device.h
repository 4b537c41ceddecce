// SPDX-License-Identifier: BSD-3-Clause
//
// One Ensō NIC as both faces of the driver share it: who owns which pipe and
// notification buffer, the fallback set, the flow table, configuration. Control
// path only; every method but FindPipe, Count and bar() is called with mutex()
// held.
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

/// How long the driver waits for the NIC to answer or to finish what it holds.
inline constexpr uint32_t kAnswerTimeoutUs = 2'000'000;
inline constexpr uint32_t kDrainTimeoutUs = 500'000;

/// A bounded busy wait of the control path.
class Deadline {
 public:
  explicit Deadline(uint64_t us)
      : end_(rte_get_timer_cycles() + us * rte_get_timer_hz() / 1'000'000) {}
  bool Passed() const { return rte_get_timer_cycles() >= end_; }
  /// Lets a model run that shares this core.
  void Relax() const { std::this_thread::yield(); }

 private:
  uint64_t end_;
};

/// Events that a correct NIC and a correct peer never cause, or that the driver
/// repaired. Rare: shared atomics.
enum class Event : uint32_t {
  kBadNotification,  ///< Pipe id, tail or signal out of range: ignored.
  kBadCompletion,    ///< A TX slot came back altered or before an earlier one: ignored.
  kWakeups,          ///< rx_head stores that looked for a lost notification.
  kUnreadFlits,      ///< Flits in a pipe that was closed before they were read.
  kStuckRings,       ///< Rings kept mapped because the NIC did not release them.
  kCount,
};

/// Which face owns the fallback pipes.
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

  // Results are 0 or a negative errno.
  int OpenNb(NotificationBuffer** nb);
  void CloseNb(NotificationBuffer* nb);

  /// Opens a pipe and, if it is a fallback pipe, lets the NIC spread frames to it.
  /// A fallback pipe gets the lowest free id, any other the highest.
  int OpenPipe(NotificationBuffer* nb, rte_pmd_enso_pipe_kind kind, bool fallback,
               FallbackOwner owner, Pipe** pipe);
  void ClosePipe(Pipe* pipe);
  /// Lowers the fallback set to nothing and waits until its pipes are quiet; they
  /// stay open and readable, and close one by one.
  int StopFallback();
  /// Waits until no frame in flight can reach a pipe that the NIC was told to avoid.
  void Quiesce();

  /// Whether the device lost its power since it was programmed: it knows none of this driver's
  /// pipes and buffers any more. Any thread, without the lock.
  bool Lost() const { return backend_->Generation() != generation_.load(); }
  /// Begins anew if the device is lost. 0, -EBUSY (native buffers are open), -EIO (it does not
  /// answer). The port is stopped.
  int Recover();
  /// Whether anybody but the driver itself has a buffer: a started port, or native users.
  bool InUse() const { return nbs_.size() > (control_nb_ != nullptr ? 1u : 0u); }

  /// What BindFlow would return for a flow that no pipe holds yet.
  int CheckFlow(const FlowKey& key) const;
  int BindFlow(Pipe* pipe, const FlowKey& key);
  int UnbindFlow(Pipe* pipe, const FlowKey& key);
  int SetTimestamp(bool enable, uint8_t offset);
  int SetRateLimit(bool enable, uint16_t numerator, uint16_t denominator);
  int SetRoundRobin(bool enable);

  FallbackOwner fallback_owner() const { return fallback_owner_; }

  /// The receiving pipe `id` if it reports to buffer `nb`, else null. By the thread of
  /// `nb`, without the lock: pipes of other buffers may come and go meanwhile, so
  /// their memory is not looked at.
  Pipe* FindPipe(uint64_t id, uint32_t nb) const {
    if (id >= regs::enso::kMaxPipes) return nullptr;
    const PipeEntry& entry = pipes_[id];
    if (entry.nb.load(std::memory_order_acquire) != nb) return nullptr;
    return entry.pipe.load(std::memory_order_relaxed);
  }
  /// Stores a register and waits until it reads back. False if it never does.
  bool StoreUntilRead(uint32_t offset, uint32_t value);
  bool StoreUntilRead64(uint32_t offset, uint64_t value);
  /// Keeps a ring mapped for the device's life: the NIC did not release it.
  void KeepMapped(DmaRing ring);
  /// Most notifications that one pipe can cause without an rx_head store.
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
  /// Fallback pipes with the ids 0 … n−1: the set that the NIC can be told.
  uint32_t FallbackRun() const;
  int ConfigureFlow(const FlowKey& key, uint32_t pipe);
  int EnsureControlNb();
  int CreateNb(NotificationBuffer** nb);
  std::vector<Pipe*> PipesOf(const NotificationBuffer* nb) const;
  int FreePipeId(bool fallback) const;
  int EnablePipe(Pipe* pipe);
  /// Waits until the NIC has served every rx_head store so far.
  void SettleHeadStores();

  std::mutex mutex_;
  std::unique_ptr<Backend> backend_;
  std::atomic<uint32_t> generation_;  ///< Of the device, for which all was programmed.
  const Geometry geometry_;
  bar::Bar bar_;

  /// `nb` is stored last when a pipe opens and first when it closes.
  struct PipeEntry {
    std::atomic<uint32_t> nb{kNoNb};
    std::atomic<Pipe*> pipe{nullptr};
  };
  static constexpr uint32_t kNoNb = ~0u;
  std::array<PipeEntry, regs::enso::kMaxPipes> pipes_;
  std::bitset<regs::enso::kMaxNotificationBuffers> nbs_used_;
  NotificationBuffer* control_nb_ = nullptr;  ///< Carries configuration alone.
  FlowTable flows_;
  FallbackOwner fallback_owner_ = FallbackOwner::kNone;
  uint32_t fallback_count_ = 0;  ///< What the NIC was told.
  bool round_robin_ = false;
  std::vector<std::unique_ptr<NotificationBuffer>> nbs_;
  std::vector<std::unique_ptr<Pipe>> open_pipes_;
  std::vector<DmaRing> stuck_rings_;  ///< The NIC may still reach them.
  std::array<std::atomic<uint64_t>, static_cast<uint32_t>(Event::kCount)> events_{};
};

}  // namespace sluice::net_enso
