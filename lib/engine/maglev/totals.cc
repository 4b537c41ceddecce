// SPDX-License-Identifier: BSD-3-Clause
#include "engine/maglev/totals.h"

#include <algorithm>

namespace sluice::engine::maglev {
namespace {

void AddTo(const std::vector<Traffic>& from, std::vector<Traffic>* to) {
  for (size_t i = 0; i < to->size() && i < from.size(); ++i) {
    (*to)[i].pkts += BalancerCounters::Load(from[i].pkts);
    (*to)[i].bytes += BalancerCounters::Load(from[i].bytes);
  }
}

void Subtract(const std::map<uint16_t, Traffic>& earlier, std::vector<Traffic>* traffic) {
  for (const auto& [index, before] : earlier) {
    if (index >= traffic->size()) continue;
    (*traffic)[index].pkts -= before.pkts;
    (*traffic)[index].bytes -= before.bytes;
  }
}

BalancerTotals Sum(TrafficByOwner::Balancers balancers, size_t vips, size_t backends) {
  BalancerTotals sum;
  sum.by_vip.resize(vips);
  sum.by_backend.resize(backends);
  for (const Balancer* const balancer : balancers) {
    const BalancerCounters& counters = balancer->counters();
    for (size_t i = 0; i < sum.events.size(); ++i) {
      sum.events[i] += BalancerCounters::Load(counters.events[i]);
    }
    AddTo(counters.by_vip, &sum.by_vip);
    AddTo(counters.by_backend, &sum.by_backend);
  }
  return sum;
}

}  // namespace

NewOwners NewOwners::Of(const Tables& before, const Tables& next) {
  NewOwners owners;
  for (size_t i = 0; i < std::min(before.vips().size(), next.vips().size()); ++i) {
    const auto index = static_cast<uint16_t>(i);
    if (before.VipName(index) != next.VipName(index)) owners.vips.push_back(index);
  }
  for (size_t i = 0; i < std::min(before.backends().size(), next.backends().size()); ++i) {
    const auto index = static_cast<uint16_t>(i);
    if (before.BackendName(index) != next.BackendName(index) ||
        before.VipName(before.backends()[i].vip) != next.VipName(next.backends()[i].vip)) {
      owners.backends.push_back(index);
    }
  }
  return owners;
}

BalancerTotals TrafficByOwner::Count(Balancers balancers, size_t vips, size_t backends) const {
  BalancerTotals sum = Sum(balancers, vips, backends);
  Subtract(earlier_vips_, &sum.by_vip);
  Subtract(earlier_backends_, &sum.by_backend);
  return sum;
}

void TrafficByOwner::Restart(Balancers balancers, const NewOwners& owners) {
  const BalancerTotals sum = Sum(balancers, kMaxVips, kMaxBackends);
  for (const uint16_t index : owners.vips) earlier_vips_[index] = sum.by_vip[index];
  for (const uint16_t index : owners.backends) earlier_backends_[index] = sum.by_backend[index];
}

}  // namespace sluice::engine::maglev
