// SPDX-License-Identifier: BSD-3-Clause
//
// Which flow rules have hit no frame for as long as they may. Hits are counted anyway; this looks
// at the counts now and then, so that no frame pays for it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::device::ipu {

/// A rule's part in FlowAges, in the rule itself.
struct FlowUse {
  static constexpr uint32_t kAgeless = ~0u;
  uint64_t hits = 0;        ///< Frames; only grows.
  uint32_t age = kAgeless;  ///< Place in FlowAges.
};

/// Rules stay where they are in memory while they are here.
class FlowAges {
 public:
  bool empty() const { return rules_.empty(); }
  /// `patience_ns` without a hit, and it has aged. The host calls the rule `cookie`.
  void Add(FlowUse& use, uint64_t cookie, uint64_t patience_ns, uint64_t now_ns);
  void Remove(FlowUse& use);
  void Clear();

  /// Looks at a part of the rules. True if there is something to tell now and was not before.
  bool Look(uint64_t now_ns);
  /// The cookie of a rule that has aged and was not told since; nothing if there is none.
  std::optional<uint64_t> Pop();

 private:
  static constexpr uint32_t kLookedAtOnce = 64;
  static constexpr uint64_t kRound_ns = 50'000'000;  ///< Between the beginnings of two rounds.

  enum class State : uint8_t { kYoung, kAged, kTold };
  struct Rule {
    FlowUse* use;
    uint64_t cookie;
    uint64_t patience_ns;
    uint64_t hits;      ///< When it was looked at,
    uint64_t since_ns;  ///< and when they last grew.
    State state;
  };
  void SetState(Rule& rule, State state) {
    untold_ += (state == State::kAged) - (rule.state == State::kAged);
    rule.state = state;
  }

  std::vector<Rule> rules_;
  uint32_t next_ = 0;  ///< To be looked at.
  uint64_t next_round_ns_ = 0;
  uint32_t popped_ = 0;  ///< Where Pop goes on.
  uint32_t untold_ = 0;  ///< Rules in kAged.
};

}  // namespace sluice::device::ipu
