// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of an agent for threads of the kernel: carries events, decisions and outcomes
// between a ThreadKernel and a channel of lib/offload. It corresponds to engine::sched::SchedHost,
// but the state and the CPUs belong to the kernel.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/sched/abi.h"
#include "engine/workload/histogram.h"
#include "offload/item.h"
#include "sched_ext/thread_kernel.h"

namespace sluice::sched_ext {

struct ThreadHostCounters {
  /// Results of decisions, indexed by Status - kComplete.
  std::array<uint64_t, engine::sched::kStatuses> statuses{};
  uint64_t discoveries = 0;  ///< Agents to which the host described all threads.
  /// Verdict::age of the enforced decisions, in ns.
  engine::workload::Histogram age;
};

/// Called with each decision and its verdict.
using DecisionObserver = std::function<void(CpuId, const Transaction&, const Verdict&)>;

/// `kernel` and `channel` outlive the host. Slot i of the channel belongs to CPU i. Used by one
/// thread.
template <offload::HostChannel C>
class ThreadHost {
 public:
  /// `observer` may be empty.
  ThreadHost(ThreadKernel& kernel, C& channel, CpuId cpus, DecisionObserver observer)
      : kernel_(&kernel), channel_(&channel), cpus_(cpus), observer_(std::move(observer)) {}

  /// Sends all events to the agent, and rules on all its decisions. Returns the number of both; if
  /// it is not 0, the agent should look at the channel.
  uint32_t Step() {
    uint32_t done = 0;
    if (channel_->PollRestart()) Discover();
    done += SendEvents();
    done += SendDescriptions();
    ReportLosses();
    channel_->Flush();
    for (CpuId cpu = 0; cpu < cpus_; ++cpu) {
      Judge judge{this};
      done += channel_->Decide(cpu, judge) != offload::Decided::kNone;
    }
    return done;
  }

  const ThreadHostCounters& counters() const { return counters_; }

 private:
  struct Judge {
    ThreadHost* host;

    offload::Ruling Check(offload::Slot slot, const offload::Item& decision,
                          offload::Item& outcome) {
      const Transaction transaction = engine::sched::DecodeTransaction(decision);
      const auto cpu = static_cast<CpuId>(slot);
      const Verdict verdict = host->kernel_->Decide(cpu, transaction);
      host->Count(verdict.outcome.status);
      if (host->observer_) host->observer_(cpu, transaction, verdict);
      outcome = Encode(verdict.outcome);
      if (verdict.outcome.status != engine::sched::Status::kComplete) {
        return offload::Ruling::kRefuse;
      }
      host->counters_.age.Record(verdict.age);
      return offload::Ruling::kEnforce;
    }
    void Apply(offload::Slot, const offload::Item&) {}  // Check enforced the decision.
    void Recalled(offload::Slot slot, const offload::Item& decision, offload::Item& outcome) {
      host->Count(engine::sched::Status::kAborted);
      outcome = Encode(host->kernel_->Recall(static_cast<CpuId>(slot),
                                             engine::sched::DecodeTransaction(decision)));
    }
  };

  void Count(engine::sched::Status status) {
    ++counters_.statuses[static_cast<uint32_t>(status) - static_cast<uint32_t>(INT_MIN)];
  }

  /// Describes all threads to a new agent.
  void Discover() {
    ++counters_.discoveries;
    kernel_->Attach();
    attached_ = true;
    lost_ = kernel_->counters().events_lost;
    channel_->Send(Encode(Message{.type = engine::sched::MessageType::kDiscovery}));
    undescribed_ = kernel_->Threads();
  }

  uint32_t SendEvents() {
    events_.clear();
    kernel_->Receive(events_);
    if (!attached_) return 0;  // A new agent receives descriptions.
    for (const offload::Item& event : events_) channel_->Send(event);
    return static_cast<uint32_t>(events_.size());
  }

  /// Sends descriptions while the channel has space. Each is read only when it is sent, so that it
  /// is not older than the events that were sent before.
  uint32_t SendDescriptions() {
    uint32_t sent = 0;
    while (!undescribed_.empty() && channel_->room() >= 2) {
      const auto found = kernel_->Describe(undescribed_.back());
      undescribed_.pop_back();
      if (!found) continue;
      channel_->Send(Encode(found->created));
      if (found->place) channel_->Send(Encode(*found->place));
      ++sent;
    }
    return sent;
  }

  /// Makes the agent request a discovery if the kernel lost events or gave up the agent.
  void ReportLosses() {
    if (!attached_) return;
    const uint64_t lost = kernel_->counters().events_lost;
    if (lost == lost_ && kernel_->attached()) return;
    attached_ = kernel_->attached();
    lost_ = lost;
    channel_->Lose();
  }

  ThreadKernel* kernel_;
  C* channel_;
  CpuId cpus_;
  DecisionObserver observer_;
  ThreadHostCounters counters_;
  bool attached_ = false;  ///< An agent receives events.
  uint64_t lost_ = 0;      ///< Events that the kernel had lost at the last look.
  std::vector<ThreadId> undescribed_;
  std::vector<offload::Item> events_;
};

}  // namespace sluice::sched_ext
