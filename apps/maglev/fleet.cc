// SPDX-License-Identifier: BSD-3-Clause
#include "fleet.h"

namespace sluice::maglev {

using engine::maglev::Balancer;
using engine::maglev::BalancerCounters;
using engine::maglev::Traffic;

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

}  // namespace

void Fleet::Add(const Balancer& balancer) {
  const std::scoped_lock lock(mutex_);
  balancers_.push_back(&balancer);
}

void Fleet::Remove(const Balancer& balancer) {
  const std::scoped_lock lock(mutex_);
  std::erase(balancers_, &balancer);
}

FleetCounters Fleet::Count(size_t vips, size_t backends) const {
  const std::scoped_lock lock(mutex_);
  FleetCounters sum = Sum(vips, backends);
  Subtract(earlier_vips_, &sum.by_vip);
  Subtract(earlier_backends_, &sum.by_backend);
  return sum;
}

void Fleet::Restart(const std::vector<uint16_t>& vips, const std::vector<uint16_t>& backends) {
  constexpr size_t kAll = 65536;
  const std::scoped_lock lock(mutex_);
  const FleetCounters sum = Sum(kAll, kAll);
  for (const uint16_t index : vips) earlier_vips_[index] = sum.by_vip[index];
  for (const uint16_t index : backends) earlier_backends_[index] = sum.by_backend[index];
}

FleetCounters Fleet::Sum(size_t vips, size_t backends) const {
  FleetCounters sum;
  sum.by_vip.resize(vips);
  sum.by_backend.resize(backends);
  for (const Balancer* const balancer : balancers_) {
    const BalancerCounters& counters = balancer->counters();
    for (size_t i = 0; i < sum.events.size(); ++i) {
      sum.events[i] += BalancerCounters::Load(counters.events[i]);
    }
    AddTo(counters.by_vip, &sum.by_vip);
    AddTo(counters.by_backend, &sum.by_backend);
  }
  return sum;
}

uint64_t Fleet::CountConnections(size_t backends, std::vector<uint32_t>* by_backend) const {
  by_backend->assign(backends, 0);
  const auto seconds = static_cast<uint32_t>(now_() / cycles_per_second_);
  uint64_t live = 0;
  const std::scoped_lock lock(mutex_);
  for (const Balancer* const balancer : balancers_) {
    live += balancer->connections().CountByBackend(*by_backend, seconds);
  }
  return live;
}

}  // namespace sluice::maglev
