// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the contract of the connection table (connections.h). Some tests compare it with a model, a
// map of flows with timeouts.
#include "engine/maglev/connections.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

namespace sluice::engine::maglev {
namespace {

using State = ConnectionState;

constexpr uint8_t kOwner = 7;
constexpr uint32_t kNow = 5000;

Timeouts TestTimeouts() {
  return {.tcp_s = 900, .tcp_opening_s = 30, .tcp_closing_s = 15, .udp_s = 40, .fragment_s = 1};
}
uint32_t TimeoutOf(State state) {
  static const std::map<State, uint32_t> timeouts = {{State::kOpening, 30},
                                                     {State::kTcp, 900},
                                                     {State::kClosing, 15},
                                                     {State::kUdp, 40},
                                                     {State::kUdpOpening, 40}};
  return timeouts.at(state);
}

/// A table in which every flow begins at the start of a second, and further packets arrive 2 ticks
/// later.
class Table : public ConnectionTable {
 public:
  using ConnectionTable::ConnectionTable;
  bool Insert(const Connection& entry, uint32_t second) {
    return ConnectionTable::Insert(entry, {second, 0});
  }
  BackendRef FindSettled(uint64_t tag, uint8_t owner, State state, uint32_t second) {
    return std::bit_cast<BackendRef>(
        ConnectionTable::FindSettled(*Prefetch(tag), tag, owner, state, second));
  }
  static void Touch(Connection& entry, bool syn, bool fin_or_rst, uint32_t second) {
    ConnectionTable::Touch(entry, syn, fin_or_rst, {second, 2});
  }
};

Connection Flow(uint64_t tag, State state, uint16_t backend = 1) {
  return {tag, {backend, 1}, 0, kOwner, state};
}

/// Returns tags with the same two buckets in tables of up to 2^14 entries: their lower 12 bits and
/// upper halves are equal.
uint64_t Crowd(uint64_t number) { return 0xabcd'ef01'0000'0123 | number << 12; }

std::vector<uint64_t> RandomTags(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> tags(count);
  for (uint64_t& tag : tags) tag = random();
  return tags;
}

TEST(ConnectionTable, AFlowIsFoundAsItWasRecorded) {
  Table table(1000, TestTimeouts());
  EXPECT_FALSE(table.Find(42, kOwner, kNow));
  ASSERT_TRUE(table.Insert({42, {65535, 65535}, 0, kOwner, State::kUdp}, kNow));
  const auto hit = table.Find(42, kOwner, kNow);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->entry.tag, 42u);
  EXPECT_EQ(hit->entry.backend, (BackendRef{65535, 65535}));
  EXPECT_EQ(hit->entry.seen_s, kNow);
  EXPECT_EQ(hit->entry.owner, kOwner);
  EXPECT_EQ(hit->entry.state, State::kUdp);
}

TEST(ConnectionTable, AFlowOfAnotherVipIsAnotherFlowThoughItsTagBeTheSame) {
  Table table(1000, TestTimeouts());
  table.Insert({42, {1, 1}, 0, 1, State::kUdp}, kNow);
  EXPECT_FALSE(table.Find(42, 2, kNow));
  table.Insert({42, {2, 1}, 0, 2, State::kUdp}, kNow);
  EXPECT_EQ(table.Find(42, 1, kNow)->entry.backend.index, 1);
  EXPECT_EQ(table.Find(42, 2, kNow)->entry.backend.index, 2);
}

TEST(ConnectionTable, EveryTagIsAName) {
  Table table(8, TestTimeouts());
  for (const uint64_t tag : {uint64_t{0}, ~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 31}) {
    EXPECT_FALSE(table.Find(tag, 0, kNow));
    ASSERT_TRUE(table.Insert({tag, {9, 1}, 0, 0, State::kTcp}, kNow));
    EXPECT_EQ(table.Find(tag, 0, kNow)->entry.backend.index, 9);
  }
}

TEST(ConnectionTable, AnEntryLivesForTheTimeoutOfItsState) {
  for (const State state :
       {State::kOpening, State::kTcp, State::kClosing, State::kUdp, State::kUdpOpening}) {
    Table table(1000, TestTimeouts());
    table.Insert(Flow(42, state), kNow);
    EXPECT_TRUE(table.Find(42, kOwner, kNow + TimeoutOf(state))) << static_cast<int>(state);
    EXPECT_FALSE(table.Find(42, kOwner, kNow + TimeoutOf(state) + 1)) << static_cast<int>(state);
  }
}

TEST(ConnectionTable, UpdateKeepsAFlowAlive) {
  Table table(1000, TestTimeouts());
  table.Insert(Flow(42, State::kUdp), kNow);
  for (uint32_t second = kNow; second < kNow + 400; second += 40) {
    auto hit = table.Find(42, kOwner, second);
    ASSERT_TRUE(hit) << second;
    Table::Touch(hit->entry, false, false, second);
    table.Update(hit->place, hit->entry);
  }
  EXPECT_TRUE(table.Find(42, kOwner, kNow + 400));
}

TEST(ConnectionTable, UpdateMovesAFlowAndRemoveForgetsIt) {
  Table table(1000, TestTimeouts());
  table.Insert(Flow(42, State::kTcp), kNow);
  auto hit = table.Find(42, kOwner, kNow);
  hit->entry.backend = {3, 4};
  table.Update(hit->place, hit->entry);
  EXPECT_EQ(table.Find(42, kOwner, kNow)->entry.backend, (BackendRef{3, 4}));
  table.Remove(hit->place);
  EXPECT_FALSE(table.Find(42, kOwner, kNow));
  EXPECT_EQ(table.CountByBackend({}, kNow), 0u);
}

// --- Time.

TEST(ConnectionTable, TheSixteenBitsOfTheTimeMayComeRound) {
  for (const uint32_t began : {65535u, 65536u, 65000u, 131071u, ~uint32_t{0} - 10}) {
    Table table(8, TestTimeouts());
    table.Insert(Flow(42, State::kTcp), began);
    EXPECT_TRUE(table.Find(42, kOwner, began + 900)) << began;
    EXPECT_FALSE(table.Find(42, kOwner, began + 901)) << began;
  }
}

TEST(ConnectionTable, IdleIsIdleUntilTheTimeComesRound) {
  Table table(8, TestTimeouts());
  table.Insert(Flow(42, State::kTcp), kNow);
  for (uint32_t age = 901; age < 65536 - ConnectionTable::kAheadS; ++age) {
    ASSERT_FALSE(table.Find(42, kOwner, kNow + age)) << age;
  }
}

TEST(ConnectionTable, WhatWasSweptNeverLivesAgain) {
  Timeouts longest = TestTimeouts();
  longest.tcp_s = ConnectionTable::kMaxTimeout;
  Table table(1 << 15, longest);  // A sweep visits more than one bucket.
  const auto tags = RandomTags(1 << 15, 3);
  for (const uint64_t tag : tags) table.Insert(Flow(tag, State::kTcp), kNow);
  const uint64_t recorded = table.CountByBackend({}, kNow + ConnectionTable::kMaxTimeout);
  EXPECT_GT(recorded, tags.size() * 99 / 100);  // Sweeps must not remove live entries.
  const uint32_t idle = kNow + ConnectionTable::kMaxTimeout;
  for (uint32_t second = kNow; second <= idle; second += 3) table.Sweep(second);
  EXPECT_EQ(table.CountByBackend({}, idle), recorded);
  for (uint32_t second = idle + 1; second < kNow + 65536; second += 3) table.Sweep(second);
  EXPECT_EQ(table.CountByBackend({}, kNow + 65536), 0u);
}

TEST(ConnectionTable, ASecondIsSweptOnce) {
  Table table(1 << 20, TestTimeouts());
  const auto tags = RandomTags(1 << 16, 4);
  for (const uint64_t tag : tags) table.Insert(Flow(tag, State::kUdp), kNow);
  // After the time has wrapped, all flows appear live again. One call sweeps only a small part of
  // the table.
  for (int call = 0; call < 8192; ++call) table.Sweep(kNow + 60);
  EXPECT_GT(table.CountByBackend({}, kNow + 65536), tags.size() * 9 / 10);
}

TEST(ConnectionTable, AReaderThatIsSecondsBehindSeesWhatIsLive) {
  Table table(8, TestTimeouts());
  table.Insert(Flow(42, State::kUdp), kNow);
  EXPECT_EQ(table.CountByBackend({}, kNow - ConnectionTable::kAheadS), 1u);
  EXPECT_EQ(table.CountByBackend({}, kNow - ConnectionTable::kAheadS - 1), 0u);
}

TEST(ConnectionTable, TimeoutsBeyondTheLongestAreCutToIt) {
  Timeouts timeouts = TestTimeouts();
  timeouts.tcp_s = ~uint32_t{0};
  Table table(8, timeouts);
  table.Insert(Flow(42, State::kTcp), kNow);
  EXPECT_TRUE(table.Find(42, kOwner, kNow + 32767));
  EXPECT_FALSE(table.Find(42, kOwner, kNow + 32768));
}

// --- States.

struct Packet {
  bool syn, fin_or_rst;
};
constexpr Packet kSyn = {true, false}, kData = {false, false}, kFin = {false, true},
                 kSynFin = {true, true};

State After(State state, Packet packet) {
  Connection entry = Flow(1, state);
  Table::Touch(entry, packet.syn, packet.fin_or_rst, kNow);
  EXPECT_EQ(entry.seen_s, kNow);
  return entry.state;
}

TEST(Touch, AnOpeningFlowIsEstablishedByItsFirstPacketWithoutSyn) {
  EXPECT_EQ(After(State::kOpening, kSyn), State::kOpening);
  EXPECT_EQ(After(State::kOpening, kData), State::kTcp);
}

/// Returns the entry of a flow that began at tick 250 of a second and got another packet `ticks`
/// ticks later.
Connection Later(State state, Packet packet, uint32_t ticks) {
  Table table(8, TestTimeouts());
  static_cast<ConnectionTable&>(table).Insert(Flow(1, state), {kNow, 250});
  Connection entry = table.Find(1, kOwner, kNow)->entry;
  const uint32_t at = 250 + ticks;
  ConnectionTable::Touch(entry, packet.syn, packet.fin_or_rst,
                         {kNow + at / Moment::kTicks, at % Moment::kTicks});
  return entry;
}

TEST(Touch, PacketsBackToBackWithTheFirstEstablishNothing) {
  for (const uint32_t ticks : {0, 1}) {  // Less than 8 ms, even across a second's end.
    for (const Packet packet : {kData, kFin}) {
      EXPECT_EQ(Later(State::kOpening, packet, ticks).state, State::kOpening) << ticks;
      EXPECT_EQ(Later(State::kUdpOpening, packet, ticks).state, State::kUdpOpening) << ticks;
    }
  }
  for (const uint32_t ticks : {2, 3, 5, 6, 7, 31, 256 - 33 + 5, 512, 513, 5 * 256}) {
    EXPECT_EQ(Later(State::kOpening, kData, ticks).state, State::kTcp) << ticks;
    EXPECT_EQ(Later(State::kOpening, kFin, ticks).state, State::kClosing) << ticks;
    EXPECT_EQ(Later(State::kUdpOpening, kData, ticks).state, State::kUdp) << ticks;
    EXPECT_EQ(Later(State::kOpening, kData, ticks).began, 0) << ticks;
  }
}

TEST(Touch, ASynBeginsAnOpeningFlowAgain) {
  Connection entry = Later(State::kOpening, kSyn, 100);
  EXPECT_EQ(entry.state, State::kOpening);
  ConnectionTable::Touch(entry, false, false, {kNow + 1, 350 + 1 - Moment::kTicks});
  EXPECT_EQ(entry.state, State::kOpening);
  ConnectionTable::Touch(entry, false, false, {kNow + 1, 350 + 2 - Moment::kTicks});
  EXPECT_EQ(entry.state, State::kTcp);
}

TEST(Touch, FinAndRstCloseWhateverIsTcp) {
  for (const State state : {State::kOpening, State::kTcp, State::kClosing}) {
    EXPECT_EQ(After(state, kFin), State::kClosing);
    EXPECT_EQ(After(state, kSynFin), State::kClosing);
  }
}

TEST(Touch, AnEstablishedFlowIsNotMadeEvictableByASyn) {
  EXPECT_EQ(After(State::kTcp, kSyn), State::kTcp);
  EXPECT_EQ(After(State::kTcp, kData), State::kTcp);
}

TEST(Touch, AClosingFlowStaysSoUntilASynReopensIt) {
  EXPECT_EQ(After(State::kClosing, kData), State::kClosing);
  EXPECT_EQ(After(State::kClosing, kSyn), State::kOpening);
}

TEST(Touch, UdpHasNoFlags) {
  for (const Packet packet : {kSyn, kData, kFin, kSynFin}) {
    EXPECT_EQ(After(State::kUdp, packet), State::kUdp);
    EXPECT_EQ(After(State::kUdpOpening, packet), State::kUdp);
  }
}

TEST(Touch, TheTimeIsModulo65536) {
  Connection entry = Flow(1, State::kUdp);
  Table::Touch(entry, false, false, 65536 + 5);
  EXPECT_EQ(entry.seen_s, 5);
}

// --- Settled flows.

constexpr BackendRef kThirdBackend{3, 1};

TEST(FindSettled, KnowsALiveFlowOfTheVipInTheStateThatWasAskedFor) {
  for (const State state : {State::kTcp, State::kUdp}) {
    Table table(1000, TestTimeouts());
    table.Insert(Flow(42, state, 3), kNow);
    const State other = state == State::kTcp ? State::kUdp : State::kTcp;
    EXPECT_EQ(table.FindSettled(42, kOwner, state, kNow), kThirdBackend);
    EXPECT_EQ(table.FindSettled(42, kOwner, other, kNow), BackendRef());
    EXPECT_EQ(table.FindSettled(42, kOwner + 1, state, kNow), BackendRef());
    EXPECT_EQ(table.FindSettled(43, kOwner, state, kNow), BackendRef());
  }
}

TEST(FindSettled, LeavesFlowsThatOpenOrCloseToFind) {
  for (const State state : {State::kOpening, State::kClosing}) {
    Table table(1000, TestTimeouts());
    table.Insert(Flow(42, state), kNow);
    EXPECT_EQ(table.FindSettled(42, kOwner, State::kTcp, kNow), BackendRef());
    EXPECT_EQ(table.FindSettled(42, kOwner, State::kUdp, kNow), BackendRef());
    EXPECT_EQ(table.Find(42, kOwner, kNow)->entry.state, state) << "and as they were";
  }
}

TEST(FindSettled, KnowsNobodyInAnEmptyTableWhateverTheTag) {
  Table table(8, TestTimeouts());
  for (const State state : {State::kTcp, State::kUdp}) {
    EXPECT_EQ(table.FindSettled(0, 0, state, 0), BackendRef());
    EXPECT_EQ(table.FindSettled(42, 0, state, 0), BackendRef());
  }
}

TEST(FindSettled, EndsWithTheTimeoutAndDoesNotWakeWhatIsIdle) {
  for (const State state : {State::kTcp, State::kUdp}) {
    const uint32_t last = kNow + TimeoutOf(state);
    Table table(1000, TestTimeouts());
    table.Insert(Flow(42, state, 3), kNow);
    EXPECT_EQ(table.FindSettled(42, kOwner, state, last + 1), BackendRef());
    EXPECT_FALSE(table.Find(42, kOwner, last + 1));
    EXPECT_EQ(table.FindSettled(42, kOwner, state, last), kThirdBackend);
  }
}

TEST(FindSettled, KeepsAFlowAliveAndChangesNothingElse) {
  Table table(1000, TestTimeouts());
  table.Insert(Flow(42, State::kUdp, 3), kNow);
  uint32_t second = kNow;
  for (; second < kNow + 70'000; second += 40) {  // The time wraps.
    ASSERT_EQ(table.FindSettled(42, kOwner, State::kUdp, second), kThirdBackend) << second;
    const auto hit = table.Find(42, kOwner, second);
    ASSERT_TRUE(hit);
    Connection expected = Flow(42, State::kUdp, 3);
    expected.seen_s = static_cast<uint16_t>(second);
    ASSERT_EQ(hit->entry.tag, expected.tag);
    ASSERT_EQ(hit->entry.backend, expected.backend);
    ASSERT_EQ(hit->entry.seen_s, expected.seen_s);
    ASSERT_EQ(hit->entry.owner, expected.owner);
    ASSERT_EQ(hit->entry.state, expected.state);
  }
}

TEST(FindSettled, KnowsEverySlotOfTheFirstBucketAndLeavesTheSecondToFind) {
  Table table(1 << 12, TestTimeouts());
  for (uint64_t i = 0; i < 8; ++i) {
    table.Insert(Flow(Crowd(i), State::kTcp, static_cast<uint16_t>(i)), kNow);
  }
  for (uint64_t i = 0; i < 8; ++i) {
    const BackendRef owner{static_cast<uint16_t>(i), 1};
    EXPECT_EQ(table.FindSettled(Crowd(i), kOwner, State::kTcp, kNow), i < 4 ? owner : BackendRef());
    EXPECT_EQ(table.Find(Crowd(i), kOwner, kNow)->entry.backend, owner);
  }
}

TEST(FindSettled, NeverAnswersForAnotherVipThatHasTheSameTag) {
  Table table(1000, TestTimeouts());
  table.Insert({42, {1, 1}, 0, 1, State::kUdp}, kNow);
  table.Insert({42, {2, 1}, 0, 2, State::kUdp}, kNow);
  for (const uint8_t owner : {1, 2}) {
    const BackendRef found = table.FindSettled(42, owner, State::kUdp, kNow);
    EXPECT_TRUE(found == (BackendRef{owner, 1}) || found == BackendRef());
    EXPECT_EQ(table.Find(42, owner, kNow)->entry.backend, (BackendRef{owner, 1}));
  }
}

// --- Capacity.

TEST(ConnectionTable, CapacityIsAPowerOfTwoWithAQuarterToSpare) {
  EXPECT_EQ(Table(0, TestTimeouts()).capacity(), 8u);
  EXPECT_EQ(Table(6, TestTimeouts()).capacity(), 8u);
  EXPECT_EQ(Table(8, TestTimeouts()).capacity(), 16u);
  EXPECT_EQ(Table(13107, TestTimeouts()).capacity(), 1u << 14);
  EXPECT_EQ(Table(13108, TestTimeouts()).capacity(), 1u << 15);
}

TEST(ConnectionTable, AsManyFlowsAsWereAskedForFindRoom) {
  for (const uint32_t flows : {1u << 12, 13107u}) {  // Half full, and 80 % full.
    Table table(flows, TestTimeouts());
    uint32_t refused = 0;
    for (const uint64_t tag : RandomTags(flows, flows)) {
      refused += !table.Insert(Flow(tag, State::kUdp), kNow);
    }
    EXPECT_LE(refused, flows / 200);
    EXPECT_EQ(table.CountByBackend({}, kNow), flows - refused);
  }
}

TEST(ConnectionTable, EightFlowsOfTheSameBucketsFitAndTheNinthIsRefused) {
  for (const State state : {State::kTcp, State::kUdp, State::kClosing}) {
    Table table(1 << 12, TestTimeouts());
    for (uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(table.Insert(Flow(Crowd(i), state), kNow)) << i;
    EXPECT_FALSE(table.Insert(Flow(Crowd(8), State::kTcp), kNow));
    EXPECT_FALSE(table.Insert(Flow(Crowd(9), State::kOpening), kNow));
    for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(table.Find(Crowd(i), kOwner, kNow)) << i;
    EXPECT_FALSE(table.Find(Crowd(8), kOwner, kNow));
  }
}

TEST(ConnectionTable, AnIdleFlowMakesRoomBeforeOneThatIsOpening) {
  for (uint64_t idle = 0; idle < 8; ++idle) {  // Makes each position in the bucket idle in turn.
    Table table(1 << 12, TestTimeouts());
    const uint64_t opening = (idle + 4) % 8;
    for (uint64_t i = 0; i < 8; ++i) {
      const State state = i == idle      ? State::kClosing
                          : i == opening ? State::kOpening
                                         : State::kTcp;
      table.Insert(Flow(Crowd(i), state), kNow);
    }
    ASSERT_TRUE(table.Insert(Flow(Crowd(8), State::kOpening), kNow + 16));
    for (uint64_t i = 0; i < 9; ++i) {
      EXPECT_EQ(table.Find(Crowd(i), kOwner, kNow + 16).has_value(), i != idle) << idle << i;
    }
  }
}

TEST(ConnectionTable, OpeningFlowsHaveAtMostHalfOfABucket) {
  for (const State state : {State::kOpening, State::kUdpOpening}) {
    Table table(1 << 12, TestTimeouts());
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(table.Insert(Flow(Crowd(i), state), kNow)) << i;
      EXPECT_LE(table.CountByBackend({}, kNow), 2u);
    }
    for (const uint64_t i : {98, 99}) EXPECT_TRUE(table.Find(Crowd(i), kOwner, kNow)) << i;
  }
}

TEST(ConnectionTable, AFloodWithoutSynHasAtMostHalfOfTheTableAndEstablishedFlowsTheRest) {
  for (const State state : {State::kOpening, State::kUdpOpening}) {
    Table table(1 << 12, TestTimeouts());
    for (const uint64_t tag : RandomTags(4 * table.capacity(), 21)) {
      table.Insert(Flow(tag, state), kNow);
      auto hit = table.Find(tag, kOwner, kNow);
      ASSERT_TRUE(hit);
      // Each packet is sent twice, back to back.
      ConnectionTable::Touch(hit->entry, false, false, {kNow, 1});
      table.Update(hit->place, hit->entry);
    }
    EXPECT_LE(table.CountByBackend({}, kNow), table.capacity() / 2);
    EXPECT_EQ(table.CountByBackend({}, kNow + TimeoutOf(state) + 1), 0u);
    for (const uint64_t tag : RandomTags(1 << 12, 22)) {
      EXPECT_TRUE(table.Insert(Flow(tag, State::kTcp), kNow));
    }
  }
}

TEST(ConnectionTable, OpeningFlowsGiveWayAndEstablishedOnesStay) {
  Table table(1 << 12, TestTimeouts());
  for (uint64_t i = 0; i < 7; ++i) table.Insert(Flow(Crowd(i), State::kTcp), kNow);
  for (uint64_t i = 7; i < 100; ++i) {
    EXPECT_TRUE(table.Insert(Flow(Crowd(i), State::kOpening), kNow)) << i;
    EXPECT_TRUE(table.Find(Crowd(i), kOwner, kNow)) << i;
  }
  EXPECT_TRUE(table.Insert(Flow(Crowd(100), State::kUdp), kNow));
  EXPECT_FALSE(table.Insert(Flow(Crowd(101), State::kTcp), kNow));
  for (uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(table.Find(Crowd(i), kOwner, kNow)) << i;
  EXPECT_TRUE(table.Find(Crowd(100), kOwner, kNow));
}

/// A tag that shares its first bucket with Crowd(), but not its second bucket.
constexpr uint64_t kNeighbour = 0xabcd'ee01'0000'0123;

// Moving a settled flow reads eight more cache lines, which is too expensive for the flows of a
// flood.
TEST(ConnectionTable, SettledFlowsMoveOnlyForOneThatIsNotOpening) {
  for (const State settled : {State::kTcp, State::kUdp}) {
    Table table(1 << 12, TestTimeouts());
    const auto is_in_first_bucket = [&](uint64_t tag) {
      return table.FindSettled(tag, kOwner, settled, kNow) != BackendRef();
    };
    table.Insert(Flow(kNeighbour, settled), kNow);
    for (uint64_t i = 0; i < 7; ++i) ASSERT_TRUE(table.Insert(Flow(Crowd(i), settled), kNow));

    EXPECT_FALSE(table.Insert(Flow(Crowd(7), State::kOpening), kNow));
    EXPECT_FALSE(table.Find(Crowd(7), kOwner, kNow));
    EXPECT_TRUE(is_in_first_bucket(kNeighbour));

    EXPECT_TRUE(table.Insert(Flow(Crowd(7), State::kTcp), kNow));
    EXPECT_TRUE(table.Find(Crowd(7), kOwner, kNow));
    EXPECT_FALSE(is_in_first_bucket(kNeighbour));
    EXPECT_TRUE(table.Find(kNeighbour, kOwner, kNow)) << "it is in its other bucket";
    for (uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(table.Find(Crowd(i), kOwner, kNow)) << i;
  }
}

TEST(ConnectionTable, OfABucketTheOldestOpeningFlowGivesWay) {
  for (const auto [first, second, oldest] : {std::array{1u, 2u, 0u}, {2u, 1u, 1u}, {1u, 1u, 0u}}) {
    Table table(1 << 12, TestTimeouts());
    table.Insert(Flow(Crowd(0), State::kOpening), kNow + first);
    table.Insert(Flow(Crowd(1), State::kOpening), kNow + second);
    table.Insert(Flow(Crowd(2), State::kOpening), kNow + 9);
    for (const uint64_t i : {0, 1, 2}) {
      EXPECT_EQ(table.Find(Crowd(i), kOwner, kNow + 9).has_value(), i != oldest) << i;
    }
  }
}

TEST(ConnectionTable, ASynFloodOfTenTimesTheCapacityLeavesEveryEstablishedFlow) {
  constexpr uint32_t kFlows = 1 << 14;
  Table table(kFlows, TestTimeouts());
  std::vector<uint64_t> established;
  for (const uint64_t tag : RandomTags(kFlows, 5)) {
    if (!table.Insert(Flow(tag, State::kOpening, tag % 100), kNow)) continue;
    auto hit = table.Find(tag, kOwner, kNow);
    ASSERT_TRUE(hit);
    Table::Touch(hit->entry, false, false, kNow);
    table.Update(hit->place, hit->entry);
    established.push_back(tag);
  }
  ASSERT_GT(established.size(), kFlows * 9 / 10);
  uint32_t second = kNow;
  uint32_t count = 0;
  for (const uint64_t tag : RandomTags(10 * table.capacity(), 6)) {
    table.Insert(Flow(tag, State::kOpening, 200), second);
    if (++count % 2000 == 0) ++second;
  }
  ASSERT_LT(second, kNow + 900);
  for (const uint64_t tag : established) {
    const auto hit = table.Find(tag, kOwner, second);
    ASSERT_TRUE(hit);
    ASSERT_EQ(hit->entry.backend.index, tag % 100);
  }
  EXPECT_LE(table.CountByBackend({}, second), table.capacity());
}

TEST(ConnectionTable, AFlowThatIsEstablishedDuringAFloodFindsRoom) {
  Table table(1 << 12, TestTimeouts());
  for (const uint64_t tag : RandomTags(10 << 12, 7)) {
    table.Insert(Flow(tag, State::kOpening), kNow);
  }
  for (const uint64_t tag : RandomTags(1 << 12, 8)) {
    EXPECT_TRUE(table.Insert(Flow(tag, State::kTcp), kNow));
  }
}

TEST(ConnectionTable, LiveFlowsAreCountedByBackend) {
  Table table(1000, TestTimeouts());
  for (uint64_t i = 0; i < 10; ++i) table.Insert(Flow(i << 40 | i, State::kTcp, i % 3), kNow);
  table.Insert(Flow(77, State::kClosing, 1), kNow);
  std::vector<uint32_t> counts = {100, 0};  // Counts are added to these; none for backend 2.
  EXPECT_EQ(table.CountByBackend(counts, kNow), 11u);
  EXPECT_EQ(counts, (std::vector<uint32_t>{104, 4}));
  EXPECT_EQ(table.CountByBackend({}, kNow + 16), 10u);
}

// --- Comparison with a model.

/// A flow in the model, which has unlimited capacity.
struct ModelFlow {
  uint16_t backend;
  State state;
  uint32_t seen_s;
  uint64_t began;  ///< Time of the first packet in ticks.

  bool IsLive(uint32_t second) const { return second - seen_s <= TimeoutOf(state); }
  /// Returns whether the table may evict the flow before its timeout.
  bool MayBeEvicted() const { return state == State::kOpening; }
};

State ModelNext(const ModelFlow& flow, Packet packet, Moment now) {
  const State state = flow.state;
  if (state == State::kUdp) return state;
  if (state == State::kOpening && !(packet.syn && !packet.fin_or_rst)) {
    const uint64_t ticks = uint64_t{now.seconds} * Moment::kTicks + now.tick - flow.began;
    if (now.seconds - flow.seen_s < 2 && ticks % 32 < 2) return state;
  }
  if (packet.fin_or_rst) return State::kClosing;
  if (packet.syn) return state == State::kTcp ? state : State::kOpening;
  return state == State::kClosing ? state : State::kTcp;
}

class AgainstAModel : public testing::TestWithParam<uint64_t> {};

TEST_P(AgainstAModel, NoBackendIsWrongAndNoEstablishedFlowIsLost) {
  std::mt19937_64 random(GetParam());
  Table table(256, TestTimeouts());
  const std::vector<uint64_t> tags = RandomTags(3 * table.capacity(), random());
  std::unordered_map<uint64_t, ModelFlow> model;
  uint32_t second = 65536 - 500;  // The time wraps soon.
  uint32_t tick = 0;
  uint32_t found = 0, refused = 0, evicted = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 500 == 0) second += static_cast<uint32_t>(random() % 20), tick = 0;
    if (random() % 100 == 0) tick = std::min(tick + static_cast<uint32_t>(random() % 8), 255u);
    const Moment now{second, tick};
    table.Sweep(second);
    const uint64_t tag = tags[random() % tags.size()];
    const Packet packet = {random() % 4 == 0, random() % 8 == 0};
    auto known = model.find(tag);
    if (known != model.end() && !known->second.IsLive(second)) {
      model.erase(known);
      known = model.end();
    }
    auto hit = table.Find(tag, kOwner, second);
    if (hit) {
      ASSERT_NE(known, model.end());
      ModelFlow& flow = known->second;
      ASSERT_EQ(hit->entry.tag, tag);
      ASSERT_EQ(hit->entry.backend, (BackendRef{flow.backend, 1}));
      ASSERT_EQ(hit->entry.state, flow.state);
      ++found;
      if (random() % 16 == 0) {
        table.Remove(hit->place);
        model.erase(known);
        continue;
      }
      const bool begins = packet.syn && !packet.fin_or_rst;
      flow.state = ModelNext(flow, packet, now);
      if (begins) flow.began = uint64_t{second} * Moment::kTicks + tick;
      flow.seen_s = second;
      ConnectionTable::Touch(hit->entry, packet.syn, packet.fin_or_rst, now);
      table.Update(hit->place, hit->entry);
      continue;
    }
    if (known != model.end()) {
      ASSERT_TRUE(known->second.MayBeEvicted());
      model.erase(known);
      ++evicted;
    }
    const State first = random() % 3 == 0 ? State::kUdp
                        : packet.syn      ? State::kOpening
                                          : State::kTcp;
    const uint16_t backend = static_cast<uint16_t>(random() % 1000);
    if (static_cast<ConnectionTable&>(table).Insert(Flow(tag, first, backend), now)) {
      model[tag] = {backend, first, second, uint64_t{second} * Moment::kTicks + tick};
    } else {
      ++refused;
    }
    if (step % 100 == 0) {
      ASSERT_LE(table.CountByBackend({}, second), table.capacity());
    }
  }
  // The run must have covered all of these cases.
  EXPECT_GT(found, 10'000u);
  EXPECT_GT(refused, 100u);
  EXPECT_GT(evicted, 10u);

  std::vector<uint32_t> counts(1000), expected(1000);
  for (const auto& [tag, flow] : model) {
    const bool live = flow.IsLive(second);
    const bool known = table.Find(tag, kOwner, second).has_value();
    if (!live || !flow.MayBeEvicted()) {
      EXPECT_EQ(known, live);
    }
    expected[flow.backend] += known;
  }
  table.CountByBackend(counts, second);
  EXPECT_EQ(counts, expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstAModel, testing::Values(1, 2, 3));

}  // namespace
}  // namespace sluice::engine::maglev
