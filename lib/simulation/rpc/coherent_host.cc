// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that delivers calls in cache lines; its dispatcher schedules the cores. Cores only load
// lines, run handlers, and switch to the process that the NIC names.
//
// A core with several pairs of lines has one load per pair outstanding and serves the oldest answer
// first. The NIC answers loads in order of arrival. The dispatcher treats each pair as a core.
#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "coherent/layout.h"
#include "device/rpc/dispatcher.h"
#include "simulation/rpc/serving_host.h"

namespace sluice::simulation {
namespace {

using device::rpc::Action;
using device::rpc::CoreId;
using device::rpc::Dispatcher;
using device::rpc::ProcessId;

/// Assigns a free core to the process that has waited longest. Never preempts.
class FirstComeFirstServed : public device::rpc::Placement {
 public:
  void Wants(ProcessId process, bool, uint64_t) override { waiting_.push_back(process); }
  void Withdraw(ProcessId process) override { std::erase(waiting_, process); }
  std::optional<ProcessId> Next(CoreId, uint64_t) override {
    if (waiting_.empty()) return {};
    const ProcessId process = waiting_.front();
    waiting_.pop_front();
    return process;
  }
  bool Preempts(CoreId, uint64_t) override { return false; }
  void Left(CoreId, uint64_t) override {}

 private:
  std::deque<ProcessId> waiting_;
};

class CoherentHost : public HostOfServices {
 public:
  CoherentHost(fabric::EventQueue& queue, const ServingParameters& parameters, CallBook& book)
      : queue_(queue),
        costs_(parameters.costs),
        book_(book),
        pairs_(parameters.pairs),
        dispatcher_({.cores = parameters.cores * pairs_, .queue_capacity = parameters.queue},
                    placement_),
        cores_(parameters.cores) {
    for (uint32_t i = 0; i < parameters.services; ++i) {
      dispatcher_.AddProcess(static_cast<ProcessId>(i), pairs_);
      Do(dispatcher_.Ready(static_cast<ProcessId>(i), 0));
    }
    for (uint32_t i = 0; i < parameters.cores * pairs_; ++i) {
      CoreOf(static_cast<CoreId>(i)).answers_from.push_back(0);
      Do(dispatcher_.KernelLoads(static_cast<CoreId>(i), 0));
    }
  }

  void Arrive(uint32_t call) override {
    queue_.After(costs_.decode, [this, call] {
      Do(dispatcher_.Arrive(static_cast<ProcessId>(book_.at(call).service), call, Now()));
    });
  }

  uint64_t IdleLooks() const override {
    uint64_t looks = looks_;
    for (const Core& core : cores_) looks += TriedAgain(core);
    return looks;
  }

 private:
  struct Core {
    /// For each outstanding load, in order: the earliest time at which it can be answered. The line
    /// with the previous call's reply must be pulled first.
    std::deque<Picoseconds> answers_from;
    Picoseconds waits_since = 0;
    Picoseconds free_at = 0;  ///< Time at which the core finishes the last answer it was given.
  };
  Core& CoreOf(CoreId pair) { return cores_[pair / pairs_]; }
  Picoseconds Half() const { return costs_.interconnect_rtt / 2; }
  /// Returns the current time in nanoseconds, which is the dispatcher's unit.
  uint64_t Now() const { return queue_.now() / 1000; }
  /// Returns how many times the waiting load was answered with try-again.
  uint64_t TriedAgain(const Core& core) const {
    const Picoseconds bound = coherent::kTryAgainNs * 1000;
    return queue_.now() > core.waits_since ? (queue_.now() - core.waits_since) / bound : 0;
  }

  /// Answers the core's oldest load. Returns the time at which the core has processed the answer,
  /// given the processing time `work`.
  Picoseconds Answer(CoreId pair, Picoseconds work) {
    Core& core = CoreOf(pair);
    looks_ += TriedAgain(core);
    const Picoseconds sent = std::max(queue_.now(), core.answers_from.front());
    core.answers_from.pop_front();
    core.free_at = std::max(sent + Half(), core.free_at) + work;
    return core.free_at;
  }

  void Do(Dispatcher::Actions actions) {
    for (const Action& action : actions) {
      const CoreId core = action.core;
      switch (action.kind) {
        case Action::Kind::kRequest:
          // The core runs the handler, then loads the other line.
          Load(Answer(core, costs_.jump + book_.at(action.call).handler), core, action.process);
          break;
        case Action::Kind::kSwitch:
          Load(Answer(core, costs_.switch_process), core, action.process);
          break;
        case Action::Kind::kYieldNow:
          Load(Answer(core, costs_.switch_process), core, {});
          break;
        case Action::Kind::kAnswered:
          // The NIC pulls the reply's line out of the core's cache before it answers the load that
          // announced the reply.
          CoreOf(core).answers_from.back() = queue_.now() + costs_.interconnect_rtt;
          book_.Answered(action.call, CoreOf(core).answers_from.back());
          break;
        case Action::Kind::kQueueFull:
          book_.Dropped();
          break;
        default:
          break;  // This host has neither process exits nor interrupts.
      }
    }
  }

  /// Loads a line of the endpoint that belongs to `process`, or of the kernel's endpoint if
  /// `process` is empty.
  void Load(Picoseconds at, CoreId core, std::optional<ProcessId> process) {
    queue_.At(at + Half(), [this, core, process] {
      CoreOf(core).answers_from.push_back(queue_.now());
      CoreOf(core).waits_since = queue_.now();
      Do(process ? dispatcher_.UserLoads(core, *process, Now())
                 : dispatcher_.KernelLoads(core, Now()));
    });
  }

  fabric::EventQueue& queue_;
  ServingCosts costs_;
  CallBook& book_;
  uint32_t pairs_;
  FirstComeFirstServed placement_;
  Dispatcher dispatcher_;
  std::vector<Core> cores_;
  uint64_t looks_ = 0;
};

}  // namespace

std::unique_ptr<HostOfServices> MakeCoherentHost(fabric::EventQueue& queue,
                                                 const ServingParameters& parameters,
                                                 CallBook& book) {
  return std::make_unique<CoherentHost>(queue, parameters, book);
}

}  // namespace sluice::simulation
