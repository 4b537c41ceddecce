// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that hands calls over in cache lines, scheduled by its own dispatcher. Cores do nothing but
// load lines, run handlers, and switch to the process that the NIC names.
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

/// Whoever has waited longest for a core gets it; nobody is taken off one.
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
        dispatcher_({.cores = parameters.cores, .queue_capacity = parameters.queue}, placement_),
        cores_(parameters.cores) {
    for (uint32_t i = 0; i < parameters.services; ++i) {
      dispatcher_.AddProcess(static_cast<ProcessId>(i), 1);
      Do(dispatcher_.Ready(static_cast<ProcessId>(i), 0));
    }
    for (uint32_t i = 0; i < parameters.cores; ++i) {
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
  /// A core as the NIC sees it.
  struct Core {
    Picoseconds answers_from = 0;  ///< The line that came back with its last load is pulled.
    Picoseconds waits_since = 0;
  };
  Picoseconds Half() const { return costs_.interconnect_rtt / 2; }
  /// Of the dispatcher.
  uint64_t Now() const { return queue_.now() / 1000; }
  /// Answers to a load that waited.
  uint64_t TriedAgain(const Core& core) const {
    const Picoseconds bound = coherent::kTryAgainNs * 1000;
    return queue_.now() > core.waits_since ? (queue_.now() - core.waits_since) / bound : 0;
  }

  /// The core has the NIC's answer after this time, however soon it comes.
  Picoseconds Answer(CoreId id) {
    Core& core = cores_[id];
    looks_ += TriedAgain(core);
    return std::max(queue_.now(), core.answers_from) + Half();
  }

  void Do(Dispatcher::Actions actions) {
    for (const Action& action : actions) {
      const CoreId core = action.core;
      switch (action.kind) {
        case Action::Kind::kRequest: {
          // The handler; then the load of the other line is under way.
          const Picoseconds end = Answer(core) + book_.at(action.call).handler + Half();
          Load(end, core, action.process);
          break;
        }
        case Action::Kind::kSwitch:
          Load(Answer(core) + costs_.switch_process + Half(), core, action.process);
          break;
        case Action::Kind::kYieldNow:
          Load(Answer(core) + costs_.switch_process + Half(), core, {});
          break;
        case Action::Kind::kAnswered:
          // The reply's line is pulled out of the core's cache before that core gets any answer.
          cores_[core].answers_from = queue_.now() + costs_.interconnect_rtt;
          book_.Answered(action.call, cores_[core].answers_from);
          break;
        case Action::Kind::kQueueFull:
          book_.Dropped();
          break;
        default:
          break;  // Nobody dies, and nobody is interrupted.
      }
    }
  }

  /// The NIC sees a load of the process's endpoint, or of the kernel's.
  void Load(Picoseconds at, CoreId core, std::optional<ProcessId> process) {
    queue_.At(at, [this, core, process] {
      cores_[core].waits_since = queue_.now();
      Do(process ? dispatcher_.UserLoads(core, *process, Now())
                 : dispatcher_.KernelLoads(core, Now()));
    });
  }

  fabric::EventQueue& queue_;
  ServingCosts costs_;
  CallBook& book_;
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
