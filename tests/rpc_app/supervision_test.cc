// SPDX-License-Identifier: BSD-3-Clause
//
// Tests services in separate processes: their answers, the outcome of calls when a process crashes,
// hangs, fails or returns an invalid result, and services that call other services. Expected
// replies follow RFC 5531 section 9 and RFC 4506.
#include "supervision.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coherent/wait.h"
#include "one_cpu.h"
#include "packet/bytes.h"
#include "packet/datagram.h"
#include "placement.h"
#include "service_functions.h"

namespace sluice::rpc_app {
namespace {

using Words = std::vector<uint32_t>;
using Clock = std::chrono::steady_clock;

constexpr uint16_t kPort = 20049;
constexpr uint32_t kAdd = 0x20000103;
constexpr uint32_t kOdd = 0x20000777;
constexpr uint32_t kPortmap = 100000;

// A wire that has at most one call per caller in flight.
class CallWire final : public emulator::Wire {
 public:
  std::span<const device::WireFrame> Pull(uint64_t, uint32_t) override {
    const std::scoped_lock lock(mutex_);
    sending_ = std::move(waiting_);
    waiting_.clear();
    frames_.clear();
    for (const auto& frame : sending_) {
      frames_.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    }
    return frames_;
  }
  void Consumed(uint32_t count) override { ASSERT_EQ(count, frames_.size()); }
  void Deliver(uint64_t, std::span<const device::WireFrame> frames) override {
    const std::scoped_lock lock(mutex_);
    for (const device::WireFrame& frame : frames) {
      const auto datagram = packet::Datagram::In(frame.data, frame.length);
      Words words;
      for (uint32_t at = 0; at + 4 <= datagram.payload_bytes; at += 4) {
        words.push_back(packet::LoadBe32(frame.data + datagram.payload + at));
      }
      replies_.push_back(words);
    }
  }
  const emulator::WireTotals& totals() const override { return totals_; }

  void Send(const Words& message) {
    std::vector<uint8_t> frame(packet::Datagram::kPlainPayload + 4 * message.size());
    packet::Datagram::WritePlain(
        frame.data(),
        {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, kPort},
        static_cast<uint32_t>(4 * message.size()));
    for (size_t i = 0; i < message.size(); ++i) {
      packet::StoreBe32(frame.data() + packet::Datagram::kPlainPayload + 4 * i, message[i]);
    }
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(frame);
  }
  // Returns the reply to `xid`, or no words if the reply has not arrived.
  Words PopReply(uint32_t xid) {
    const std::scoped_lock lock(mutex_);
    for (auto reply = replies_.begin(); reply != replies_.end(); ++reply) {
      if (reply->empty() || reply->front() != xid) continue;
      Words found = *reply;
      replies_.erase(reply);
      return found;
    }
    return {};
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<uint8_t>> waiting_, sending_;
  std::vector<device::WireFrame> frames_;
  std::vector<Words> replies_;
  emulator::WireTotals totals_;
};

// Limits that only a hanging service exceeds.
struct Options {
  uint64_t switch_ns = 10'000'000'000;
  uint64_t preempt_ns = 10'000'000'000;
  uint64_t nested_ns = 10'000'000'000;
  uint32_t cores = 1;
  std::vector<ServiceFiles> services = {{"odd", ODD_OBJECT, ODD_X, kPort},
                                        {"add", ADD_OBJECT, ADD_X, kPort},
                                        {"portmap", PORTMAP_OBJECT, PORTMAP_X, kPort}};
};

class SupervisionTest : public testing::Test {
 protected:
  explicit SupervisionTest(const Options& options = {}) {
    setenv("SLUICE_RPC_PROGRAMS",
           "100000:2:udp:10.0.0.2.0.111 536871171:1:udp:10.0.0.2.78.81 "
           "536871171:1:udp6:fd00::2.78.81",
           1);
    settings_.services = options.services;
    settings_.cores = settings_.service_cores = options.cores;
    settings_.service_program = SERVICE_PROGRAM;
    for (ServiceFiles& files : settings_.services) {
      for (const ServiceFiles& other : options.services) files.callees.push_back(other.x);
      compiled_.push_back(*rpc::CompileX(*ReadFile(files.x), files.x, &error_));
    }
    placement_ = MakePlacement("shinjuku", options.cores, 1'000'000);
    for (uint32_t core = 0; core < options.cores; ++core) {
      cores_.push_back(
          std::make_unique<KernelCore>(core, processes_, coherent::WaitMethod::kPause));
    }
    const device::rpc::RpcNicConfig config = {.dispatcher = {.cores = options.cores,
                                                             .switch_bound = options.switch_ns,
                                                             .leave_bound = 10'000'000'000,
                                                             .preempt_bound = options.preempt_ns,
                                                             .nested_bound = options.nested_ns},
                                              .users = kUserGeometry};
    nic_ = std::make_unique<NicThread>(config, *placement_, wire_, processes_, cores_, 100);
    nic_->Do([&](device::rpc::RpcNic& nic) {
      for (uint16_t core = 0; core < options.cores; ++core) {
        nic.AttachKernel(core, cores_[core]->endpoint());
      }
    });
    for (const auto& core : cores_) core->Start();
    supervision_ = std::make_unique<Supervision>(settings_, compiled_, processes_, *nic_);
    started_ = supervision_->Start(&error_);
    nic_->EnableWire(true);
  }
  ~SupervisionTest() override {
    nic_.reset();
    cores_.clear();
  }

  uint32_t Send(uint32_t program, uint32_t procedure, const Words& arguments = {},
                uint32_t version = 1) {
    Words message = {++xid_, 0, 2, program, version, procedure, 0, 0, 0, 0};
    message.insert(message.end(), arguments.begin(), arguments.end());
    wire_.Send(message);
    return xid_;
  }
  // Returns the words after the accepted reply's verifier: the status and the results. Returns no
  // words if no reply arrives in time.
  Words Await(uint32_t xid) {
    for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
      supervision_->Look();
      const Words reply = wire_.PopReply(xid);
      if (reply.size() >= 6) return Words(reply.begin() + 5, reply.end());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return {};
  }
  Words Call(uint32_t program, uint32_t procedure, const Words& arguments = {},
             uint32_t version = 1) {
    return Await(Send(program, procedure, arguments, version));
  }

  /// Returns the number of cores that run handlers.
  uint32_t Running() {
    uint32_t running = 0;
    nic_->Do([&](device::rpc::RpcNic& nic) {
      for (uint16_t core = 0; core < cores_.size(); ++core) {
        running += nic.dispatcher().state(core) == device::rpc::Dispatcher::CoreState::kRunning;
      }
    });
    return running;
  }

  static constexpr uint32_t kSystemErr = 5;

  Settings settings_;
  std::vector<rpc::CompiledX> compiled_;
  std::string error_;
  ProcessTable processes_;
  std::vector<std::unique_ptr<KernelCore>> cores_;
  std::unique_ptr<device::rpc::Placement> placement_;
  CallWire wire_;
  std::unique_ptr<NicThread> nic_;
  std::unique_ptr<Supervision> supervision_;
  bool started_ = false;
  uint32_t xid_ = 0;
};

TEST_F(SupervisionTest, ServicesTakeTurnsOnOneCoreAndAnswer) {
  ASSERT_TRUE(started_) << error_;
  for (uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(Call(kAdd, 1, {i, 100}), (Words{0, i + 100}));
    EXPECT_EQ(Call(kOdd, 6), Words{0});
  }
  EXPECT_EQ(Call(kOdd, 0), Words{0}) << "procedure 0 is there without a function";
  EXPECT_EQ(supervision_->restarts(), 0u);
}

TEST_F(SupervisionTest, StructuresWithPointersComeAndGo) {
  ASSERT_TRUE(started_) << error_;
  // RFC 4506: the words are the discriminant; the length, bytes and padding of a string; and the
  // length of an array.
  EXPECT_EQ(Call(kOdd, 5, {1, 5, 0x61626364, 0x65000000}), (Words{0, 1, 4, 0x62636465}));
  EXPECT_EQ(Call(kOdd, 5, {5, 3, 10, 20, 30}), (Words{0, 5, 3, 20, 40, 60}));
  EXPECT_EQ(Call(kOdd, 5, {9}), (Words{0, 9})) << "the default arm has no body";
}

TEST_F(SupervisionTest, AServiceThatCrashesIsStartedAgainAndTheOtherGoesOn) {
  ASSERT_TRUE(started_) << error_;
  EXPECT_EQ(Call(kOdd, 1), Words{kSystemErr});
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Call(kOdd, 6), Words{0}) << "waits for the next incarnation";
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(SupervisionTest, ThePortMapperKnowsWhatThereIs) {
  ASSERT_TRUE(started_) << error_;
  // RFC 1833 section 3: a mapping consists of program, version, protocol (17: UDP) and port. In a
  // list, TRUE precedes each mapping and FALSE follows the last one.
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 1, 17, 0}, 2), (Words{0, 20049}));
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 7, 17, 0}, 2), (Words{0, 20049})) << "another version of it";
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 1, 6, 0}, 2), (Words{0, 0})) << "over TCP there is nothing";
  EXPECT_EQ(Call(kPortmap, 3, {99, 1, 17, 0}, 2), (Words{0, 0}));
  EXPECT_EQ(Call(kPortmap, 4, {}, 2),
            (Words{0, 1, kPortmap, 2, 17, 111, 1, kAdd, 1, 17, 20049, 0}));
  EXPECT_EQ(Call(kPortmap, 1, {99, 1, 17, 9}, 2), (Words{0, 0})) << "nobody registers";
}

// Encodes a string according to RFC 4506 section 4.11: its length, its bytes, and zeros up to a
// complete word.
Words Text(const std::string& text) {
  Words words(1 + (text.size() + 3) / 4);
  words[0] = static_cast<uint32_t>(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    words[1 + i / 4] |= uint32_t{static_cast<uint8_t>(text[i])} << (24 - 8 * (i % 4));
  }
  return words;
}
Words Joined(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
// RFC 1833 section 2.1: a client's query, in which the address and the owner are empty.
Words Asked(uint32_t program, uint32_t version, const std::string& network) {
  return Joined({{program, version}, Text(network), {0, 0}});
}

TEST_F(SupervisionTest, RpcbindKnowsAddressesOfEveryNetwork) {
  ASSERT_TRUE(started_) << error_;
  const Words success = {0}, none = {0, 0};
  for (const uint32_t version : {3, 4}) {
    SCOPED_TRACE(version);
    const auto address = [&](uint32_t of, const std::string& network) {
      return Call(kPortmap, 3, Asked(kAdd, of, network), version);
    };
    EXPECT_EQ(address(1, "udp"), Joined({success, Text("10.0.0.2.78.81")}));
    EXPECT_EQ(address(1, "udp6"), Joined({success, Text("fd00::2.78.81")}));
    EXPECT_EQ(address(7, "udp"), Joined({success, Text("10.0.0.2.78.81")})) << "another version";
    EXPECT_EQ(address(1, "tcp"), none);
    EXPECT_EQ(Call(kPortmap, 3, Asked(99, 1, "udp"), version), none);
    const auto entry = [](uint32_t program, uint32_t of, const char* network, const char* where) {
      return Joined({{1, program, of}, Text(network), Text(where), Text("sluice-rpc")});
    };
    EXPECT_EQ(Call(kPortmap, 4, {}, version), Joined({success,
                                                      entry(kPortmap, 2, "udp", "10.0.0.2.0.111"),
                                                      entry(kAdd, 1, "udp", "10.0.0.2.78.81"),
                                                      entry(kAdd, 1, "udp6", "fd00::2.78.81"),
                                                      {0}}));
    EXPECT_EQ(Call(kPortmap, 1, Asked(99, 1, "udp"), version), none) << "nobody registers";
    EXPECT_EQ(Call(kPortmap, 5, {}, version), Words{3}) << "nor is called for others";
    const Words time = Call(kPortmap, 6, {}, version);
    ASSERT_EQ(time.size(), 2u);
    EXPECT_NEAR(time[1], static_cast<uint32_t>(std::time(nullptr)), 60);
  }
  EXPECT_EQ(Call(kPortmap, 9, Asked(kAdd, 1, "udp"), 4), Joined({success, Text("10.0.0.2.78.81")}));
  EXPECT_EQ(Call(kPortmap, 9, Asked(kAdd, 7, "udp"), 4), none) << "no other version";
  // Semantics 1: NC_TPI_CLTS.
  EXPECT_EQ(Call(kPortmap, 11, Asked(kAdd, 1, ""), 4), Joined({success,
                                                               {1},
                                                               Text("10.0.0.2.78.81"),
                                                               Text("udp"),
                                                               {1},
                                                               Text("inet"),
                                                               Text("udp"),
                                                               {1},
                                                               Text("fd00::2.78.81"),
                                                               Text("udp6"),
                                                               {1},
                                                               Text("inet6"),
                                                               Text("udp"),
                                                               {0}}));
  EXPECT_EQ(Call(kPortmap, 11, Asked(99, 1, ""), 4), none);
}

class HangingTest : public SupervisionTest {
 protected:
  HangingTest() : SupervisionTest({.preempt_ns = 2'000'000'000}) {}
};

TEST_F(HangingTest, AServiceThatHangsIsEndedAndTheOtherGoesOn) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t hanging = Send(kOdd, 2);
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Await(hanging), Words{kSystemErr});
  EXPECT_EQ(Call(kOdd, 6), Words{0});
  EXPECT_EQ(supervision_->restarts(), 1u);
}

class StarvingTest : public SupervisionTest {
 protected:
  StarvingTest() : SupervisionTest({.preempt_ns = 100'000'000}) {}
};

// The handler needs 5 ms of CPU time on a CPU that another thread occupies, while its core is being
// preempted.
TEST_F(StarvingTest, AServiceThatGetsNoCpuIsNotBlamed) {
  ASSERT_TRUE(started_) << error_;
  std::atomic<bool> stop{false};
  std::thread other([&] {
    const cpu_set_t first = FirstAllowedCpu();
    pthread_setaffinity_np(pthread_self(), sizeof first, &first);
    while (!stop) {
    }
  });
  const uint32_t spins = Send(kOdd, 11, {5});
  while (Running() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Await(spins), (Words{0, 5}));
  EXPECT_EQ(supervision_->restarts(), 0u);
  stop = true;
  other.join();
}

class SwitchingTest : public SupervisionTest {
 protected:
  SwitchingTest() : SupervisionTest({.switch_ns = 1'000'000'000}) {}
};

TEST_F(SwitchingTest, AServiceWhoseMemoryReadsZeroesIsStartedAgain) {
  ASSERT_TRUE(started_) << error_;
  Send(kOdd, 12);
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Call(kOdd, 6), Words{0});
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(SupervisionTest, FailuresOfAHandlerEndItsCallAlone) {
  ASSERT_TRUE(started_) << error_;
  EXPECT_EQ(Call(kOdd, 3), Words{kSystemErr});
  EXPECT_EQ(Call(kOdd, 4), Words{kSystemErr});
  EXPECT_EQ(Call(kOdd, 6), Words{0});
  EXPECT_EQ(supervision_->restarts(), 0u);
}

TEST_F(HangingTest, AThreadThatIsGoneTakesItsProcessWithIt) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t quits = Send(kOdd, 9);
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Await(quits), Words{kSystemErr});
  EXPECT_EQ(Call(kOdd, 6), Words{0});
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(SupervisionTest, AProcessThatWritesGarbageToItsEndpointIsEndedAndTheOtherGoesOn) {
  ASSERT_TRUE(started_) << error_;
  // Every other call uses the first line.
  Words said = {0};
  for (int i = 0; said == Words{0} && i < 20; ++i) said = Call(kOdd, 8);
  EXPECT_EQ(said, Words{kSystemErr});
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Call(kOdd, 6), Words{0});
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(SupervisionTest, AnInterruptEndsWhatAHandlerWaitsFor) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t waits = Send(kOdd, 7, {60'000});
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Await(waits), (Words{0, 1}));
  EXPECT_EQ(supervision_->restarts(), 0u);
}

class TwoCoresTest : public SupervisionTest {
 protected:
  TwoCoresTest() : SupervisionTest({.cores = 2}) {}
};

TEST_F(TwoCoresTest, TheInterruptReachesTheThreadWhoseCoreIsWanted) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t first = Send(kOdd, 7, {60'000});
  const uint32_t second = Send(kOdd, 7, {60'000});
  while (Running() != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5})) << "both cores were odd's";
  Words said[2] = {wire_.PopReply(first), wire_.PopReply(second)};
  EXPECT_NE(said[0].empty(), said[1].empty()) << "one of them waits on";
  const Words& ended = said[0].empty() ? said[1] : said[0];
  EXPECT_EQ(ended.back(), 1u);
  EXPECT_EQ(Call(kOdd, 6), Words{0}) << "a process with a handler that runs, on another core";
  EXPECT_EQ(supervision_->restarts(), 0u);
}

TEST_F(TwoCoresTest, ACrashOnOneCoreEndsTheCallsOfAll) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t waits = Send(kOdd, 7, {60'000});
  while (Running() != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Call(kOdd, 1), Words{kSystemErr});
  EXPECT_EQ(Await(waits), Words{kSystemErr});
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(Call(kOdd, 6), Words{0});
    EXPECT_EQ(Call(kAdd, 1, {i, 3}), (Words{0, i + 3}));
  }
  EXPECT_EQ(supervision_->restarts(), 1u);
}

constexpr uint32_t kStore = 0x20000104;
constexpr uint32_t kFront = 0x20000105;
constexpr uint32_t kAsker = 0x20000778;

// Encodes `bytes` bytes of `value` as an opaque: the length, the bytes and padding (RFC 4506
// section 4.10).
Words Opaque(uint32_t bytes, uint8_t value) {
  Words words = {bytes};
  for (uint32_t at = 0; at < bytes; at += 4) {
    uint32_t word = 0;
    for (uint32_t i = at; i < at + 4; ++i) word = word << 8 | (i < bytes ? value : 0);
    words.push_back(word);
  }
  return words;
}
Words Joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class CallsInCallsTest : public SupervisionTest {
 protected:
  explicit CallsInCallsTest(uint64_t preempt_ns = 10'000'000'000,
                            uint64_t nested_ns = 10'000'000'000)
      : SupervisionTest({.preempt_ns = preempt_ns,
                         .nested_ns = nested_ns,
                         .services = {{"odd", ODD_OBJECT, ODD_X, kPort},
                                      {"store", STORE_OBJECT, STORE_X, kPort},
                                      {"front", FRONT_OBJECT, FRONT_X, kPort},
                                      {"asker", ASKER_OBJECT, ASKER_X, kPort}}}) {}
  static void SetUpTestSuite() { setenv("SLUICE_RPC_STORE_MIB", "1", 1); }

  enum : uint32_t { kGet = 1, kPut = 2, kDelete = 3 };  // store.x
  enum : uint32_t { kOk, kNotFound, kBadKey, kFull };
  enum : uint32_t { kLookUp = 1, kKeep = 2 };  // front.x
  static constexpr uint32_t kUnavailable = 3;
  static constexpr uint32_t kGarbageArgs = 4;
};

TEST_F(CallsInCallsTest, TheStoreKeepsWhatItIsGiven) {
  ASSERT_TRUE(started_) << error_;
  const Words key = Opaque(5, 'k'), longest = Opaque(250, 'l');
  EXPECT_EQ(Call(kStore, kGet, key), (Words{0, kNotFound}));
  EXPECT_EQ(Call(kStore, kDelete, key), (Words{0, kNotFound}));
  for (const uint32_t bytes : {0u, 1u, 8192u, 7u}) {
    EXPECT_EQ(Call(kStore, kPut, Joined(key, Opaque(bytes, 'v'))), (Words{0, kOk}));
    EXPECT_EQ(Call(kStore, kGet, key), Joined({0, kOk}, Opaque(bytes, 'v')));
  }
  EXPECT_EQ(Call(kStore, kPut, Joined(longest, Opaque(3, 'w'))), (Words{0, kOk}));
  EXPECT_EQ(Call(kStore, kDelete, key), (Words{0, kOk}));
  EXPECT_EQ(Call(kStore, kGet, key), (Words{0, kNotFound}));
  EXPECT_EQ(Call(kStore, kGet, longest), Joined({0, kOk}, Opaque(3, 'w')));
}

TEST_F(CallsInCallsTest, BadKeysAreAnsweredAsSuch) {
  ASSERT_TRUE(started_) << error_;
  const Words value = Opaque(4, 'v');
  for (const uint32_t procedure : {kGet, kPut, kDelete}) {
    SCOPED_TRACE(procedure);
    EXPECT_EQ(Call(kStore, procedure, Joined({0}, value)), (Words{0, kBadKey})) << "empty";
    EXPECT_EQ(Call(kStore, procedure, Joined(Opaque(251, 'k'), value)), Words{kGarbageArgs});
  }
  EXPECT_EQ(Call(kStore, kPut, Joined(Opaque(4, 'k'), Opaque(8193, 'v'))), Words{kGarbageArgs});
  EXPECT_EQ(supervision_->restarts(), 0u);
}

TEST_F(CallsInCallsTest, AStoreThatIsFullRefusesAndLosesNothing) {
  ASSERT_TRUE(started_) << error_;
  const auto key = [](uint32_t i) { return Words{4, i}; };
  uint32_t kept = 0;
  while (kept < 128 && Call(kStore, kPut, Joined(key(kept), Opaque(8192, 'v'))) == Words{0, kOk}) {
    ++kept;
  }
  EXPECT_GT(kept, 100u) << "of 1 MiB";
  EXPECT_LT(kept, 128u) << "that is 1 MiB without any key";
  EXPECT_EQ(Call(kStore, kPut, Joined(key(kept), Opaque(8192, 'v'))), (Words{0, kFull}));
  for (uint32_t i = 0; i < kept; ++i) {
    ASSERT_EQ(Call(kStore, kGet, key(i)), Joined({0, kOk}, Opaque(8192, 'v')));
  }
  EXPECT_EQ(Call(kStore, kDelete, key(1)), (Words{0, kOk}));
  EXPECT_EQ(Call(kStore, kPut, Joined(key(kept), Opaque(8192, 'v'))), (Words{0, kOk}));
}

TEST_F(CallsInCallsTest, TheFrontAnswersWithWhatTheStoreHas) {
  ASSERT_TRUE(started_) << error_;
  const Words key = Opaque(5, 'k');
  EXPECT_EQ(Call(kFront, kLookUp, key), (Words{0, kNotFound}));
  for (const uint32_t bytes : {4u, 0u, 8192u}) {
    EXPECT_EQ(Call(kFront, kKeep, Joined(key, Opaque(bytes, 'v'))),
              Joined({0}, Opaque(bytes, 'v')));
    EXPECT_EQ(Call(kFront, kLookUp, key), Joined({0, kOk}, Opaque(bytes, 'v')));
    EXPECT_EQ(Call(kStore, kGet, key), Joined({0, kOk}, Opaque(bytes, 'v')));
  }
  EXPECT_EQ(Call(kFront, kLookUp, {0}), (Words{0, kBadKey}));
  EXPECT_EQ(Call(kFront, kKeep, {0, 0}), Words{kSystemErr});
}

TEST_F(CallsInCallsTest, TheFrontOutlivesItsStore) {
  ASSERT_TRUE(started_) << error_;
  const Words key = Opaque(5, 'k');
  ASSERT_EQ(Call(kFront, kKeep, Joined(key, Opaque(4, 'v'))), Joined({0}, Opaque(4, 'v')));
  processes_.Get(1)->Signal(SIGKILL);
  // The call either waits for the next store process, or was lost with the one that died.
  const Words said = Call(kFront, kLookUp, key);
  EXPECT_TRUE(said == (Words{0, kNotFound}) || said == (Words{0, kUnavailable, kSystemErr}));
  EXPECT_EQ(Call(kFront, kLookUp, key), (Words{0, kNotFound})) << "what it held is gone";
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(CallsInCallsTest, TheCallerIsToldWhatBecameOfItsCall) {
  ASSERT_TRUE(started_) << error_;
  struct Case {
    const char* name;
    uint32_t procedure;
    Words reply;
  };
  for (const Case& test : {Case{"it succeeds", 6, {0, 0}},
                           {"it crashes", 1, {0, kSystemErr}},
                           {"it fails", 3, {0, kSystemErr}},
                           {"it returns garbage", 4, {0, kSystemErr}},
                           {"it succeeds again", 6, {0, 0}},
                           {"nobody declares it", 99, {kSystemErr}}}) {
    EXPECT_EQ(Call(kAsker, 1, {kOdd, 1, test.procedure}), test.reply) << test.name;
  }
  EXPECT_EQ(supervision_->restarts(), 1u);
}

TEST_F(CallsInCallsTest, CallsInCallsEndSomewhere) {
  ASSERT_TRUE(started_) << error_;
  EXPECT_EQ(Call(kAsker, 2, {0}), (Words{0, 0}));
  EXPECT_EQ(Call(kAsker, 2, {8}), (Words{0, 8}));
  // Eight calls each add one, and the ninth call is refused (1000 + TOO_DEEP).
  EXPECT_EQ(Call(kAsker, 2, {20}), (Words{0, 1016}));
}

TEST_F(CallsInCallsTest, ACallerThatIsKilledInTheMiddleIsNotContinued) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t asks = Send(kAsker, 1, {kOdd, 1, 7});
  uint64_t nested = 0;
  while (nested == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    nic_->Do([&](device::rpc::RpcNic& nic) {
      nested = nic.dispatcher().counter(device::rpc::DispatchCounter::kSuspended);
    });
  }
  processes_.Get(3)->Signal(SIGKILL);
  EXPECT_EQ(Await(asks), Words{kSystemErr});
  EXPECT_EQ(Call(kAsker, 1, {kOdd, 1, 6}), (Words{0, 0}));
  EXPECT_EQ(supervision_->restarts(), 1u) << "odd was interrupted, and went on";
}

class LateAnswersTest : public CallsInCallsTest {
 protected:
  LateAnswersTest() : CallsInCallsTest(500'000'000, 1'000'000'000) {}
};

TEST_F(LateAnswersTest, ACallThatIsNotAnsweredInTimeIsGivenUp) {
  ASSERT_TRUE(started_) << error_;
  constexpr uint32_t kTimedOut = 9;  // SLUICE_RPC_TIMED_OUT (sluice_rpc.h).
  EXPECT_EQ(Call(kAsker, 1, {kOdd, 1, 2}), (Words{0, kTimedOut}));
  EXPECT_EQ(Call(kOdd, 6), Words{0}) << "it was started again";
  EXPECT_EQ(Call(kAsker, 1, {kOdd, 1, 6}), (Words{0, 0}));
}

TEST(SupervisionFaults, AServiceWithoutAFunctionDoesNotStart) {
  std::string error;
  EXPECT_EQ(ServiceFunctions::Load(ADD_OBJECT, ODD_X, &error), nullptr);
  EXPECT_NE(error.find("has no function crash_1_svc"), std::string::npos) << error;
  EXPECT_EQ(ServiceFunctions::Load(ADD_OBJECT, "/nowhere.x", &error), nullptr);
  EXPECT_EQ(error, "/nowhere.x: cannot be read");
  EXPECT_EQ(ServiceFunctions::Load("/nowhere.so", ADD_X, &error), nullptr);
  EXPECT_NE(error.find("/nowhere.so"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::rpc_app
