// SPDX-License-Identifier: BSD-3-Clause
//
// List of all policies. New policies must be added to AnyPolicy; flags, agents and tests use this
// list.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <variant>

#include "engine/sched/policies/fair_share.h"
#include "engine/sched/policies/fifo_central.h"
#include "engine/sched/policies/fifo_per_cpu.h"
#include "engine/sched/policies/join_shortest_queue.h"
#include "engine/sched/policies/multi_queue.h"
#include "engine/sched/policies/shinjuku.h"

namespace sluice::engine::sched {

using AnyPolicy =
    std::variant<FifoPerCpu, FifoCentral, JoinShortestQueue, Shinjuku, MultiQueue, FairShare>;

/// Requirements of a listed policy: a name for flags and reports, and a factory.
template <typename P>
concept NamedPolicy = Policy<P> && requires(const PolicyOptions& options) {
  { P::kName } -> std::convertible_to<std::string_view>;
  { P::Make(options) } -> std::same_as<P>;
};

/// Ordered like AnyPolicy's alternatives.
inline constexpr auto kPolicyNames = []<typename... P>(std::type_identity<std::variant<P...>>) {
  static_assert((NamedPolicy<P> && ...));
  return std::array{P::kName...};
}(std::type_identity<AnyPolicy>());

/// Calls visit(policy) with the policy that has this name. Returns false if there is none.
template <typename V>
bool VisitPolicy(std::string_view name, const PolicyOptions& options, V&& visit) {
  return [&]<typename... P>(std::type_identity<std::variant<P...>>) {
    return ((name == P::kName && (visit(P::Make(options)), true)) || ...);
  }(std::type_identity<AnyPolicy>());
}

}  // namespace sluice::engine::sched
