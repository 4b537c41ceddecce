// SPDX-License-Identifier: BSD-3-Clause
//
// Sockets: an interrupt wakes the service's process, which any idle core runs until it has no more
// calls or its slice is over. Nobody polls.
#include <algorithm>
#include <deque>
#include <vector>

#include "simulation/rpc/serving_host.h"

namespace sluice::simulation {
namespace {

class KernelHost : public HostOfServices {
 public:
  KernelHost(fabric::EventQueue& queue, const ServingParameters& parameters, CallBook& book)
      : queue_(queue),
        parameters_(parameters),
        book_(book),
        services_(parameters.services),
        idle_cores_(parameters.cores) {}

  void Arrive(uint32_t call) override {
    queue_.After(parameters_.costs.interrupt, [this, call] {
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

  uint64_t IdleLooks() const override { return 0; }

 private:
  struct Service {
    std::deque<uint32_t> waiting;
    bool runnable = false;  ///< Runs, or waits for a core.
  };

  void Start() {
    if (idle_cores_ == 0 || runnable_.empty()) return;
    --idle_cores_;
    const uint32_t id = runnable_.front();
    runnable_.pop_front();
    const Picoseconds begins = queue_.now() + parameters_.costs.switch_process;
    queue_.At(begins, [this, id, begins] { Run(id, begins + parameters_.costs.slice); });
  }

  void Run(uint32_t id, Picoseconds slice_ends) {
    Service& service = services_[id];
    const uint32_t call = service.waiting.front();
    service.waiting.pop_front();
    const ServingCosts& costs = parameters_.costs;
    const Picoseconds done =
        queue_.now() + costs.kernel_call + costs.decode + costs.jump + book_.at(call).handler;
    book_.Answered(call, done + 5 * costs.pcie_oneway);
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
  std::vector<Service> services_;
  std::deque<uint32_t> runnable_;
  uint32_t idle_cores_;
};

}  // namespace

std::unique_ptr<HostOfServices> MakeKernelHost(fabric::EventQueue& queue,
                                               const ServingParameters& parameters,
                                               CallBook& book) {
  return std::make_unique<KernelHost>(queue, parameters, book);
}

}  // namespace sluice::simulation
