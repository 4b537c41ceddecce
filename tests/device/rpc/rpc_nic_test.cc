// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the conversion of frames to lines and back. Expected messages follow RFC 5531 section 9;
// expected structures follow rpcgen's declarations.
#include "device/rpc/rpc_nic.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <set>

#include "hostile_nic.h"
#include "rpc_host.h"

namespace sluice::device::rpc::test {
namespace {

using coherent::Got;

// Returns xid, REPLY, MSG_ACCEPTED, AUTH_NONE, no body, status, and `rest`.
Words Accepted(uint32_t xid, uint32_t status, const Words& rest = {}) {
  Words words = {xid, 1, 0, 0, 0, status};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}
Words Success(uint32_t xid, const Words& results = {}) { return Accepted(xid, 0, results); }
constexpr uint32_t kProgUnavail = 1;
constexpr uint32_t kProgMismatch = 2;
constexpr uint32_t kProcUnavail = 3;
constexpr uint32_t kGarbageArgs = 4;
constexpr uint32_t kSystemErr = 5;

using Replies = std::vector<Words>;

TEST(RpcNic, ArgumentsStandDecodedInTheLineAndTheResultBecomesTheReply) {
  RpcHost host;
  host.Send(RpcHost::Call(0x51, 1, {7, 5}));
  ASSERT_TRUE(host.Switch(1));
  auto& end = host.processes[1]->end;
  EXPECT_EQ(end.content().kind, coherent::Kind::kRequest);
  EXPECT_EQ(end.content().data, 7u);
  ASSERT_EQ(end.payload().size(), 8u);
  std::array<uint32_t, 2> pair;
  std::memcpy(pair.data(), end.payload().data(), 8);
  EXPECT_EQ(pair, (std::array<uint32_t, 2>{7, 5}));
  host.ReturnWord(1, 12);
  EXPECT_EQ(host.DrainReplies(), Replies{}) << "the next load completes it";
  EXPECT_EQ(host.UserLoads(1), Got::kNothing);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(0x51, {12})});

  // The core still waits in the process, so the next call is delivered to it without involving the
  // kernel.
  const uint64_t switches = host.Count("rpc_switches");
  host.Send(RpcHost::Call(0x52, 1, {1, 2}));
  ASSERT_EQ(end.Wait(0), Got::kContent);
  host.ReturnWord(1, 3);
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(0x52, {3})});
  EXPECT_EQ(host.Count("rpc_switches"), switches);
  ASSERT_EQ(host.traces.size(), 2u);
  EXPECT_EQ(host.traces[0].path, Path::kSwitched);
  EXPECT_EQ(host.traces[1].path, Path::kDirect);
  EXPECT_EQ(host.traces[1].argument_bytes, 8u);
}

TEST(RpcNic, EachProcedureHasItsOwnEntry) {
  RpcHost host;
  std::set<uint64_t> codes;
  for (const auto& [procedure, version] :
       std::vector<std::pair<uint32_t, uint32_t>>{{0, 2}, {3, 2}, {0, 4}, {3, 4}}) {
    host.Send(RpcHost::Call(1, procedure, {}, version));
    ASSERT_TRUE(codes.empty() ? host.Switch(1) : host.processes[1]->end.Wait(0) == Got::kContent);
    codes.insert(host.processes[1]->end.content().code);
    host.Return(1, {});
    host.UserLoads(1);
    EXPECT_EQ(host.DrainReplies(), Replies{Success(1)});
  }
  EXPECT_EQ(codes.size(), 4u);
}

TEST(RpcNic, TheNicAnswersWhatIsForNobody) {
  struct Case {
    const char* name;
    Words message;
    Words reply;
    const char* counter;
  };
  const std::vector<Case> cases = {
      {"program", RpcHost::Call(1, 1, {}, 2, 99), Accepted(1, kProgUnavail), "rpc_prog_unavail"},
      {"version", RpcHost::Call(2, 1, {}, 3), Accepted(2, kProgMismatch, {2, 4}),
       "rpc_prog_mismatch"},
      {"procedure", RpcHost::Call(3, 9), Accepted(3, kProcUnavail), "rpc_proc_unavail"},
      {"arguments", RpcHost::Call(4, 1, {7}), Accepted(4, kGarbageArgs), "rpc_garbage_args"},
      {"a wrong length", RpcHost::Call(5, 2, {100, 1}), Accepted(5, kGarbageArgs),
       "rpc_garbage_args"},
      {"a length beyond the declaration", RpcHost::Call(6, 2, {8001}), Accepted(6, kGarbageArgs),
       "rpc_garbage_args"},
      // MSG_DENIED: RPC_MISMATCH with the supported versions, or AUTH_ERROR with AUTH_BADCRED (an
      // AUTH_SYS body that is only a stamp) or AUTH_REJECTEDCRED.
      {"RPC version",
       {7, 0, 3, kProgram, 2, 1, 0, 0, 0, 0},
       {7, 1, 1, 0, 2, 2},
       "rpc_rpc_mismatch"},
      {"credential",
       {8, 0, 2, kProgram, 2, 1, 1, 4, 0xdeadbeef, 0, 0},
       {8, 1, 1, 1, 1},
       "rpc_auth_error"},
      {"flavor", {9, 0, 2, kProgram, 2, 1, 77, 0, 0, 0}, {9, 1, 1, 1, 2}, "rpc_auth_error"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    RpcHost host;
    host.Send(test.message);
    EXPECT_EQ(host.DrainReplies(), Replies{test.reply});
    EXPECT_EQ(host.Count(test.counter), 1u);
    EXPECT_EQ(host.Count("rpc_arrived"), 0u);
  }
}

TEST(RpcNic, WhatIsNoCallIsDroppedUnderAName) {
  std::vector<uint8_t> arp(60);
  arp[12] = 0x08;
  arp[13] = 0x06;
  std::vector<uint8_t> fragment = RpcHost::Frame(RpcHost::Call(1, 3));
  fragment[20] |= 0x20;  // More fragments follow. The checksum is corrected below.
  packet::Store(fragment.data() + 24, uint16_t{0});
  packet::Store(fragment.data() + 24,
                packet::FinishChecksum(packet::SumBytes(fragment.data() + 14, 20)));
  std::vector<uint8_t> damaged = RpcHost::Frame(RpcHost::Call(1, 3));
  damaged[22] ^= 1;
  std::vector<uint8_t> lying = RpcHost::Frame(RpcHost::Call(1, 3));
  lying[38] = 0xff;  // The UDP length field.
  struct Case {
    std::vector<uint8_t> frame;
    const char* counter;
  };
  const std::vector<Case> cases = {
      {arp, "rpc_drop_not_udp"},
      {fragment, "rpc_drop_fragment"},
      {damaged, "rpc_drop_bad_checksum"},
      {lying, "rpc_drop_malformed"},
      {RpcHost::Frame(RpcHost::Call(1, 3), 9), "rpc_drop_not_our_port"},
      {RpcHost::Frame({1, 0, 2}), "rpc_drop_truncated"},
      {RpcHost::Frame({1, 1, 0, 0, 0, 0}), "rpc_drop_not_a_call"},
  };
  for (const Case& test : cases) {
    RpcHost host;
    host.SendFrame(test.frame);
    EXPECT_EQ(host.Count(test.counter), 1u) << test.counter;
    EXPECT_EQ(host.DrainReplies(), Replies{});
  }
}

TEST(RpcNic, LongArgumentsContinueInOverflowLinesAndLongerOnesInABuffer) {
  // A line holds 512 bytes (RpcHost), 16 of which are used by the structure of an opaque<>.
  struct Case {
    uint32_t bytes;
    bool in_buffer;
  };
  for (const Case test : {Case{0, false}, {80, false}, {496, false}, {500, true}, {8000, true}}) {
    SCOPED_TRACE(test.bytes);
    RpcHost host;
    Words arguments = {test.bytes};
    for (uint32_t i = 0; i < (test.bytes + 3) / 4; ++i) arguments.push_back(0x01020304u * i);
    host.Send(RpcHost::Call(1, 2, arguments));
    ASSERT_TRUE(host.Switch(1));
    auto& end = host.processes[1]->end;
    EXPECT_EQ(end.content().in_buffer, test.in_buffer);
    struct Blob {
      uint32_t length;
      const uint8_t* value;
    };
    Blob blob;
    ASSERT_GE(end.payload().size(), sizeof(blob));
    std::memcpy(&blob, end.payload().data(), sizeof(blob));
    ASSERT_EQ(blob.length, test.bytes);
    for (uint32_t i = 0; i < test.bytes; i += 4) {
      ASSERT_EQ(packet::LoadBe32(blob.value + i), 0x01020304u * (i / 4));
    }
    // The handler returns the payload as the result, at its original address.
    end.Return({.kind = coherent::Kind::kReply,
                .length = static_cast<uint32_t>(end.payload().size()),
                .in_buffer = test.in_buffer});
    host.UserLoads(1);
    EXPECT_EQ(host.DrainReplies(), Replies{Success(1, arguments)});
  }
}

TEST(RpcNic, ACallReachesACoreThatWasToldToTryAgain) {
  RpcHost host;
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, {});
  auto& end = host.processes[1]->end;
  ASSERT_EQ(host.UserLoads(1), Got::kNothing);
  host.DrainReplies();
  host.Step(coherent::kTryAgainNs);
  ASSERT_EQ(end.Wait(0), Got::kTryAgain);
  host.Send(RpcHost::Call(2, 1, {3, 4}));  // Arrives before the next load.
  ASSERT_EQ(host.UserLoads(1), Got::kContent);
  host.ReturnWord(1, 7);
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(2, {7})});
}

TEST(RpcNic, AKernelThatWasToldToTryAgainGetsItsProcess) {
  RpcHost host;
  ASSERT_EQ(host.KernelLoads(), Got::kNothing);
  host.Step(coherent::kTryAgainNs);
  ASSERT_EQ(host.kernel.Wait(0), Got::kTryAgain);
  host.Send(RpcHost::Call(1, 3));
  EXPECT_TRUE(host.Switch(1));
}

TEST(RpcNic, AProcessThatDiesBeforeTheKernelHeardOfItIsNotSwitchedTo) {
  RpcHost host;
  ASSERT_EQ(host.KernelLoads(), Got::kNothing);
  host.Step(coherent::kTryAgainNs);
  ASSERT_EQ(host.kernel.Wait(0), Got::kTryAgain);
  host.Send(RpcHost::Call(1, 3));  // The switch waits for the kernel's next load.
  host.End(1);
  ASSERT_EQ(host.KernelLoads(), Got::kNothing) << "there is no process";
  ASSERT_TRUE(host.Start(1));
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, {});
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(1)});
}

TEST(RpcNic, ACoreThatWasToBeRetiredAndIsWantedBeforeItHeardIsNotRetired) {
  RpcHost host({.retire_after = 20'000'000, .kept_cores = 0});
  ASSERT_EQ(host.KernelLoads(), Got::kNothing);
  host.Step(coherent::kTryAgainNs);
  ASSERT_EQ(host.kernel.Wait(0), Got::kTryAgain);
  host.Step(10'000'000);  // The core's next load is answered with a retirement.
  ASSERT_EQ(host.Count("rpc_retires"), 1u);
  host.Send(RpcHost::Call(1, 3));
  EXPECT_EQ(host.wakes, 0u) << "it does not sleep: it loads by itself";
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, {});
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(1)});
}

TEST(RpcNic, AnIdleCoreIsAskedForAndComesToTheOtherProcess) {
  RpcHost host;
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, {});
  ASSERT_EQ(host.UserLoads(1), Got::kNothing);
  host.Send(RpcHost::Call(2, 1, {}, 1, kOtherProgram));
  ASSERT_EQ(host.processes[1]->end.Wait(0), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(2));
  host.Return(2, {});
  // The core can also return to a process that it left.
  host.Send(RpcHost::Call(3, 3));
  ASSERT_EQ(host.UserLoads(2), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, {});
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), (Replies{Success(1), Success(2), Success(3)}));
}

TEST(RpcNic, AHandlerThatIsWantedOffItsCoreEndsItsCallAndLeaves) {
  RpcHost host({.preempt_bound = 50'000});
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  host.Send(RpcHost::Call(2, 1, {}, 1, kOtherProgram));
  EXPECT_EQ(host.interrupts, 0u);
  host.Step(1'000'000);  // The time slice of RpcHost's policy.
  EXPECT_EQ(host.interrupts, 1u);
  EXPECT_TRUE(host.processes[1]->end.Asked());
  host.Return(1, {});
  ASSERT_EQ(host.UserLoads(1), Got::kYieldNow);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(1)});
  ASSERT_TRUE(host.Switch(2));
  host.Return(2, {});
  host.Send(RpcHost::Call(3, 3));
  ASSERT_EQ(host.UserLoads(2), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1)) << "it was barred, and is admitted again";
  EXPECT_TRUE(host.killed.empty());
}

TEST(RpcNic, AHandlerThatStaysIsKilledAndItsCallAnswered) {
  RpcHost host({.preempt_bound = 50'000});
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  host.Send(RpcHost::Call(2, 1, {}, 1, kOtherProgram));
  host.Step(1'000'000);
  host.Step(50'000);
  EXPECT_EQ(host.killed, std::vector<ProcessId>{1});
  host.End(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Accepted(1, kSystemErr)});
  ASSERT_TRUE(host.Switch(2));
}

TEST(RpcNic, CallsThatWaitedSurviveTheirProcess) {
  RpcHost host;
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  host.Send(RpcHost::Call(2, 1, {20, 3}));
  host.End(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Accepted(1, kSystemErr)});
  ASSERT_TRUE(host.Start(1));
  ASSERT_TRUE(host.Switch(1));
  host.ReturnWord(1, 23);
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(2, {23})});
  EXPECT_EQ(host.Count("rpc_lost"), 1u);
}

TEST(RpcNic, AServiceThatIsRemovedAnswersNobody) {
  RpcHost host;
  host.Send(RpcHost::Call(1, 3));
  host.nic.RemoveService(1);
  host.Step();
  host.Send(RpcHost::Call(2, 3));
  EXPECT_EQ(host.DrainReplies(), (Replies{Accepted(1, kProgUnavail), Accepted(2, kProgUnavail)}));
}

TEST(RpcNic, QueuesAndSlotsAreBounded) {
  RpcHost host({.queue_capacity = 2}, 3);
  for (uint32_t xid = 1; xid <= 4; ++xid) host.Send(RpcHost::Call(xid, 3));
  EXPECT_EQ(host.Count("rpc_drop_queue_full"), 2u);
  host.Send(RpcHost::Call(5, 1, {}, 1, kOtherProgram));
  host.Send(RpcHost::Call(6, 1, {}, 1, kOtherProgram));
  EXPECT_EQ(host.Count("rpc_drop_no_slot"), 1u);
}

// Offers a frame that the device may delay. Returns whether the device accepts it.
bool Takes(RpcHost& host, const Words& message) {
  const std::vector<uint8_t> frame = RpcHost::Frame(message);
  const WireFrame sent = {frame.data(), static_cast<uint32_t>(frame.size())};
  const bool taken = host.nic.Receive({&sent, 1}, true) == 1;
  host.Step();
  return taken;
}

// Checks that process 2 gets a call and answers it.
void ExpectOtherServes(RpcHost& host) {
  ASSERT_TRUE(Takes(host, RpcHost::Call(1, 1, {}, 1, kOtherProgram)));
  ASSERT_TRUE(host.Switch(2));
  host.Return(2, {});
  host.UserLoads(2);
  EXPECT_EQ(host.DrainReplies(), Replies{Success(1)});
}

TEST(RpcNic, CallsToServicesThatAreDownKeepOutNoOther) {
  constexpr uint32_t kDown = kMaxProcesses - 3;
  RpcHost host({.queue_capacity = 32}, RpcNicConfig{}.slots);
  for (uint32_t i = 0; i < kDown; ++i) {
    const std::string x = "program DOWN { version FIRST { void NOTHING(void) = 1; } = 1; } = " +
                          std::to_string(0x2000'1000 + i) + ";";
    std::string error;
    ASSERT_TRUE(host.nic.AddService(static_cast<ProcessId>(3 + i), 1,
                                    {RpcHost::kPort, wire::CompileX(x, "x", &error)->table, {}}));
  }
  for (uint32_t i = 0; i < 33 * kDown; ++i) {
    ASSERT_TRUE(Takes(host, RpcHost::Call(i, 1, {}, 1, 0x2000'1000 + i % kDown))) << i;
  }
  EXPECT_EQ(host.Count("rpc_drop_queue_full"), kDown);
  ExpectOtherServes(host);
}

TEST(RpcNic, ALongQueueOfAServiceThatIsDownKeepsOutNoOther) {
  const DispatcherConfig config = {.queue_capacity = 2048};
  RpcHost host(config, SlotsFor(config, 2));
  host.End(1);
  for (uint32_t xid = 0; xid < 2100; ++xid) ASSERT_TRUE(Takes(host, RpcHost::Call(xid, 3))) << xid;
  EXPECT_EQ(host.Count("rpc_drop_queue_full"), 2100u - 2048);
  ExpectOtherServes(host);
}

// A client that has waited for a long time repeats its call (RFC 5531 section 4).
TEST(RpcNic, ACallThatStillWaitsIsNotTakenTwice) {
  RpcHost host;
  host.Send(RpcHost::Call(1, 3));
  ASSERT_TRUE(host.Switch(1));
  const auto call = RpcHost::Frame(RpcHost::Call(2, 1, {7, 5}));
  auto other_port = call, other_address = call;
  packet::StoreBe16(&other_port[34], 999);
  other_address[29] ^= 1;
  packet::Store<uint16_t>(&other_address[24], 0);
  packet::Store(&other_address[24],
                packet::FinishChecksum(packet::SumBytes(&other_address[14], 20)));
  for (auto* frame : {&other_port, &other_address}) packet::Store<uint16_t>(&(*frame)[40], 0);
  for (int again = 0; again < 3; ++again) host.SendFrame(call);
  EXPECT_EQ(host.Count("rpc_drop_duplicate"), 2u);
  // Each of these calls differs from the waiting call in one property.
  host.SendFrame(other_port);
  host.SendFrame(other_address);
  host.Send(RpcHost::Call(3, 1, {7, 5}));
  host.Send(RpcHost::Call(2, 1, {7, 6}));
  host.Send(RpcHost::Call(2, 3));
  EXPECT_EQ(host.Count("rpc_drop_duplicate"), 2u);
  EXPECT_EQ(host.nic.dispatcher().queued(1), 6u);
  host.Return(1, {});
  ASSERT_EQ(host.UserLoads(1), Got::kContent);
  // The call has started, so a duplicate is no longer recognized.
  host.SendFrame(call);
  EXPECT_EQ(host.Count("rpc_drop_duplicate"), 2u);
  EXPECT_EQ(host.nic.dispatcher().queued(1), 6u);
}

TEST(RpcNic, ResultsThatMakeNoSenseAreSystemErrors) {
  struct Case {
    const char* name;
    std::vector<uint8_t> result;
    uint64_t status;
  };
  const uint64_t far = 0x7fff'0000'0000;
  std::vector<uint8_t> pointer(16);
  pointer[0] = 8;
  std::memcpy(pointer.data() + 8, &far, 8);
  for (const Case& test : {Case{"too short", {1}, 0},
                           {"the handler failed", {0, 0, 0, 0}, 5},
                           {"a status that there is not", {0, 0, 0, 0}, 77}}) {
    SCOPED_TRACE(test.name);
    RpcHost host;
    host.Send(RpcHost::Call(1, 1, {1, 1}));
    ASSERT_TRUE(host.Switch(1));
    host.Return(1, test.result, test.status);
    host.UserLoads(1);
    EXPECT_EQ(host.DrainReplies(), Replies{Accepted(1, kSystemErr)});
  }
  RpcHost host;
  host.Send(RpcHost::Call(1, 2, {0}));
  ASSERT_TRUE(host.Switch(1));
  host.Return(1, pointer);
  host.UserLoads(1);
  EXPECT_EQ(host.DrainReplies(), Replies{Accepted(1, kSystemErr)}) << "a pointer out of the line";
  EXPECT_EQ(host.Count("rpc_bad_results"), 1u);
}

TEST(RpcNic, EveryFrameHasAnEnding) {
  std::mt19937 random(1);
  RpcHost host({.queue_capacity = 4}, 8);
  constexpr uint32_t kFrames = 20'000;
  ProcessId owner = 0;
  for (uint32_t i = 0; i < kFrames; ++i) {
    const uint32_t other = random() % 2;
    std::vector<uint8_t> frame = RpcHost::Frame(
        other != 0 ? RpcHost::Call(i, 1, {}, 1, kOtherProgram)
                   : RpcHost::Call(i, 1 + random() % 3, {static_cast<uint32_t>(random() % 9), 2}));
    for (uint32_t flips = random() % 4; flips > 1; --flips) {
      frame[random() % frame.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    }
    host.SendFrame(frame);
    // The host acts in half of the rounds. `owner` has the core; 0 is the kernel.
    if (random() % 2 == 0) continue;
    if (owner == 0) {
      if (host.kernel.Wait(0) != Got::kContent) continue;
      owner = static_cast<ProcessId>(host.kernel.content().code);
      host.kernel.Return({.kind = coherent::Kind::kNoReply});
    } else {
      auto& end = host.processes[owner]->end;
      if (end.state(coherent::Pair::kReceive) == coherent::State::kHolding) {
        host.ReturnWord(owner, 1);
      }
      if (end.Wait(0) == Got::kYieldNow) owner = 0;
    }
  }
  const uint64_t answered = host.Count("rpc_answered");
  EXPECT_GT(answered, kFrames / 100);
  host.nic.RemoveService(1);
  host.nic.RemoveService(2);
  host.Step();
  uint64_t ended = 0;
  for (const char* name :
       {"rpc_drop_not_udp", "rpc_drop_malformed", "rpc_drop_fragment", "rpc_drop_options",
        "rpc_drop_bad_checksum", "rpc_drop_truncated", "rpc_drop_not_a_call",
        "rpc_drop_not_our_port", "rpc_drop_no_slot", "rpc_drop_duplicate", "rpc_rpc_mismatch",
        "rpc_auth_error", "rpc_prog_unavail", "rpc_prog_mismatch", "rpc_proc_unavail",
        "rpc_garbage_args", "rpc_system_err", "rpc_drop_queue_full"}) {
    ended += host.Count(name);
  }
  // A reply to an answered call was either sent or already counted as a system error.
  const uint64_t replied = answered - (host.Count("rpc_system_err") - host.Count("rpc_lost"));
  EXPECT_EQ(ended + replied, kFrames);
}

TEST(RpcNic, KeepsItsPromisesWhateverIsSentAndStored) {
  std::mt19937_64 random(29);
  uint32_t contents = 0, replies = 0;
  for (int round = 0; round < 500; ++round) {
    std::array<uint8_t, 400> bytes;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const Driven driven = HostileRun(bytes.data(), bytes.size()).Run();
    ASSERT_EQ(driven.broken, nullptr) << driven.broken << ", round " << round;
    contents += driven.contents;
    replies += driven.replies;
  }
  EXPECT_GT(contents, 200u) << "the honest process must get calls, too";
  EXPECT_GT(replies, 1000u);
}

}  // namespace
}  // namespace sluice::device::rpc::test
