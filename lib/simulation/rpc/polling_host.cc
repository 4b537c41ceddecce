// SPDX-License-Identifier: BSD-3-Clause
//
// One process per service, which polls a dedicated queue without the kernel. Every process always
// looks busy, so a core that several processes share rotates among them in time slices, whether
// they have calls or not. A process stays on its core. Its NIC queue uses DMA.
#include <algorithm>
#include <deque>
#include <vector>

#include "simulation/rpc/serving_host.h"

namespace sluice::simulation {
namespace {

class PollingHost : public HostOfServices {
 public:
  PollingHost(fabric::EventQueue& queue, const ServingParameters& parameters, CallBook& book)
      : queue_(queue), parameters_(parameters), book_(book), services_(parameters.services) {}

  void Arrive(uint32_t call) override {
    Service& service = services_[book_.at(call).service];
    while (!service.waiting.empty() && service.waiting.front() <= queue_.now()) {
      service.waiting.pop_front();
    }
    if (service.waiting.size() >= parameters_.queue) return book_.Dropped();
    const ServingCosts& costs = parameters_.costs;
    const Picoseconds seen = queue_.now() + costs.pcie_oneway;
    const Picoseconds work =
        costs.host_line + costs.decode + costs.jump + book_.at(call).handler + costs.store;
    service.free_at = Finish(book_.at(call).service, std::max(seen, service.free_at), work);
    service.waiting.push_back(service.free_at);
    busy_ += work;
    // The store to the register crosses the link once; the reads of the reply's descriptor and of
    // the reply cross it twice each.
    book_.Answered(call, service.free_at + 5 * costs.pcie_oneway);
  }

  uint64_t IdleLooks() const override {
    const Picoseconds all = queue_.now() * std::min(parameters_.cores, parameters_.services);
    return all > busy_ ? (all - busy_) / std::max<Picoseconds>(parameters_.costs.host_line, 1) : 0;
  }

 private:
  struct Service {
    Picoseconds free_at = 0;
    std::deque<Picoseconds> waiting;  ///< Completion time of each accepted call.
  };

  /// Returns the time at which a service finishes `work` if the work starts at `from` and runs only
  /// in the service's slices.
  Picoseconds Finish(uint32_t service, Picoseconds from, Picoseconds work) const {
    const uint32_t core = service % parameters_.cores;
    const uint32_t sharing =
        (parameters_.services - core + parameters_.cores - 1) / parameters_.cores;
    if (sharing <= 1) return from + work;
    const Picoseconds lost = parameters_.costs.switch_process;
    const Picoseconds slice = std::max(parameters_.costs.slice, 2 * lost);
    const Picoseconds round = slice * sharing;
    // Start of the service's slice within a round.
    const Picoseconds turn = slice * (service / parameters_.cores) + lost;
    const Picoseconds length = slice - lost;
    // The service's slices end at turn + length + n * round.
    Picoseconds end = turn + length;
    if (from >= end) end += ((from - end) / round + 1) * round;
    for (Picoseconds at = std::max(from, end - length);; end += round, at = end - length) {
      if (at + work <= end) return at + work;
      work -= end - at;
    }
  }

  fabric::EventQueue& queue_;
  ServingParameters parameters_;
  CallBook& book_;
  std::vector<Service> services_;
  Picoseconds busy_ = 0;
};

}  // namespace

std::unique_ptr<HostOfServices> MakePollingHost(fabric::EventQueue& queue,
                                                const ServingParameters& parameters,
                                                CallBook& book) {
  return std::make_unique<PollingHost>(queue, parameters, book);
}

}  // namespace sluice::simulation
