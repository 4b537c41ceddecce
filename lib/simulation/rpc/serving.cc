// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/rpc/serving.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "fabric/event_queue.h"
#include "simulation/percentile.h"
#include "simulation/random.h"
#include "simulation/rpc/serving_host.h"

namespace sluice::simulation {
namespace {

/// Fraction of calls that go to the popular services.
constexpr double kHotShare = 0.9;

std::unique_ptr<HostOfServices> MakeHost(fabric::EventQueue& queue,
                                         const ServingParameters& parameters, CallBook& book) {
  switch (parameters.host) {
    case ServingHost::kCoherent:
      return MakeCoherentHost(queue, parameters, book);
    case ServingHost::kPolling:
      return MakePollingHost(queue, parameters, book);
    case ServingHost::kKernel:
      return MakeKernelHost(queue, parameters, book);
    case ServingHost::kReallocating:
      break;
  }
  return MakeReallocatingHost(queue, parameters, book);
}

/// Selects the service for each call. At any time, as many services are popular as there are cores.
class Popularity {
 public:
  Popularity(const ServingParameters& parameters, Random& random)
      : random_(random),
        hot_(std::min(parameters.cores, parameters.services)),
        hot_for_(parameters.hot_for),
        order_(parameters.services) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  uint32_t Draw(Picoseconds now) {
    if (hot_for_ != 0 && hot_ < order_.size() && now >= until_) {
      for (uint32_t i = 0; i < hot_; ++i) {
        std::swap(order_[i], order_[i + random_.Below(static_cast<uint32_t>(order_.size()) - i)]);
      }
      until_ = now + hot_for_;
    }
    const bool hot = random_.Uniform() < kHotShare;
    return order_[random_.Below(hot ? hot_ : static_cast<uint32_t>(order_.size()))];
  }

 private:
  Random& random_;
  uint32_t hot_;
  Picoseconds hot_for_;
  Picoseconds until_ = 0;
  std::vector<uint32_t> order_;
};

}  // namespace

std::string_view NameOf(ServingHost host) {
  switch (host) {
    case ServingHost::kCoherent:
      return "coherent, the NIC schedules";
    case ServingHost::kPolling:
      return "processes that poll";
    case ServingHost::kKernel:
      return "the kernel's sockets";
    case ServingHost::kReallocating:
      break;
  }
  return "a core that reallocates the others";
}

Picoseconds ServingResults::Percentile(double share) const {
  return PercentileOf(latencies, share);
}

ServingResults PlayServing(const ServingParameters& parameters) {
  fabric::EventQueue queue;
  CallBook book(parameters.calls);
  const auto host = MakeHost(queue, parameters, book);
  Random random(parameters.seed);
  Popularity popularity(parameters, random);
  const ServiceTime handler{ServiceTime::Kind::kExponential, parameters.handler, 0, 0};
  const double mean = static_cast<double>(
      parameters.handler != 0 ? parameters.handler : 2 * parameters.costs.interconnect_rtt);
  const auto gap = static_cast<Picoseconds>(mean / (parameters.load * parameters.cores));
  Picoseconds from = 0, until = 0;
  for (uint32_t number = 0; number < parameters.calls; ++number) {
    until += random.Exponential(gap) + 1;
    if (number == parameters.calls / 2) from = until;
    queue.RunUntil(until);
    const uint32_t service = popularity.Draw(until);
    host->Arrive(book.Add({service, until, parameters.handler == 0 ? 0 : handler.Draw(random), 0}));
  }
  const uint64_t idle_looks = host->IdleLooks();
  queue.Run();

  ServingResults results;
  uint64_t in_window = 0, answered = 0;
  for (const ServedCall& call : book.calls()) {
    if (call.answered == 0) continue;
    answered += call.answered <= until;
    in_window += call.answered > from && call.answered <= until;
    if (call.came >= from) results.latencies.push_back(call.answered - call.came);
  }
  std::sort(results.latencies.begin(), results.latencies.end());
  results.dropped = book.dropped();
  results.calls_per_second =
      static_cast<double>(in_window) / (static_cast<double>(until - from) * 1e-12);
  if (answered != 0) {
    results.idle_looks = static_cast<double>(idle_looks) / static_cast<double>(answered);
  }
  return results;
}

}  // namespace sluice::simulation
