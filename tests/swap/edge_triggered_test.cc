// SPDX-License-Identifier: BSD-3-Clause
//
// Demonstrates that outcomes must be retained. Models EC_Link's link machine: two ping-pong rings,
// a three-message transaction on one of them, and a recovery that is signalled once and then
// forgotten. The model has no clock: an end declares the peer's ring dead if its own ring makes
// five round trips without a packet on the peer's ring. The model tolerates one lost packet; after
// two lost packets the ends disagree.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../exhaustive/explorer.h"

namespace sluice::swap::test {
namespace {

using exhaustive::Exploration;
using exhaustive::Explorer;
using exhaustive::Move;

// ENTL, ENTT and ENTA in EC_Link.
enum class RingEvent : uint8_t { kNone, kTransfer, kAcknowledge };
enum class Fate : uint8_t { kNone, kCommitted, kCancelled };

struct Packet {
  bool reply;  ///< True on the receiver's ring, false on the sender's.
  RingEvent event;
  bool recover;
};

struct RingEnd {
  // NIL, Ra, Rb and Rp in EC_Link.
  enum class State : uint8_t { kNil, kOffered, kPrepared, kAcknowledged };
  State state = State::kNil;
  Fate fate = Fate::kNone;
  bool heard = false;  ///< This end has received a packet of the peer's ring since it last sent a
                       ///< packet.
  uint8_t silent_rounds = 0;
};

/// End 0 initiates one transaction; end 1 responds.
class EdgeTriggered {
 public:
  enum Property { kDivergence };

  explicit EdgeTriggered(int losses) : losses_(losses) {
    for (int end = 0; end < 2; ++end) Send(end, {false, RingEvent::kNone, false});
  }

  void Moves(std::vector<Move>& moves) const {
    for (uint8_t end = 0; end < 2; ++end) {
      if (to_[end].empty()) continue;
      moves.push_back({kDeliver, end});
      const bool may_start = end == 0 && !started_ && to_[0].front().reply;
      if (may_start) moves.push_back({kDeliverAndStart, end});
      if (losses_ > 0) moves.push_back({kLose, end});
    }
  }
  bool Benign(Move move) const { return move.kind != kLose; }

  void Apply(Move move) {
    const int end = move.index;
    const Packet packet = to_[end].front();
    to_[end].erase(to_[end].begin());
    if (move.kind == kLose) {
      --losses_;
    } else if (packet.reply) {
      OwnRingReturns(end, packet, move.kind == kDeliverAndStart);
    } else {
      PeerRingArrives(end, packet);
    }
  }

  bool Resolved() const {
    return ends_[0].state == RingEnd::State::kNil && ends_[1].state == RingEnd::State::kNil;
  }
  uint32_t violated() const {
    const Fate one = ends_[0].fate, other = ends_[1].fate;
    const bool diverged = (one == Fate::kCommitted && other == Fate::kCancelled) ||
                          (one == Fate::kCancelled && other == Fate::kCommitted);
    return diverged << kDivergence;
  }

  std::string Key() const {
    std::string key;
    const auto put = [&key](int value) { key += static_cast<char>(value); };
    put(losses_ | started_ << 4);
    for (int end = 0; end < 2; ++end) {
      put(static_cast<int>(ends_[end].state) | static_cast<int>(ends_[end].fate) << 4);
      put(ends_[end].heard | ends_[end].silent_rounds << 1);
      put(static_cast<int>(to_[end].size()));
      for (const Packet& packet : to_[end]) {
        put(packet.reply | packet.recover << 1 | static_cast<int>(packet.event) << 2);
      }
    }
    return key;
  }
  std::string Describe(Move move) const {
    const Packet& packet = to_[move.index].front();
    constexpr const char* kEvents[] = {"", "+ENTT", "+ENTA"};
    return std::string(move.kind == kLose ? "lost: " : "") + (packet.reply ? "R" : "S") +
           kEvents[static_cast<int>(packet.event)] + (packet.recover ? "+recover" : "") + " to " +
           (move.index == 0 ? "the initiator" : "the responder");
  }
  std::string Summary() const {
    constexpr const char* kStates[] = {"NIL", "Ra", "Rb", "Rp"};
    constexpr const char* kFates[] = {"-", "C", "X"};
    std::string text;
    for (int end = 0; end < 2; ++end) {
      text += std::string(end == 0 ? "initiator " : ", responder ") +
              kStates[static_cast<int>(ends_[end].state)] + " " +
              kFates[static_cast<int>(ends_[end].fate)];
    }
    return text;
  }

 private:
  enum Kind : uint8_t { kDeliver, kDeliverAndStart, kLose };
  static constexpr uint8_t kSilentRounds = 4;  ///< The ring is dead after one more silent round.

  void Send(int from, Packet packet) { to_[1 - from].push_back(packet); }

  void OwnRingReturns(int end, const Packet& packet, bool start) {
    Send(end, {false, end == 0 ? Initiate(packet, start) : RingEvent::kNone, false});
    RingEnd& self = ends_[end];
    if (self.heard) {
      self.silent_rounds = 0;
    } else if (self.silent_rounds == kSilentRounds) {
      self.silent_rounds = 0;
      Recover(end);
    } else {
      ++self.silent_rounds;
    }
    self.heard = false;
  }

  RingEvent Initiate(const Packet& packet, bool start) {
    RingEnd& self = ends_[0];
    switch (self.state) {
      case RingEnd::State::kOffered:
        if (packet.recover) return End(self, Fate::kCancelled);
        if (packet.event != RingEvent::kTransfer) return RingEvent::kNone;
        self.state = RingEnd::State::kAcknowledged;
        return RingEvent::kAcknowledge;
      case RingEnd::State::kAcknowledged:
        if (packet.recover) {
          // An acknowledgment means that the peer has cancelled. Without one, the peer had already
          // committed.
          return End(self,
                     packet.event == RingEvent::kAcknowledge ? Fate::kCancelled : Fate::kCommitted);
        }
        return packet.event == RingEvent::kAcknowledge ? End(self, Fate::kCommitted)
                                                       : RingEvent::kNone;
      default:
        if (!start) return RingEvent::kNone;
        started_ = true;
        self.state = RingEnd::State::kOffered;
        return RingEvent::kTransfer;
    }
  }

  static RingEvent End(RingEnd& self, Fate fate) {
    self.state = RingEnd::State::kNil;
    self.fate = fate;
    return RingEvent::kNone;
  }

  void PeerRingArrives(int end, const Packet& packet) {
    RingEnd& self = ends_[end];
    self.heard = true;
    if (end == 1 && packet.event == RingEvent::kTransfer) self.state = RingEnd::State::kPrepared;
    if (end == 1 && packet.event == RingEvent::kAcknowledge &&
        self.state == RingEnd::State::kPrepared) {
      End(self, Fate::kCommitted);
    }
    Send(end, {true, packet.event, false});
  }

  /// Revives the peer's ring. Only the packet that revives the ring reports that a transaction was
  /// cancelled.
  void Recover(int end) {
    RingEnd& self = ends_[end];
    const bool cancels = self.state == RingEnd::State::kPrepared;
    if (cancels) End(self, Fate::kCancelled);
    Send(end, {true, cancels ? RingEvent::kAcknowledge : RingEvent::kNone, true});
  }

  RingEnd ends_[2];
  std::vector<Packet> to_[2];  ///< The queues are first in, first out.
  int losses_;
  bool started_ = false;
};

Exploration Explore(int losses) {
  Exploration found = Explorer(EdgeTriggered(losses)).Run();
  std::printf("edge-triggered, %d lost: %llu states, %llu divergent, %llu in doubt for ever\n",
              losses, static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.violating[EdgeTriggered::kDivergence]),
              static_cast<unsigned long long>(found.unresolvable));
  EXPECT_TRUE(found.complete);
  return found;
}

TEST(EdgeTriggered, SurvivesOneLoss) {
  for (int losses = 0; losses <= 1; ++losses) {
    const Exploration found = Explore(losses);
    EXPECT_EQ(found.violations(), 0u) << found.trace;
    EXPECT_EQ(found.unresolvable, 0u) << found.trace;
  }
}

TEST(EdgeTriggered, DivergesWithTwoLosses) {
  for (int losses = 2; losses <= 3; ++losses) {
    const Exploration found = Explore(losses);
    EXPECT_GT(found.violations(), 0u);
    // Both rings are dead: neither end can find the outcome, and one of them waits.
    EXPECT_GT(found.unresolvable, 0u);
    if (losses == 2) std::printf("%s", found.trace.c_str());
  }
}

}  // namespace
}  // namespace sluice::swap::test
