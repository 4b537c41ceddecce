// SPDX-License-Identifier: BSD-3-Clause
//
// Finds flow rules that have had no hits for longer than their timeout. Hit counts, which are kept
// anyway, are read periodically, so aging has no cost per frame.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::device::ipu {

/// The part of a rule that FlowAges uses; a member of the rule.
struct FlowUse {
  static constexpr uint32_t kAgeless = ~0u;
  uint64_t hits = 0;        ///< Number of frames; never decreases.
  uint32_t age = kAgeless;  ///< Index in FlowAges, or kAgeless.
};

/// The rules that age. A rule must not move in memory while it is in this container.
class FlowAges {
 public:
  bool empty() const { return rules_.empty(); }
  /// Adds a rule that ages after `patience_ns` without a hit. `cookie` identifies the rule to the
  /// host.
  void Add(FlowUse& use, uint64_t cookie, uint64_t patience_ns, uint64_t now_ns);
  void Remove(FlowUse& use);
  void Clear();

  /// Checks some of the rules. Returns true if there are now aged rules to report and there were
  /// none before the call.
  bool Look(uint64_t now_ns);
  /// Returns the cookie of an aged rule that has not been reported yet, and marks the rule as
  /// reported. Returns nullopt if all aged rules have been reported.
  std::optional<uint64_t> Pop();

 private:
  static constexpr uint32_t kLookedAtOnce = 64;
  /// Minimum interval between the starts of two rounds of checks.
  static constexpr uint64_t kRound_ns = 50'000'000;

  enum class State : uint8_t { kYoung, kAged, kTold };
  struct Rule {
    FlowUse* use;
    uint64_t cookie;
    uint64_t patience_ns;
    uint64_t hits;      ///< The hit count at the last check.
    uint64_t since_ns;  ///< Time of Add, or of the last check that found more hits.
    State state;
  };
  void SetState(Rule& rule, State state) {
    untold_ += (state == State::kAged) - (rule.state == State::kAged);
    rule.state = state;
  }

  std::vector<Rule> rules_;
  uint32_t next_ = 0;  ///< Next rule to check.
  uint64_t next_round_ns_ = 0;
  uint32_t popped_ = 0;  ///< Rule at which Pop continues.
  uint32_t untold_ = 0;  ///< Number of rules in state kAged.
};

}  // namespace sluice::device::ipu
