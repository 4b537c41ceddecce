// SPDX-License-Identifier: BSD-3-Clause
//
// An agent with its end of a channel, for a policy and a kind of channel that are chosen at run
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/sched/agent.h"
#include "engine/sched/policies/all.h"

namespace sluice::sched {

/// The functions of engine::sched::Agent that an agent's thread uses.
class AgentSide {
 public:
  virtual ~AgentSide() = default;
  virtual uint32_t Step(engine::sched::Nanoseconds now) = 0;
  virtual const engine::sched::AgentCounters& counters() const = 0;
};

/// An agent with policy P over the NIC's end C of a channel.
template <typename P, typename C>
class AgentOf final : public AgentSide {
 public:
  /// `window` must outlive the object.
  template <typename Window, typename Layout>
  AgentOf(P policy, Window& window, const Layout& layout, uint32_t incarnation,
          const engine::sched::AgentOptions& options)
      : channel_(window, layout, incarnation), agent_(std::move(policy), channel_, options) {}

  uint32_t Step(engine::sched::Nanoseconds now) override { return agent_.Step(now); }
  const engine::sched::AgentCounters& counters() const override { return agent_.counters(); }

 private:
  C channel_;
  engine::sched::Agent<P, C> agent_;
};

/// Creates an agent with the policy of this name, which must exist, over the NIC's end C of a
/// channel. `window` must outlive the agent; `incarnation` is that of its end.
template <typename C, typename Window, typename Layout>
std::unique_ptr<AgentSide> MakeAgent(std::string_view policy,
                                     const engine::sched::PolicyOptions& policy_options,
                                     Window& window, const Layout& layout, uint32_t incarnation,
                                     const engine::sched::AgentOptions& options) {
  std::unique_ptr<AgentSide> made;
  engine::sched::VisitPolicy(policy, policy_options, [&](auto chosen) {
    made = std::make_unique<AgentOf<decltype(chosen), C>>(std::move(chosen), window, layout,
                                                          incarnation, options);
  });
  return made;
}

}  // namespace sluice::sched
