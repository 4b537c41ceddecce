// SPDX-License-Identifier: BSD-3-Clause
//
// Services in processes of their own, called one by one: what they answer, and what becomes of
// calls when a process crashes, hangs, fails or returns what cannot be sent. Expected replies are
// written after RFC 5531 section 9 and RFC 4506.
#include "supervision.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coherent/wait.h"
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

// One call at a time for each that calls.
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
    packet::Datagram::WritePlain(frame.data(),
                                 {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1},
                                  {10, 0, 0, 2}, 40000, kPort},
                                 static_cast<uint32_t>(4 * message.size()));
    for (size_t i = 0; i < message.size(); ++i) {
      packet::StoreBe32(frame.data() + packet::Datagram::kPlainPayload + 4 * i, message[i]);
    }
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(frame);
  }
  // The reply to `xid`, or nothing yet.
  Words Take(uint32_t xid) {
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

class SupervisionTest : public testing::Test {
 protected:
  // Bounds that only what hangs exceeds.
  explicit SupervisionTest(uint64_t preempt_ns = 10'000'000'000) {
    setenv("SLUICE_RPC_PROGRAMS", "100000:2:111 536871171:1:20049", 1);
    settings_.services = {{"odd", ODD_OBJECT, ODD_X, kPort},
                          {"add", ADD_OBJECT, ADD_X, kPort},
                          {"portmap", PORTMAP_OBJECT, PORTMAP_X, kPort}};
    settings_.service_program = SERVICE_PROGRAM;
    for (const ServiceFiles& files : settings_.services) {
      compiled_.push_back(*rpc::CompileX(*ReadFile(files.x), files.x, &error_));
    }
    placement_ = MakePlacement("shinjuku", 1, 1'000'000);
    cores_.push_back(
        std::make_unique<KernelCore>(0, processes_, coherent::WaitMethod::kPause));
    const device::rpc::RpcNicConfig config = {
        .dispatcher = {.switch_bound = 10'000'000'000,
                       .leave_bound = 10'000'000'000,
                       .preempt_bound = preempt_ns},
        .users = kUserGeometry};
    nic_ = std::make_unique<NicThread>(config, *placement_, wire_, processes_, cores_, 100);
    nic_->Do([&](device::rpc::RpcNic& nic) { nic.AttachKernel(0, cores_[0]->endpoint()); });
    cores_[0]->Start();
    supervision_ = std::make_unique<Supervision>(settings_, compiled_, processes_, *nic_);
    started_ = supervision_->Start(&error_);
    nic_->EnableWire(true);
  }
  ~SupervisionTest() override {
    nic_.reset();
    cores_.clear();
  }

  uint32_t Send(uint32_t program, uint32_t procedure, const Words& arguments = {}) {
    const uint32_t version = program == kPortmap ? 2 : 1;
    Words message = {++xid_, 0, 2, program, version, procedure, 0, 0, 0, 0};
    message.insert(message.end(), arguments.begin(), arguments.end());
    wire_.Send(message);
    return xid_;
  }
  // What follows the accepted reply's verifier: its status, and results. Empty: none in time.
  Words Await(uint32_t xid) {
    for (const auto end = Clock::now() + std::chrono::seconds(20); Clock::now() < end;) {
      supervision_->Look();
      const Words reply = wire_.Take(xid);
      if (reply.size() >= 6) return Words(reply.begin() + 5, reply.end());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return {};
  }
  Words Call(uint32_t program, uint32_t procedure, const Words& arguments = {}) {
    return Await(Send(program, procedure, arguments));
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
  // RFC 4506: the discriminant; a string's length, its bytes, padding; an array's length.
  EXPECT_EQ(Call(kOdd, 5, {1, 5, 0x61626364, 0x65000000}),
            (Words{0, 1, 4, 0x62636465}));
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
  // RFC 1833 section 3: a mapping is program, version, protocol (17: UDP) and port; a list has TRUE
  // before each, and FALSE behind the last.
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 1, 17, 0}), (Words{0, 20049}));
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 7, 17, 0}), (Words{0, 20049})) << "another version of it";
  EXPECT_EQ(Call(kPortmap, 3, {kAdd, 1, 6, 0}), (Words{0, 0})) << "over TCP there is nothing";
  EXPECT_EQ(Call(kPortmap, 3, {99, 1, 17, 0}), (Words{0, 0}));
  EXPECT_EQ(Call(kPortmap, 4),
            (Words{0, 1, kPortmap, 2, 17, 111, 1, kAdd, 1, 17, 20049, 0}));
  EXPECT_EQ(Call(kPortmap, 1, {99, 1, 17, 9}), (Words{0, 0})) << "nobody registers";
}

class HangingTest : public SupervisionTest {
 protected:
  HangingTest() : SupervisionTest(500'000'000) {}
};

TEST_F(HangingTest, AServiceThatHangsIsEndedAndTheOtherGoesOn) {
  ASSERT_TRUE(started_) << error_;
  const uint32_t hanging = Send(kOdd, 2);
  EXPECT_EQ(Call(kAdd, 1, {2, 3}), (Words{0, 5}));
  EXPECT_EQ(Await(hanging), Words{kSystemErr});
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
