// SPDX-License-Identifier: BSD-3-Clause
//
// A service's process sleeps until it has calls. When it is woken, any idle core runs it until it
// has no more calls or its slice is over. With sockets, the kernel wakes the process after an
// interrupt. With reallocated cores, a dedicated core, which polls the queues of all services,
// wakes the process (Shenango, NSDI'19; Caladan, OSDI'20), which reads its queue without the
// kernel.
#include <algorithm>
#include <deque>
#include <vector>

#include "simulation/rpc/serving_host.h"

namespace sluice::simulation {
namespace {

struct Waking {
  Picoseconds notice = 0;  ///< Delay from the call's last bit until the host knows about the call.
  Picoseconds begin = 0;   ///< Delay from the decision until the process runs.
  Picoseconds call = 0;    ///< Time for a call and its reply, without the handler.
  uint32_t cores = 1;      ///< Cores that run processes.
};

class WakingHost : public HostOfServices {
 public:
  WakingHost(fabric::EventQueue& queue, const ServingParameters& parameters, CallBook& book,
             const Waking& waking)
      : queue_(queue),
        parameters_(parameters),
        book_(book),
        waking_(waking),
        services_(parameters.services),
        idle_cores_(waking.cores) {}

  void Arrive(uint32_t call) override {
    queue_.After(waking_.notice, [this, call] {
      const uint32_t id = book_.at(call).service;
      Service& service = services_[id];
      if (service.waiting.size() >= parameters_.queue) return book_.Dropped();
      service.waiting.push_back(call);
      if (service.runnable) return;
      service.runnable = true;
      runnable_.push_back(id);
      Start();
    });
  }

  /// Always 0, because the dedicated core's polls do not delay processes and are not counted.
  uint64_t IdleLooks() const override { return 0; }

 private:
  struct Service {
    std::deque<uint32_t> waiting;
    bool runnable = false;  ///< Running, or waiting for a core.
  };

  void Start() {
    if (idle_cores_ == 0 || runnable_.empty()) return;
    --idle_cores_;
    const uint32_t id = runnable_.front();
    runnable_.pop_front();
    const Picoseconds begins = queue_.now() + waking_.begin;
    queue_.At(begins, [this, id, begins] { Run(id, begins + parameters_.costs.slice); });
  }

  void Run(uint32_t id, Picoseconds slice_ends) {
    Service& service = services_[id];
    const uint32_t call = service.waiting.front();
    service.waiting.pop_front();
    const Picoseconds done = queue_.now() + waking_.call + book_.at(call).handler;
    book_.Answered(call, done + 5 * parameters_.costs.pcie_oneway);
    queue_.At(done, [this, id, slice_ends] {
      Service& ran = services_[id];
      if (!ran.waiting.empty() && (queue_.now() < slice_ends || runnable_.empty())) {
        return Run(id, slice_ends);
      }
      ran.runnable = !ran.waiting.empty();
      if (ran.runnable) runnable_.push_back(id);
      ++idle_cores_;
      Start();
    });
  }

  fabric::EventQueue& queue_;
  ServingParameters parameters_;
  CallBook& book_;
  Waking waking_;
  std::vector<Service> services_;
  std::deque<uint32_t> runnable_;
  uint32_t idle_cores_;
};

}  // namespace

std::unique_ptr<HostOfServices> MakeKernelHost(fabric::EventQueue& queue,
                                               const ServingParameters& parameters,
                                               CallBook& book) {
  const ServingCosts& costs = parameters.costs;
  return std::make_unique<WakingHost>(queue, parameters, book,
                                      Waking{.notice = costs.interrupt,
                                             .begin = costs.switch_process,
                                             .call = costs.kernel_call + costs.decode + costs.jump,
                                             .cores = parameters.cores});
}

std::unique_ptr<HostOfServices> MakeReallocatingHost(fabric::EventQueue& queue,
                                                     const ServingParameters& parameters,
                                                     CallBook& book) {
  const ServingCosts& costs = parameters.costs;
  return std::make_unique<WakingHost>(
      queue, parameters, book,
      Waking{.notice = costs.pcie_oneway + costs.host_line,
             .begin = costs.reallocate,
             .call = costs.host_line + costs.decode + costs.jump + costs.store,
             .cores = std::max(parameters.cores, 2u) - 1});
}

}  // namespace sluice::simulation
