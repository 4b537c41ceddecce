// SPDX-License-Identifier: BSD-3-Clause
//
// Explores every order in which TLPs enter, leave and are consumed, with the minimum number of
// credits. Every message must arrive once, complete and in order; there must be no deadlock; and a
// stalled stage must stall only its stream. The last test verifies that without per-stream credits
// a stalled stage also stalls other streams.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "exhaustive/explorer.h"
#include "rig.h"

namespace sluice::device::pcie_switch::test {
namespace {

using exhaustive::Exploration;
using exhaustive::Explorer;
using exhaustive::Move;

constexpr uint32_t kLines = 2;  // Lines per message: the header and 64 bytes. Each line is one TLP.

/// One node of a stream. It consumes a message when it can forward it.
struct Stage {
  StreamId stream = 0;
  NodeId node = 0;
  PortId port = 0;
  bool stalled = false;
  bool sink = false;
  std::vector<StreamReader> reader;  ///< Empty at the first node.
  uint64_t window = 0;
  uint32_t capacity = 0;
  uint32_t to_send = 0;  ///< TLPs to write.
  uint32_t written = 0;  ///< Cumulative count of TLPs.
  uint64_t freed = 0;
  uint32_t next = 0;  ///< Number of the message to send next; at a sink, of the message expected
                      ///< next.
  std::array<uint32_t, 4> numbers{};  ///< Numbers of the messages to send, in order.
};

struct Plan {
  FlowControl flow_control = FlowControl::kStream;
  /// For each stream, the ports of its nodes.
  std::vector<std::vector<PortId>> streams;
  uint32_t messages = 2;
  uint32_t buffer_lines = kLines;
  /// Stream whose second node never consumes a message, so that its messages are not expected to
  /// arrive; -1 for none.
  int stalled_stream = -1;
  int mortal_port = -1;  ///< Port whose device may die once and is then bypassed; -1 for none.
};

class World {
 public:
  explicit World(const Plan& plan)
      : sw_({.ports = 4,
             .pipeline = {.capacity = {8, 8, 8, 8, 8, 16}},
             .flow_control = plan.flow_control,
             .port_granules = 4}),
        plan_(plan) {
    for (uint32_t s = 0; s < plan.streams.size(); ++s) {
      const auto& ports = plan.streams[s];
      StreamSpec spec{.nodes = {}, .max_message = 64};
      for (NodeId n = 0; n < ports.size(); ++n) {
        std::vector<Edge> edges;
        if (n + 1u < ports.size()) edges = {Always(static_cast<NodeMask>(2u << n))};
        spec.nodes.push_back(Node(ports[n], s, n, edges, plan.buffer_lines * kGranule));
        spec.nodes[n].window_granules = 4;
        if (ports[n] == plan.mortal_port) {
          spec.nodes[n].on_death = OnDeath::kBypass;
          spec.nodes[n].bypass = static_cast<NodeId>(n + 1);
        }
      }
      const Opened opened = sw_.Open(spec);
      EXPECT_EQ(opened.error, "");
      for (NodeId n = 0; n < ports.size(); ++n) {
        Stage stage{.stream = opened.stream,
                    .node = n,
                    .port = ports[n],
                    .stalled = static_cast<int>(s) == plan.stalled_stream && n == 1,
                    .sink = n + 1u == ports.size(),
                    .reader = {},
                    .window = opened.windows[n],
                    .capacity = 4};
        if (n != 0) {
          stage.reader.emplace_back(spec.nodes[n].buffer, spec.nodes[n].buffer_bytes,
                                    opened.registers[n], ports[n]);
        } else {
          stage.to_send = plan.messages * kLines;
          for (uint32_t i = 0; i < plan.messages; ++i) stage.numbers[i] = i;
        }
        stages_.push_back(stage);
      }
    }
  }

  enum Kind : uint8_t { kWrite, kLeave, kWork, kTake, kDie };

  void Moves(std::vector<Move>& moves) const {
    for (uint8_t i = 0; i < stages_.size(); ++i) {
      const Stage& stage = stages_[i];
      if (stage.to_send != 0 && HasCredit(stage, 1)) moves.push_back({kWrite, i});
      if (!stage.reader.empty() && !stage.stalled && stage.reader[0].Whole() && CanSendOn(stage))
        moves.push_back({kWork, i});
    }
    for (uint8_t port = 0; port < 4; ++port) {
      if (!PerStream() && fifo_[port].size() >= kFifo) continue;
      moves.push_back({kLeave, port});
    }
    for (uint8_t port = 0; port < 4; ++port)
      if (!fifo_[port].empty() && CanTake(fifo_[port].front())) moves.push_back({kTake, port});
    if (plan_.mortal_port >= 0 && !died_) moves.push_back({kDie, 0});
  }
  bool Benign(Move) const { return true; }

  void Apply(Move move) {
    switch (move.kind) {
      case kWrite:
        Write(stages_[move.index]);
        break;
      case kLeave:
        Leave(move.index);
        break;
      case kWork:
        Work(stages_[move.index]);
        break;
      case kTake:
        Deliver(move.index, fifo_[move.index].front());
        fifo_[move.index].erase(fifo_[move.index].begin());
        break;
      default:
        Die();
        break;
    }
    const Drops& drops = sw_.drops();
    for (uint32_t i = 0; i < drops.size(); ++i) {
      if (drops[i] != 0 && !(died_ && i == static_cast<uint32_t>(Drop::kStageDead)) &&
          !(died_ && i == static_cast<uint32_t>(Drop::kSenderDied))) {
        violated_ |= 1;
      }
    }
  }

  uint32_t violated() const { return violated_; }
  bool Resolved() const {
    for (const Stage& stage : stages_) {
      if (!stage.sink || static_cast<int>(stage.stream) == plan_.stalled_stream) continue;
      const uint64_t lost = died_ ? sw_.dropped(Drop::kStageDead) + inside_ : 0;
      if (delivered_ + lost != WaitedFor()) return false;
    }
    return true;
  }
  std::string Key() const {
    std::string key;
    sw_.AppendState(key);
    const auto add = [&](uint64_t number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    for (const Stage& stage : stages_) {
      add(stage.to_send);
      add(stage.written);
      add(stage.freed);
      add(stage.next);
      for (const StreamReader& reader : stage.reader) {
        add(reader.received());
        add(reader.consumed());
      }
    }
    for (const auto& fifo : fifo_) {
      add(fifo.size());
      for (const Tlp& tlp : fifo) add(tlp.address);
    }
    add(delivered_ << 1 | uint64_t{died_});
    add(inside_);
    return key;
  }
  std::string Describe(Move move) const {
    constexpr std::array kNames = {"write", "leave", "work", "take", "die"};
    return std::string(kNames[move.kind]) + " " + std::to_string(move.index);
  }
  std::string Summary() const { return "delivered " + std::to_string(delivered_); }

 private:
  /// Maximum number of TLPs that a device holds without per-stream credits.
  static constexpr size_t kFifo = 2;

  bool PerStream() const { return plan_.flow_control == FlowControl::kStream; }
  uint64_t WaitedFor() const {
    const auto streams = plan_.streams.size() - (plan_.stalled_stream >= 0 ? 1 : 0);
    return streams * plan_.messages;
  }
  bool HasCredit(const Stage& stage, uint32_t lines) const {
    return !PerStream() || stage.written + lines - stage.freed <= stage.capacity;
  }
  bool CanSendOn(const Stage& stage) const {
    return stage.sink || (stage.to_send == 0 && HasCredit(stage, kLines));
  }
  /// Returns whether the stage can accept the TLP at the front of the device's FIFO. Used only
  /// without credits.
  bool CanTake(const Tlp& tlp) const {
    for (const Stage& stage : stages_) {
      if (stage.reader.empty() || !stage.reader[0].Owns(tlp.address)) continue;
      return stage.reader[0].received() - stage.reader[0].consumed() <
             plan_.buffer_lines * kGranule;
    }
    return true;
  }

  void Write(Stage& stage) {
    Tlp tlp;
    const uint32_t line = (kLines - stage.to_send % kLines) % kLines;
    const uint32_t number = stage.numbers[stage.next % stage.numbers.size()];
    tlp.address = stage.window + line * kGranule;
    tlp.length = kGranule;
    tlp.payload.fill(static_cast<uint8_t>(number + 1));
    if (line == 0) StoreTo(tlp.payload.data(), MessageHeader{.message = number, .length = 64});
    if (!sw_.Accept(stage.port, tlp)) return;
    --stage.to_send;
    ++stage.written;
    if (line + 1 == kLines) ++stage.next;
  }
  void Leave(PortId port) {
    Tlp tlp;
    if (!sw_.Next(port, tlp)) return;
    if (PerStream()) {
      Deliver(port, tlp);
    } else {
      fifo_[port].push_back(tlp);
    }
  }
  void Deliver(PortId port, const Tlp& tlp) {
    for (Stage& stage : stages_) {
      if (stage.port != port) continue;
      const uint64_t control = NodeBase(port, stage.stream, stage.node) + kControlOffset;
      if (tlp.address == control) stage.freed = LoadFrom<uint64_t>(tlp.payload.data());
      if (stage.reader.empty()) continue;
      if (tlp.address == control + 8) {
        stage.reader[0].Abort(LoadFrom<uint64_t>(tlp.payload.data()));
      } else if (stage.reader[0].Owns(tlp.address)) {
        stage.reader[0].Accept(tlp);
        const uint64_t held = stage.reader[0].received() - stage.reader[0].consumed();
        if (held > plan_.buffer_lines * kGranule) violated_ |= 2;
      }
    }
    ReturnCredits();  // Returns the credits held by aborted messages.
  }
  void Work(Stage& stage) {
    const auto message = stage.reader[0].Pop();
    for (const uint8_t byte : message->data)
      if (byte != message->header.message + 1) violated_ |= 4;
    if (stage.sink) {
      if (message->header.message < stage.next)
        violated_ |= 8;  // The message is out of order or a
                         // duplicate.
      if (!died_ && message->header.message != stage.next) violated_ |= 16;
      stage.next = message->header.message + 1;
      ++delivered_;
    } else {
      stage.numbers[stage.next % stage.numbers.size()] = message->header.message;
      stage.to_send = kLines;
    }
    ReturnCredits();
  }
  void ReturnCredits() {
    for (Stage& stage : stages_) {
      Tlp tlp;
      if (!stage.reader.empty() && stage.reader[0].Credits(tlp) && PerStream())
        sw_.Accept(stage.port, tlp);
    }
  }
  void Die() {
    died_ = true;
    for (Stage& stage : stages_) {
      if (stage.port != plan_.mortal_port) continue;
      // Counts messages that entered completely and did not leave completely.
      inside_ +=
          sw_.MessagesTo(stage.stream, stage.node) - sw_.MessagesFrom(stage.stream, stage.node);
      stage.stalled = true;
      stage.to_send = 0;
      stage.reader.clear();
    }
    sw_.Fail(static_cast<PortId>(plan_.mortal_port));
  }

  Switch sw_;
  Plan plan_;
  std::vector<Stage> stages_;
  std::array<std::vector<Tlp>, 4> fifo_;
  uint64_t delivered_ = 0;
  uint64_t inside_ = 0;
  bool died_ = false;
  uint32_t violated_ = 0;
};

Exploration Explore(const Plan& plan) {
  const Exploration found = Explorer<World>(World(plan)).Run(600'000);
  std::printf("%llu states, %llu moves\n", static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.moves));
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.violations(), 0u) << found.trace;
  return found;
}

TEST(Exploration, EveryMessageArrivesAndNothingDeadlocks) {
  const Exploration two = Explore({.streams = {{0, 1}, {0, 1}}});
  EXPECT_EQ(two.unresolvable, 0u) << two.trace;
  EXPECT_GT(two.states, 500u);
  const Exploration chain = Explore({.streams = {{0, 1, 2}}, .messages = 3, .buffer_lines = 3});
  EXPECT_EQ(chain.unresolvable, 0u) << chain.trace;
}

TEST(Exploration, ADeviceThatIsTwiceInAChainDoesNotDeadlock) {
  const Exploration found = Explore({.streams = {{0, 1, 2, 1}}, .messages = 3});
  EXPECT_EQ(found.unresolvable, 0u) << found.trace;
}

TEST(Exploration, AStageThatStopsStopsItsStreamAlone) {
  for (const uint32_t lines : {2, 3}) {
    const Exploration found = Explore(
        {.streams = {{0, 1}, {0, 2}}, .messages = 2, .buffer_lines = lines, .stalled_stream = 0});
    EXPECT_EQ(found.unresolvable, 0u) << found.trace;
  }
  // A stalled stage does not stall another stream, not even at the same port.
  const Exploration same = Explore({.streams = {{0, 1}, {0, 1}}, .stalled_stream = 0});
  EXPECT_EQ(same.unresolvable, 0u) << same.trace;
}

TEST(Exploration, WithoutCreditsItStopsOthers) {
  const Exploration found = Explore({.flow_control = FlowControl::kPort,
                                     .streams = {{0, 1}, {0, 2}},
                                     .messages = 3,
                                     .stalled_stream = 0});
  EXPECT_GT(found.unresolvable, 0u);
  // Without a stalled stage, everything arrives.
  const Exploration running =
      Explore({.flow_control = FlowControl::kPort, .streams = {{0, 1}, {0, 2}}});
  EXPECT_EQ(running.unresolvable, 0u) << running.trace;
}

TEST(Exploration, ADeathAtAnyTimeLosesWhatItSaysAndNothingInPart) {
  const Exploration found =
      Explore({.streams = {{0, 1, 2}}, .messages = 3, .buffer_lines = 3, .mortal_port = 1});
  EXPECT_EQ(found.unresolvable, 0u) << found.trace;
}

}  // namespace
}  // namespace sluice::device::pcie_switch::test
