// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the ends of lib/swap on the model of a link: the posts and the duration of a swap, and the
// agreement of both ends over every kind of window, with torn lines and with a link that goes down.
// Expected durations: a one-way transfer takes 379 ns. A port reads a line twice (word 0, then all
// words); a read takes 30 ns at the NIC and 40 ns at the host.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "bar/window_trace.h"
#include "fabric/window.h"
#include "swap/port.h"

namespace sluice::fabric {
namespace {

using swap::Event;
using swap::Initiator;
using swap::InitiatorPort;
using swap::Outcome;
using swap::Responder;
using swap::ResponderPort;

constexpr Picoseconds kNicLooks = 2 * 30_ns;
constexpr Picoseconds kHostLooks = 2 * 40_ns;
constexpr uint16_t kEpoch = 1;

/// A cell that is exchanged if the offer names its version. The decision costs time.
struct Cell {
  swap::Answer Evaluate(const swap::Message& offer, swap::Reply& reply) {
    cpu->Compute(decision);
    reply.key = version;
    reply.payload = value;
    return offer.key == version ? swap::Answer::kTrue : swap::Answer::kFalse;
  }
  void Apply(const swap::Message& offer) {
    value = offer.payload;
    ++version;
  }
  Cpu* cpu;
  Picoseconds decision;
  uint64_t version = 7;
  swap::Payload value{100, 101, 102, 103};
};

/// An initiator on window I and a responder on window R; the constructor connects them.
template <typename I, typename R>
struct Link {
  Link(EventQueue& queue, I& initiator_end, R& responder_end, const swap::Machine& machine,
       Picoseconds decision)
      : trace(events),
        initiator_window(initiator_end, trace, SideOf<I>()),
        responder_window(responder_end, trace, SideOf<R>()),
        initiator(initiator_window, 0, Initiator(machine, kEpoch, 1)),
        responder(responder_window, 0, Responder(machine, kEpoch, 1)),
        cell{&responder_end, decision} {
    while (!initiator.end().CanOffer()) {
      if constexpr (std::is_same_v<I, HostEnd>) {
        initiator_end.Flush();
      } else {
        responder_end.Flush();
      }
      responder.Poll(cell);
      initiator.Poll();
    }
    queue.Run();
    queue.RunUntil(std::max(initiator_end.now(), responder_end.now()));
  }
  template <typename W>
  static constexpr bar::WindowSide SideOf() {
    return std::is_same_v<W, HostEnd> ? bar::WindowSide::kHost : bar::WindowSide::kNic;
  }

  std::array<bar::WindowEvent, 256> events;
  bar::WindowTrace trace;
  bar::TracedWindow<I> initiator_window;
  bar::TracedWindow<R> responder_window;
  InitiatorPort<bar::TracedWindow<I>> initiator;
  ResponderPort<bar::TracedWindow<R>> responder;
  Cell cell;
};

struct Measured {
  Picoseconds responder_acts = 0;  ///< Time at which the responder posts its commit.
  Picoseconds answer_arrives = 0;
  Picoseconds initiator_knows = 0;  ///< Time at which the initiator's port returns the result.
  bar::LinkBytes bytes;
  uint64_t posts = 0;
};

template <typename I, typename R>
Measured SwapOnce(EventQueue& queue, WindowPair& pair, I& initiator_end, R& responder_end,
                  Picoseconds decision) {
  Link link(queue, initiator_end, responder_end, swap::kTwoMessage, decision);
  Measured measured;
  const Picoseconds start = queue.now();
  const bar::LinkBytes before = pair.link_bytes();
  const uint64_t posts_before = link.trace.count(bar::WindowOperation::kPost);
  responder_end.OnArrival([&] {
    if (link.responder.Poll(link.cell) != Event::kCommitted) return;
    link.cell.Apply(link.responder.offer());
    measured.responder_acts = responder_end.now() - start;
  });
  initiator_end.OnArrival([&] {
    measured.answer_arrives = initiator_end.now() - start;
    const auto result = link.initiator.Poll();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->outcome, Outcome::kCommitted);
    EXPECT_EQ(result->payload, (swap::Payload{100, 101, 102, 103}));
    measured.initiator_knows = initiator_end.now() - start;
  });
  link.initiator.MakeOffer({7, {1, 2, 3, 4}});
  queue.Run();
  EXPECT_EQ(link.cell.value, (swap::Payload{1, 2, 3, 4}));
  measured.bytes = pair.link_bytes() - before;
  measured.posts = link.trace.count(bar::WindowOperation::kPost) - posts_before;
  responder_end.OnArrival(nullptr);
  initiator_end.OnArrival(nullptr);
  return measured;
}

TEST(SwapOnFabric, OfTwoMessagesByTheHost) {
  for (const Picoseconds t : {0_ns, 250_ns, 1117_ns}) {
    EventQueue queue;
    WindowPair pair(queue, {});
    const Measured swap = SwapOnce(queue, pair, pair.host(), pair.nic(), t);
    EXPECT_EQ(swap.answer_arrives, 758_ns + kNicLooks + t);
    EXPECT_EQ(swap.initiator_knows, 758_ns + kNicLooks + t + kHostLooks);
    EXPECT_EQ(swap.bytes, (bar::LinkBytes{88, 88}));
    EXPECT_EQ(swap.posts, 2u);
  }
}

TEST(SwapOnFabric, OfTwoMessagesByTheNic) {
  EventQueue queue;
  WindowPair pair(queue, {});
  const Measured swap = SwapOnce(queue, pair, pair.nic(), pair.host(), 250_ns);
  EXPECT_EQ(swap.answer_arrives, 758_ns + kHostLooks + 250_ns);
  EXPECT_EQ(swap.bytes, (bar::LinkBytes{88, 88}));
  EXPECT_EQ(swap.posts, 2u);
}

TEST(SwapOnFabric, OfFourMessages) {
  constexpr Picoseconds kDecision = 500_ns;
  EventQueue queue;
  WindowPair pair(queue, {});
  HostEnd& host = pair.host();
  NicEnd& nic = pair.nic();
  Link link(queue, host, nic, swap::kFourMessage, kDecision);
  const Picoseconds start = queue.now();
  const bar::LinkBytes before = pair.link_bytes();
  std::optional<Picoseconds> initiator_commits, responder_hears, closed;
  nic.OnArrival([&] {
    const Picoseconds arrival = nic.now() - start;
    if (link.responder.Poll(link.cell) != Event::kCommitted) return;
    responder_hears = arrival;
    link.cell.Apply(link.responder.offer());
  });
  host.OnArrival([&] {
    const Picoseconds arrival = host.now() - start;
    link.initiator.Poll();
    if (link.initiator.end().state() == swap::State::kValidate) {
      initiator_commits = host.now() - start;
      EXPECT_EQ(link.initiator.Commit()->outcome, Outcome::kCommitted);
    } else if (link.initiator.end().CanOffer()) {
      closed = arrival;
    }
  });
  link.initiator.MakeOffer({7, {1, 2, 3, 4}});
  queue.Run();
  // The time until the first commit includes the responder's poll and decision. Later polls do not
  // include a decision.
  const Picoseconds first = kNicLooks + kDecision;
  EXPECT_EQ(initiator_commits, 758_ns + first + kHostLooks);
  EXPECT_EQ(responder_hears, 1137_ns + first + kHostLooks);
  EXPECT_EQ(closed, 1516_ns + first + kHostLooks + kNicLooks);
  EXPECT_EQ(pair.link_bytes() - before, (bar::LinkBytes{176, 176}));
  EXPECT_EQ(link.cell.version, 8u);
}

/// Results of each end, indexed by transaction id.
struct Logs {
  std::map<uint32_t, Outcome> initiator;
  std::map<uint32_t, Event> responder;
};

/// Swaps until `swaps` are resolved. Every third offer names a stale version. After every 20 swaps,
/// the link goes down during an offer.
template <typename I, typename R>
Logs SwapMany(EventQueue& queue, WindowPair& pair, I& initiator_end, R& responder_end,
              uint32_t swaps) {
  Link link(queue, initiator_end, responder_end, swap::kTwoMessage, 10_ns);
  Logs logs;
  uint64_t offered = 0;
  uint16_t epoch = kEpoch;
  swap::Payload expected = link.cell.value;
  while (logs.initiator.size() < swaps) {
    if (link.initiator.end().CanOffer()) {
      ++offered;
      const uint64_t key = offered % 3 == 0 ? 0 : link.cell.version;
      link.initiator.MakeOffer({key, {offered, offered, offered, offered}});
      if (offered % 20 == 0) {
        queue.RunUntil(queue.now() + offered * 13_ns);
        pair.SetLinkUp(false);
        EXPECT_FALSE(link.initiator.Poll().has_value());
        pair.SetLinkUp(true);
        link.initiator.Reset(++epoch);
        link.responder.Reset(epoch);
      }
    }
    pair.host().Flush();
    const Event event = link.responder.Poll(link.cell);
    if (event != Event::kNothing) {
      EXPECT_TRUE(logs.responder.emplace(link.responder.end().txid(), event).second);
    }
    if (event == Event::kCommitted) link.cell.Apply(link.responder.offer());
    if (const auto result = link.initiator.Poll()) {
      EXPECT_TRUE(logs.initiator.emplace(result->txid, result->outcome).second);
      EXPECT_EQ(result->payload, expected) << "the value before, or the present one";
      expected = link.cell.value;
    }
  }
  EXPECT_FALSE(link.initiator.end().faulted());
  EXPECT_FALSE(link.responder.end().faulted());
  return logs;
}

struct Kind {
  HostStores stores;
  NicLines lines;
};

class SwapOverEveryWindow : public testing::TestWithParam<Kind> {
 protected:
  WindowParameters Parameters() const {
    WindowParameters parameters;
    parameters.host_stores = GetParam().stores;
    parameters.nic_lines = GetParam().lines;
    parameters.early_evictions_permille = 300;
    return parameters;
  }
  static void ExpectAgreement(const Logs& logs) {
    uint32_t committed = 0;
    for (const auto& [txid, outcome] : logs.initiator) {
      ASSERT_TRUE(logs.responder.contains(txid));
      EXPECT_EQ(outcome == Outcome::kCommitted, logs.responder.at(txid) == Event::kCommitted);
      committed += outcome == Outcome::kCommitted;
    }
    EXPECT_EQ(committed, logs.initiator.size() - logs.initiator.size() / 3);
  }
};

TEST_P(SwapOverEveryWindow, BothEndsAgreeWhenTheHostOffers) {
  EventQueue queue;
  WindowPair pair(queue, Parameters());
  ExpectAgreement(SwapMany(queue, pair, pair.host(), pair.nic(), 150));
}

TEST_P(SwapOverEveryWindow, BothEndsAgreeWhenTheNicOffers) {
  EventQueue queue;
  WindowPair pair(queue, Parameters());
  ExpectAgreement(SwapMany(queue, pair, pair.nic(), pair.host(), 150));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SwapOverEveryWindow,
                         testing::Values(Kind{HostStores::kWholeLine, NicLines::kPushed},
                                         Kind{HostStores::kWriteCombining, NicLines::kPushed},
                                         Kind{HostStores::kUncached, NicLines::kPushed},
                                         Kind{HostStores::kWholeLine, NicLines::kUncached},
                                         Kind{HostStores::kUncached, NicLines::kUncached},
                                         Kind{HostStores::kWriteCombining,
                                              NicLines::kWriteThrough}));

}  // namespace
}  // namespace sluice::fabric
