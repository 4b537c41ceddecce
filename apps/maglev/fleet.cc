// SPDX-License-Identifier: BSD-3-Clause
#include "fleet.h"

namespace sluice::maglev {

using engine::maglev::Balancer;
using engine::maglev::BalancerTotals;
using engine::maglev::NewOwners;

void Fleet::Add(const Balancer& balancer) {
  const std::scoped_lock lock(mutex_);
  balancers_.push_back(&balancer);
}

void Fleet::Remove(const Balancer& balancer) {
  const std::scoped_lock lock(mutex_);
  std::erase(balancers_, &balancer);
}

BalancerTotals Fleet::Count(size_t vips, size_t backends) const {
  const std::scoped_lock lock(mutex_);
  return traffic_.Count(balancers_, vips, backends);
}

void Fleet::Restart(const NewOwners& owners) {
  const std::scoped_lock lock(mutex_);
  traffic_.Restart(balancers_, owners);
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
