// SPDX-License-Identifier: BSD-3-Clause
//
// Compares bursts with single frames. The complete sluice-kv engine, including reassembly and ARP,
// receives the same traffic in both forms. The outcome of each frame, the sent bytes and their
// order, all counters and the stored items must be equal.
#include "packet/burst.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/kv/mica_format.h"
#include "engine/neighbor/neighbor.h"
#include "nic/reassembling.h"
#include "packet/own_addresses.h"
#include "server_lab.h"

namespace sluice::engine::kv {
namespace {

using TestServer = Server<TestHandoffQueue>;
using Engine = WithNeighbor<TestServer>;
using Front = nic::Reassembling<Engine>;
static_assert(packet::BurstEngine<TestServer> && packet::BurstEngine<Engine> &&
              packet::BurstEngine<Front>);
// The server handles a single frame as a burst of one, so it has no function for single frames.
static_assert(!packet::FrameEngine<TestServer>);

constexpr uint32_t kTailroom = 96;

/// The outcome of a received frame, or a sent frame.
struct Event {
  packet::Verdict verdict{packet::Action::kForward};
  Frame bytes;  ///< Set if the frame was forwarded, sent or passed.
  bool sent = false;
  friend bool operator==(const Event&, const Event&) = default;
};

/// Two workers with a store, in one thread.
class Rig {
 public:
  explicit Rig(uint32_t handoffs = 3) {
    store_.workers = kWorkers;
    store_.secret = 42;
    for (uint32_t i = 0; i < kWorkers; ++i) {
      store_.partitions.emplace_back(PartitionOptions{.memory_bytes = 4 << 20, .items = 64});
    }
    for (uint32_t i = 0; i < handoffs; ++i) {
      handoffs_.handoffs.push_back(std::make_unique<Handoff>());
      handoffs_.empty.push_back(handoffs_.handoffs.back().get());
    }
    ServiceOptions options = LabOptions();
    options.max_reply_bytes = 8192;
    options.excess_bytes_per_s = 2'000;
    packet::OwnAddresses own(kServerMac);
    std::string error;
    EXPECT_TRUE(own.Add("10.0.0.2,2001:db8::2", &error)) << error;
    options.gate.own = own;
    for (uint32_t i = 0; i < kWorkers; ++i) {
      packet::Defragmenter fragments(4, kCyclesPerSecond, /*seed=*/i);
      fronts_.push_back(std::make_unique<Front>(std::move(fragments), [&] {
        return Engine(own, std::in_place, store_, i, options, TestHandoffQueue(handoffs_, i),
                      kCyclesPerSecond);
      }));
      fronts_[i]->set_outbox(packet::Outbox::To(*this));
      fronts_[i]->set_counters(counters_);
    }
    Rest(0);
  }

  void Rest(uint64_t now) {
    now_ = now;
    for (int i = 0; i < 2; ++i) {
      for (auto& front : fronts_) front->AtRest(now);
    }
  }

  void GiveOneByOne(std::span<const Frame> frames, uint32_t worker) {
    for (const Frame& frame : frames) {
      const Memory memory(frame);
      packet::Frame view = memory.view();
      const packet::Verdict verdict = fronts_[worker]->Process(view, now_);
      Note(view, verdict);
    }
  }
  void GiveAtOnce(std::span<const Frame> frames, uint32_t worker) {
    std::vector<Memory> memories(frames.begin(), frames.end());
    packet::BurstTotals totals;
    for (const Frame& frame : frames) totals.Add(static_cast<uint32_t>(frame.size()));
    uint32_t next = 0;
    packet::FoundBurst burst(
        static_cast<uint32_t>(frames.size()), totals,
        [&](uint32_t number) { return memories[number].view(); },
        [&](uint32_t number, const packet::Frame& frame, packet::Verdict verdict) {
          EXPECT_EQ(number, next++) << "each once, in the order of numbers";
          Note(frame, verdict);
        });
    fronts_[worker]->ProcessBurst(burst, now_);
    EXPECT_EQ(next, frames.size());
  }

  /// Records a frame that the engine sends through its outbox.
  bool Send(const uint8_t* frame, uint32_t length) {
    events_.push_back({.bytes = Frame(frame, frame + length), .sent = true});
    return true;
  }
  std::vector<Event> Events() { return std::exchange(events_, {}); }

  const Store& store() const { return store_; }
  const nic::QueueCounters& counters() const { return counters_; }
  std::map<std::string, std::string> Items() const {
    std::map<std::string, std::string> items;
    for (const Partition& partition : store_.partitions) {
      partition.ForEach(1, [&](Bytes key, const ItemView& view) {
        items[{key.begin(), key.end()}] = {view.value.begin(), view.value.end()};
      });
    }
    return items;
  }

 private:
  /// A frame with tailroom, in an allocation of exactly that size, so that a sanitizer detects
  /// reads beyond the end.
  class Memory {
   public:
    explicit Memory(const Frame& frame)
        : length_(static_cast<uint32_t>(frame.size())), bytes_(new uint8_t[length_ + kTailroom]) {
      std::copy(frame.begin(), frame.end(), bytes_.get());
      std::fill_n(bytes_.get() + length_, kTailroom, uint8_t{0xa5});
    }
    packet::Frame view() const { return {bytes_.get(), length_, 0, kTailroom}; }

   private:
    uint32_t length_;
    std::unique_ptr<uint8_t[]> bytes_;
  };

  void Note(const packet::Frame& frame, packet::Verdict verdict) {
    const bool whole = verdict == packet::kForward || verdict == packet::kPass;
    events_.push_back({verdict, whole ? Frame(frame.data, frame.data + frame.length) : Frame()});
  }

  Store store_;
  Handoffs handoffs_;
  nic::QueueCounters counters_;
  std::vector<std::unique_ptr<Front>> fronts_;
  std::vector<Event> events_;
  uint64_t now_ = 0;
};

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Splits a UDP/IPv4 frame into fragments with `bytes` of IP payload, a multiple of 8 (RFC 791,
/// section 3.2).
std::vector<Frame> Cut(const Frame& frame, uint16_t id, size_t bytes) {
  std::vector<Frame> fragments;
  const size_t end = frame.size();
  for (size_t from = 34; from < end; from += bytes) {
    const size_t to = std::min(end, from + bytes);
    Frame part(frame.begin(), frame.begin() + 34);
    part.insert(part.end(), frame.begin() + static_cast<ptrdiff_t>(from),
                frame.begin() + static_cast<ptrdiff_t>(to));
    packet::StoreBe16(&part[16], static_cast<uint16_t>(part.size() - 14));
    packet::StoreBe16(&part[18], id);
    packet::StoreBe16(&part[20], static_cast<uint16_t>((to < end ? 0x2000 : 0) | (from - 34) / 8));
    packet::Store<uint16_t>(&part[24], 0);
    packet::Store(&part[24], packet::FinishChecksum(packet::SumBytes(&part[14], 20)));
    fragments.push_back(std::move(part));
  }
  return fragments;
}

/// Random valid and damaged client traffic, with few keys.
class Traffic {
 public:
  explicit Traffic(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 12; ++i) keys_.push_back("k" + std::to_string(i));
    keys_.push_back("exactly8");
    keys_.push_back(std::string(40, 'l'));
  }

  /// Returns at least `count` frames.
  std::vector<Frame> Next(size_t count) {
    std::vector<Frame> frames;
    while (frames.size() < count) Add(&frames);
    return frames;
  }
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

 private:
  void Add(std::vector<Frame>* frames) {
    switch (Below(12)) {
      case 0:
        return frames->push_back(Arp());
      case 1:
        return frames->push_back(Udp(static_cast<uint16_t>(Below(65536)), Ascii("get k1\r\n")));
      case 2: {  // Fragments, some of them missing, duplicated or late.
        auto parts = Cut(Datagram(), static_cast<uint16_t>(Below(3)), 8 * (2 + Below(20)));
        if (Below(4) == 0) std::swap(parts.front(), parts.back());
        for (Frame& part : parts) {
          if (Below(16) == 0) continue;
          if (Below(8) == 0) frames->push_back(Datagram());
          frames->push_back(std::move(part));
        }
        return;
      }
      default:
        break;
    }
    Frame frame = Datagram();
    if (Below(8) == 0) frame[Below(static_cast<uint32_t>(frame.size()))] ^= uint8_t{1} << Below(8);
    if (Below(32) == 0) frame.resize(Below(static_cast<uint32_t>(frame.size())) + 1);
    frames->push_back(std::move(frame));
  }

  Frame Datagram() {
    const bool ipv6 = Below(8) == 0;
    const bool summed = ipv6 || Below(2) == 0;
    const bool vlan = Below(16) == 0;
    switch (Below(4)) {
      case 0:
        return Udp(kMemcachedPort, Text(), ipv6, summed, vlan);
      case 1:
        return Udp(kMemcachedPort, Binary(), ipv6, summed, vlan);
      default:
        return Udp(static_cast<uint16_t>(kMicaPort + Below(kWorkers)), Batch(), ipv6, summed, vlan);
    }
  }

  Frame Batch() {
    std::vector<MicaMessage> messages;
    std::vector<std::string> values;
    values.reserve(40);
    const uint32_t count = 1 + (Below(8) == 0 ? Below(40) : Below(6));
    for (uint32_t i = 0; i < count; ++i) {
      const std::string& key = Key();
      auto operation = static_cast<MicaOperation>(Below(10));
      if (Below(2) == 0) operation = MicaOperation::kGet;
      const bool bears = operation == MicaOperation::kSet || operation == MicaOperation::kAdd ||
                         operation == MicaOperation::kIncrement;
      values.push_back(std::string(!bears          ? 0
                                   : Below(2) == 0 ? 8
                                                   : Below(20),
                                   static_cast<char>('a' + Below(26))));
      messages.push_back({.operation = operation,
                          .opaque = Below(1000),
                          .hash = RouteHash(AsBytes(key)),
                          .key = AsBytes(key),
                          .value = AsBytes(values.back())});
    }
    return MicaPayload(messages);
  }

  Frame Text() {
    std::string text;
    for (uint32_t i = 0, count = 1 + Below(3); i < count; ++i) text += Command();
    return Ascii(text, static_cast<uint16_t>(Below(65536)));
  }
  std::string Command() {
    const std::string& key = Key();
    switch (Below(9)) {
      case 0:
        return "delete " + key + "\r\n";
      case 1:
        return "incr " + key + " 5\r\n";
      case 2:
        return "gets " + key + " " + Key() + "\r\n";
      case 3: {  // May later cause an answer that is longer than a datagram.
        const std::string value(Below(2) == 0 ? 900 : Below(30), 'v');
        return "set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
      }
      case 4:
        return "append " + key + " 0 0 3\r\nabc\r\n";
      case 5:
        return "mg " + key + " v t\r\n";
      case 6:
        return "get " + key + " " + Key() + " " + Key() + " " + Key() + " " + Key() + "\r\n";
      case 7:
        return "set " + key + " 0 0 2\r\n17\r\n";
      default:
        return "get " + key + "\r\n";
    }
  }

  /// Returns a binary get, set or delete (memcached, protocol_binary).
  Frame Binary() {
    const std::string& key = Key();
    const uint32_t opcode = std::array<uint8_t, 3>{0, 1, 4}[Below(3)];
    const std::string value = opcode == 1 ? std::string(Below(20), 'b') : "";
    const uint32_t extras = opcode == 1 ? 8 : 0;
    Frame payload = Ascii("");
    payload.insert(payload.end(),
                   {0x80, static_cast<uint8_t>(opcode), 0, static_cast<uint8_t>(key.size()),
                    static_cast<uint8_t>(extras), 0, 0, 0});
    payload.resize(payload.size() + 16 + extras);
    packet::StoreBe32(&payload[16], static_cast<uint32_t>(extras + key.size() + value.size()));
    payload.insert(payload.end(), key.begin(), key.end());
    payload.insert(payload.end(), value.begin(), value.end());
    return payload;
  }

  /// Returns an ARP request for 10.0.0.2 (RFC 826).
  static Frame Arp() {
    Frame frame(kServerMac.begin(), kServerMac.end());
    frame.insert(frame.end(), kClientMac.begin(), kClientMac.end());
    frame.insert(frame.end(), {0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1});
    frame.insert(frame.end(), kClientMac.begin(), kClientMac.end());
    frame.insert(frame.end(), {10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2});
    frame.resize(60);
    return frame;
  }

  const std::string& Key() { return keys_[Below(static_cast<uint32_t>(keys_.size()))]; }

  std::mt19937 random_;
  std::vector<std::string> keys_;
};

/// Returns all counters of a worker that must be equal whether frames arrive in bursts or singly.
std::vector<uint64_t> CountersOf(const ResponderCounters& counters) {
  std::vector<uint64_t> all;
  for (const auto& [name, member] : kProtocolCounters) {
    all.push_back(counters.mica.*member);
    all.push_back(counters.memcached.*member);
  }
  for (const uint64_t other : {counters.handed_over, counters.taken_over, counters.datagrams_sent,
                               counters.lost_on_the_way, counters.withheld}) {
    all.push_back(other);
  }
  return all;
}

TEST(KvBursts, EndAsTheirFramesDoOneByOne) {
  std::set<std::pair<packet::Action, uint8_t>> endings;
  uint64_t sent = 0, reassembled = 0, hits = 0, handed_over = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Traffic traffic(seed);
    Rig single, burst;
    uint64_t now = 0;
    for (int i = 0; i < 60; ++i) {
      const auto frames = traffic.Next(1 + traffic.Below(traffic.Below(2) == 0 ? 8 : 150));
      const uint32_t worker = traffic.Below(kWorkers);
      single.GiveOneByOne(frames, worker);
      burst.GiveAtOnce(frames, worker);
      now += traffic.Below(kCyclesPerSecond / 8);
      single.Rest(now);
      burst.Rest(now);
      const std::vector<Event> expected = single.Events();
      ASSERT_EQ(burst.Events(), expected) << i;
      for (const Event& event : expected) {
        if (event.sent) {
          ++sent;
        } else {
          endings.insert({event.verdict.action, event.verdict.reason});
        }
      }
    }
    ASSERT_EQ(burst.Items(), single.Items());
    for (uint32_t i = 0; i < kWorkers; ++i) {
      const ResponderCounters& counted = *single.store().traffic[i];
      EXPECT_EQ(CountersOf(*burst.store().traffic[i]), CountersOf(counted));
      hits += counted.mica.get_hits + counted.memcached.get_hits;
      handed_over += counted.handed_over;
    }
    EXPECT_EQ(burst.counters().reassembled_pkts, single.counters().reassembled_pkts);
    reassembled += single.counters().reassembled_pkts;
  }
  // The test is meaningful only if each verdict occurred.
  using S = TestServer;
  for (const packet::Verdict verdict :
       {packet::kForward, packet::kConsume, packet::kPass, packet::Drop(S::kMalformed),
        packet::Drop(S::kBadChecksum), packet::Drop(S::kRefused), packet::Drop(S::kNoHandoff),
        packet::Drop(S::kNotOurs), packet::Drop(S::kWithheld)}) {
    EXPECT_TRUE(endings.contains({verdict.action, verdict.reason}))
        << static_cast<int>(verdict.action) << " " << static_cast<int>(verdict.reason);
  }
  EXPECT_GT(sent, 100u);
  EXPECT_GT(reassembled, 100u);
  EXPECT_GT(hits, 1000u);
  EXPECT_GT(handed_over, 100u);
}

/// Returns the value of the only answer in a MICA frame.
std::string ValueIn(const Frame& frame) {
  MicaMessage message;
  const Bytes payload(&frame[42], packet::LoadBe16(&frame[38]) - 8u);
  EXPECT_EQ(CountMica(payload, kMicaAnswers), 1u);
  EXPECT_NE(ReadMica(payload, kMicaHeaderBytes, &message), 0u);
  return {message.value.begin(), message.value.end()};
}

// Sets and reads one key alternately with both protocols. The requests and frames exceed one
// planning batch, so that some lookups happen long before the set whose value they must see.
TEST(KvBursts, AGetSeesWhatTheLastSetOfItsBurstLeft) {
  Rig rig;
  std::string key = "samekey0";
  while (rig.store().OwnerOf(RouteHash(AsBytes(key))) != 0) ++key.back();
  std::vector<Frame> frames;
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < 100; ++i) {
    expected.push_back("value " + std::to_string(i) + std::string(i % 11, 'x'));
    const std::string& value = expected.back();
    frames.push_back(i % 2 == 0 ? Udp(kMicaPort, MicaPayload({{.operation = MicaOperation::kSet,
                                                               .key = AsBytes(key),
                                                               .value = AsBytes(value)}}))
                                : Udp(kMemcachedPort,
                                      Ascii("set " + key + " 0 0 " + std::to_string(value.size()) +
                                            "\r\n" + value + "\r\n")));
    frames.push_back(
        Udp(kMicaPort, MicaPayload({{.operation = MicaOperation::kGet, .key = AsBytes(key)}})));
  }
  rig.GiveAtOnce(frames, 0);
  const std::vector<Event> events = rig.Events();
  ASSERT_EQ(events.size(), frames.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(events[2 * i + 1].verdict, packet::kForward);
    EXPECT_EQ(ValueIn(events[2 * i + 1].bytes), expected[i]) << i;
  }
}

}  // namespace
}  // namespace sluice::engine::kv
