// SPDX-License-Identifier: BSD-3-Clause
//
// Tests calls made by services: their destination, the input of their continuations, and their
// outcome if a process dies or does not answer. Process 1 serves the CALCULATOR, and process 2
// calls it. Expected messages follow RFC 5531 section 9; expected structures follow rpcgen's
// declarations.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "device/rpc/rpc_nic.h"
#include "rpc_host.h"

namespace sluice::device::rpc::test {
namespace {

using coherent::Got;
using Messages = std::vector<Words>;

constexpr uint32_t kUnknown = 1;  // PROG_UNAVAIL.
constexpr uint32_t kFailed = 5;   // SYSTEM_ERR.
constexpr CallHead kAdd = {.program = kProgram,
                           .version = 2,
                           .procedure = 1,
                           .code = 0x1234'5678,
                           .data = 77,
                           .context = {88, 99}};

Words Replied(uint32_t xid, uint32_t status = 0) { return {xid, 1, 0, 0, 0, status}; }
Words OuterCall(uint32_t xid) { return RpcHost::Call(xid, 1, {}, 1, kOtherProgram); }

// The input of process 2's continuation. `word` is the first word of the result.
struct Heard {
  NestedStatus status;
  uint32_t result_bytes;
  uint32_t word;
};
Heard HeardBy(RpcHost& host) {
  const coherent::HostEnd& end = host.processes[2]->end;
  EXPECT_EQ(end.content().kind, coherent::Kind::kRequest);
  EXPECT_EQ(end.content().code, kAdd.code);
  EXPECT_EQ(end.content().data, kAdd.data);
  ReplyHead head;
  EXPECT_GE(end.payload().size(), sizeof(head));
  std::memcpy(&head, end.payload().data(), sizeof(head));
  EXPECT_EQ(head.context, kAdd.context);
  EXPECT_EQ(end.payload().size(), sizeof(head) + head.result_bytes);
  uint32_t word = 0;
  if (head.result_bytes >= 4) std::memcpy(&word, end.payload().data() + sizeof(head), 4);
  return {head.status, head.result_bytes, word};
}

// Delivers a call with this xid to process 2, which answers it with the nested call `head`. Returns
// what process 2's next load got.
Got Calls(RpcHost& host, uint32_t xid, const CallHead& head, const Words& arguments) {
  host.Send(OuterCall(xid));
  EXPECT_TRUE(host.Switch(2));
  host.ReturnCall(2, head, arguments);
  return host.UserLoads(2);
}

TEST(NestedCalls, TheCallGoesToItsServiceAndTheResultToTheContinuation) {
  RpcHost host;
  ASSERT_EQ(Calls(host, 1, kAdd, {7, 5}), Got::kYieldNow) << "the core is wanted by process 1";
  EXPECT_EQ(host.DrainReplies(), Messages{}) << "no caller is answered yet";
  ASSERT_TRUE(host.Switch(1));
  std::array<uint32_t, 2> pair;
  ASSERT_EQ(host.processes[1]->end.payload().size(), 8u);
  std::memcpy(pair.data(), host.processes[1]->end.payload().data(), 8);
  EXPECT_EQ(pair, (std::array<uint32_t, 2>{7, 5}));
  host.ReturnWord(1, 12);
  ASSERT_EQ(host.UserLoads(1), Got::kYieldNow) << "the continuation wants the core";
  ASSERT_TRUE(host.Switch(2));
  const Heard heard = HeardBy(host);
  EXPECT_EQ(heard.status, NestedStatus::kSuccess);
  EXPECT_EQ(heard.result_bytes, 4u);
  EXPECT_EQ(heard.word, 12u);
  EXPECT_EQ(host.DrainReplies(), Messages{});
  host.Return(2, {});
  host.UserLoads(2);
  EXPECT_EQ(host.DrainReplies(), Messages{Replied(1)});
  EXPECT_EQ(host.Count("rpc_nested"), 1u);
  EXPECT_EQ(host.Count("rpc_arrived"), 2u);
  EXPECT_EQ(host.Count("rpc_answered"), 2u);
  EXPECT_EQ(host.Count("rx_frames"), 1u) << "one came in a frame";
  EXPECT_EQ(host.Count("rpc_sent"), 1u) << "and one left";
}

TEST(NestedCalls, AContinuationMayCallAgain) {
  RpcHost host;
  ASSERT_EQ(Calls(host, 1, kAdd, {7, 5}), Got::kYieldNow);
  for (uint32_t sum = 12; sum < 15; ++sum) {
    ASSERT_TRUE(host.Switch(1));
    host.ReturnWord(1, sum);
    ASSERT_EQ(host.UserLoads(1), Got::kYieldNow);
    ASSERT_TRUE(host.Switch(2));
    EXPECT_EQ(HeardBy(host).word, sum);
    host.ReturnCall(2, kAdd, {sum, 1});
    ASSERT_EQ(host.UserLoads(2), Got::kYieldNow);
  }
  EXPECT_EQ(host.Count("rpc_nested"), 4u);
}

TEST(NestedCalls, LongArgumentsAndResultsTakeTheBuffer) {
  // ECHO of 6000 bytes. An opaque<> is its length and a pointer, here to the bytes that follow.
  RpcHost host;
  host.Send(OuterCall(1));
  ASSERT_TRUE(host.Switch(2));
  coherent::HostEnd& caller = host.processes[2]->end;
  struct Blob {
    uint64_t length;
    uint64_t value;
  };
  CallHead head = kAdd;
  head.procedure = 2;
  uint8_t* const room = caller.Room(true).data();
  const Blob blob = {6000, reinterpret_cast<uint64_t>(room + sizeof(head) + sizeof(Blob))};
  std::memcpy(room, &head, sizeof(head));
  std::memcpy(room + sizeof(head), &blob, sizeof(blob));
  std::memset(room + sizeof(head) + sizeof(blob), 0x5a, 6000);
  caller.Return({.kind = coherent::Kind::kCall,
                 .length = sizeof(head) + sizeof(blob) + 6000,
                 .in_buffer = true});
  ASSERT_EQ(host.UserLoads(2), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1));
  coherent::HostEnd& callee = host.processes[1]->end;
  callee.Return({.kind = coherent::Kind::kReply,
                 .length = static_cast<uint32_t>(callee.payload().size()),
                 .in_buffer = true});
  ASSERT_EQ(host.UserLoads(1), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(2));
  EXPECT_EQ(HeardBy(host).status, NestedStatus::kSuccess);
  EXPECT_TRUE(caller.content().in_buffer);
  Blob back;
  std::memcpy(&back, caller.payload().data() + sizeof(ReplyHead), sizeof(back));
  EXPECT_EQ(static_cast<uint32_t>(back.length), 6000u);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(back.value);
  ASSERT_EQ(bytes, caller.payload().data() + sizeof(ReplyHead) + sizeof(Blob));
  EXPECT_EQ(std::count(bytes, bytes + 6000, 0x5a), 6000);
}

TEST(NestedCalls, ACallThatReachesNobodyGoesOnAtOnce) {
  CallHead program = kAdd, version = kAdd, procedure = kAdd;
  program.program = 99;
  version.version = 3;
  procedure.procedure = 9;
  struct Case {
    const char* name;
    CallHead head;
    Words arguments;
    uint32_t depth;
    uint32_t slots;
    NestedStatus status;
  };
  for (const Case& test : {Case{"program", program, {7, 5}, 8, 64, NestedStatus::kProgUnavail},
                           {"version", version, {7, 5}, 8, 64, NestedStatus::kProgMismatch},
                           {"procedure", procedure, {7, 5}, 8, 64, NestedStatus::kProcUnavail},
                           {"arguments", kAdd, {7}, 8, 64, NestedStatus::kGarbageArgs},
                           {"depth", kAdd, {7, 5}, 0, 64, NestedStatus::kTooDeep},
                           {"slots", kAdd, {7, 5}, 8, 1, NestedStatus::kBusy}}) {
    SCOPED_TRACE(test.name);
    RpcHost host({}, test.slots, test.depth);
    ASSERT_EQ(Calls(host, 1, test.head, test.arguments), Got::kContent);
    const Heard heard = HeardBy(host);
    EXPECT_EQ(heard.status, test.status);
    EXPECT_EQ(heard.result_bytes, 0u);
    host.Return(2, {});
    host.UserLoads(2);
    EXPECT_EQ(host.DrainReplies(), Messages{Replied(1)});
    EXPECT_EQ(host.Count("rpc_nested_refused"), 1u);
    EXPECT_EQ(host.Count("rpc_arrived"), 1u) << "no other call was made";
  }
}

TEST(NestedCalls, WhateverHappensToTheCalleeTheContinuationIsTold) {
  struct Case {
    const char* name;
    std::function<void(RpcHost&)> happens;  // What happens to process 1, which has the call.
    NestedStatus status;
  };
  for (const Case& test :
       {Case{"it fails",
             [](RpcHost& host) {
               host.Return(1, {}, kFailed);
               host.UserLoads(1);
             },
             NestedStatus::kSystemErr},
        Case{"it returns garbage",
             [](RpcHost& host) {
               const uint8_t byte = 1;
               host.Return(1, {&byte, 1});
               host.UserLoads(1);
             },
             NestedStatus::kSystemErr},
        Case{"it dies", [](RpcHost& host) { host.End(1); }, NestedStatus::kSystemErr},
        Case{"it is removed", [](RpcHost& host) { host.nic.RemoveService(1); },
             NestedStatus::kSystemErr},
        Case{"it has answered, and is removed before its result is decoded",
             [](RpcHost& host) {
               host.ReturnWord(1, 12);
               ASSERT_EQ(host.UserLoads(1), Got::kYieldNow);
               host.nic.RemoveService(1);
             },
             NestedStatus::kProgUnavail},
        Case{"it does not answer",
             [](RpcHost& host) {
               host.Step(1'000'000);  // Until the call is late and the process has lost the core.
               host.Step(1'000'000);
               ASSERT_EQ(host.killed, std::vector<ProcessId>{1});
               host.End(1);
             },
             NestedStatus::kTimedOut}}) {
    SCOPED_TRACE(test.name);
    RpcHost host({.preempt_bound = 50'000, .nested_bound = 500'000});
    ASSERT_EQ(Calls(host, 1, kAdd, {7, 5}), Got::kYieldNow);
    ASSERT_TRUE(host.Switch(1));
    test.happens(host);
    ASSERT_TRUE(host.Switch(2));
    const Heard heard = HeardBy(host);
    EXPECT_EQ(heard.status, test.status);
    EXPECT_EQ(heard.result_bytes, 0u);
    host.Return(2, {});
    host.UserLoads(2);
    EXPECT_EQ(host.DrainReplies(), Messages{Replied(1)});
  }
}

TEST(NestedCalls, ACallThatWaitsForAProcessThatStartsAgainIsAnswered) {
  RpcHost host;
  host.End(1);
  ASSERT_EQ(Calls(host, 1, kAdd, {7, 5}), Got::kNothing) << "no process requests the core";
  ASSERT_TRUE(host.Start(1));
  ASSERT_EQ(host.processes[2]->end.Wait(0), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1));
  host.ReturnWord(1, 12);
  host.UserLoads(1);
  ASSERT_TRUE(host.Switch(2));
  EXPECT_EQ(HeardBy(host).word, 12u);
}

TEST(NestedCalls, AQueueThatIsFullIsToldAndALateReplyIsForNobody) {
  RpcHost host({.queue_capacity = 1, .nested_bound = 1000});
  host.End(1);
  ASSERT_EQ(Calls(host, 1, kAdd, {1, 1}), Got::kNothing);
  // The second call is queued after the first.
  host.Send(OuterCall(2));
  coherent::HostEnd& end = host.processes[2]->end;
  ASSERT_EQ(end.Wait(0), Got::kContent);
  host.ReturnCall(2, kAdd, {2, 2});
  ASSERT_EQ(host.UserLoads(2), Got::kContent);
  EXPECT_EQ(HeardBy(host).status, NestedStatus::kBusy);
  host.Return(2, {});
  ASSERT_EQ(host.UserLoads(2), Got::kNothing);
  // The first call is late.
  host.Step(20'000);
  ASSERT_EQ(end.Wait(0), Got::kContent);
  EXPECT_EQ(HeardBy(host).status, NestedStatus::kTimedOut);
  host.Return(2, {});
  ASSERT_EQ(host.UserLoads(2), Got::kNothing);
  EXPECT_EQ(host.DrainReplies(), (Messages{Replied(2), Replied(1)}));
  EXPECT_EQ(host.Count("rpc_nested_timed_out"), 1u);
  // The call is executed nevertheless.
  ASSERT_TRUE(host.Start(1));
  ASSERT_EQ(end.Wait(0), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1));
  host.ReturnWord(1, 2);
  ASSERT_EQ(host.UserLoads(1), Got::kNothing) << "no caller waits for it";
  EXPECT_EQ(host.DrainReplies(), Messages{});
  EXPECT_EQ(host.Count("rpc_nested_orphans"), 1u);
}

TEST(NestedCalls, ACallerThatDiesIsNotContinued) {
  RpcHost host;
  ASSERT_EQ(Calls(host, 1, kAdd, {7, 5}), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(1));
  host.End(2);
  EXPECT_EQ(host.DrainReplies(), Messages{Replied(1, kFailed)});
  host.ReturnWord(1, 12);
  ASSERT_TRUE(host.Start(2));
  ASSERT_EQ(host.UserLoads(1), Got::kNothing);
  EXPECT_EQ(host.DrainReplies(), Messages{});
  EXPECT_EQ(host.Count("rpc_nested_orphans"), 1u);
  // The next incarnation starts with the next call.
  host.Send(OuterCall(2));
  ASSERT_EQ(host.processes[1]->end.Wait(0), Got::kYieldNow);
  ASSERT_TRUE(host.Switch(2));
  EXPECT_EQ(host.processes[2]->end.content().code, 0x2001u);
  host.Return(2, {});
  host.UserLoads(2);
  EXPECT_EQ(host.DrainReplies(), Messages{Replied(2)});
}

TEST(NestedCalls, EveryCallerOfAProcessThatEndsIsTold) {
  constexpr uint32_t kCalls = 400;  // Exceeds the number of replies that the device can store.
  struct Case {
    const char* name;
    std::function<void(RpcNic&)> ends;  // Ends process 2 between two of its steps.
    uint32_t removed;
  };
  for (const Case& test : {Case{"it dies", [](RpcNic& nic) { nic.Gone(2); }, 0},
                           {"it is removed", [](RpcNic& nic) { nic.RemoveService(2); }, kCalls}}) {
    SCOPED_TRACE(test.name);
    const DispatcherConfig config = {.queue_capacity = kCalls, .suspended_capacity = kCalls};
    RpcHost host(config, SlotsFor(config, 2));
    host.End(1);
    ASSERT_EQ(Calls(host, 0, kAdd, {7, 5}), Got::kNothing);
    for (uint32_t xid = 1; xid <= kCalls; ++xid) {
      host.Send(OuterCall(xid));
      ASSERT_EQ(host.processes[2]->end.Wait(0), Got::kContent) << xid;
      if (xid == kCalls) break;
      host.ReturnCall(2, kAdd, {7, 5});
      ASSERT_EQ(host.UserLoads(2), Got::kNothing) << xid;
    }
    // kCalls calls are suspended, one runs, and kCalls wait.
    for (uint32_t xid = kCalls + 1; xid <= 2 * kCalls; ++xid) host.Send(OuterCall(xid));
    test.ends(host.nic);
    host.Step();
    std::map<Words, uint32_t> replies;
    for (const Words& reply : host.DrainReplies()) ++replies[reply];
    EXPECT_EQ(replies.size(), kCalls + 1 + test.removed);
    for (uint32_t xid = 0; xid <= kCalls + test.removed; ++xid) {
      EXPECT_EQ(replies[Replied(xid, xid <= kCalls ? kFailed : kUnknown)], 1u) << xid;
    }
    EXPECT_EQ(host.Count("rpc_unsent"), 0u);
    EXPECT_EQ(host.Count("rpc_lost"), kCalls + 1);
    EXPECT_EQ(host.Count("rpc_system_err"), kCalls + 1);
    EXPECT_EQ(host.Count("rpc_drop_removed"), test.removed);
  }
}

TEST(NestedCalls, AProcessMayCallItselfOnItsOnlyCore) {
  RpcHost host({}, 64, 3);
  CallHead self = kAdd;
  self.program = kOtherProgram;
  self.version = 1;
  self.procedure = 1;
  ASSERT_EQ(Calls(host, 1, self, {}), Got::kContent);
  coherent::HostEnd& end = host.processes[2]->end;
  for (int depth = 1; depth < 3; ++depth) {
    EXPECT_EQ(end.content().code, 0x2001u) << "from the beginning";
    host.ReturnCall(2, self);
    ASSERT_EQ(host.UserLoads(2), Got::kContent);
  }
  host.ReturnCall(2, self);
  ASSERT_EQ(host.UserLoads(2), Got::kContent);
  EXPECT_EQ(HeardBy(host).status, NestedStatus::kTooDeep);
  for (int depth = 3; depth > 0; --depth) {
    host.Return(2, {});
    ASSERT_EQ(host.UserLoads(2), Got::kContent);
    EXPECT_EQ(HeardBy(host).status, NestedStatus::kSuccess);
  }
  host.Return(2, {});
  ASSERT_EQ(host.UserLoads(2), Got::kNothing);
  EXPECT_EQ(host.DrainReplies(), Messages{Replied(1)});
}

TEST(NestedCalls, WhatIsTooShortForACallIsABadResult) {
  RpcHost host;
  host.Send(OuterCall(1));
  ASSERT_TRUE(host.Switch(2));
  host.processes[2]->end.Return({.kind = coherent::Kind::kCall, .length = 47});
  host.UserLoads(2);
  EXPECT_EQ(host.DrainReplies(), Messages{Replied(1, kFailed)});
  EXPECT_EQ(host.Count("rpc_bad_results"), 1u);
}

TEST(NestedCalls, ArgumentsThatLeadOutOfTheLineAreGarbage) {
  // An opaque<8000>, which is its length and a pointer, followed by eight bytes.
  struct Blob {
    uint64_t length;
    uint64_t value;
    uint64_t bytes;
  };
  struct Case {
    uint64_t length;
    int64_t offset;  // Offset of the pointer's target from the Blob.
    bool good;
  };
  for (const Case& test : {Case{8, 16, true},
                           {9, 16, false},
                           {1, 24, false},
                           {4, -8, false},
                           {8001, 16, false},
                           {~uint32_t{0}, 16, false},
                           {8, 1 << 20, false}}) {
    RpcHost host;
    host.Send(OuterCall(1));
    ASSERT_TRUE(host.Switch(2));
    coherent::HostEnd& end = host.processes[2]->end;
    uint8_t* const room = end.Room().data();
    CallHead head = kAdd;
    head.procedure = 2;
    const uint64_t at = reinterpret_cast<uint64_t>(room) + sizeof(head);
    const Blob blob = {test.length, at + static_cast<uint64_t>(test.offset), 0};
    std::memcpy(room, &head, sizeof(head));
    std::memcpy(room + sizeof(head), &blob, sizeof(blob));
    end.Return({.kind = coherent::Kind::kCall, .length = sizeof(head) + sizeof(blob)});
    ASSERT_EQ(host.UserLoads(2), test.good ? Got::kYieldNow : Got::kContent) << test.length;
    if (!test.good) {
      EXPECT_EQ(HeardBy(host).status, NestedStatus::kGarbageArgs);
    }
  }
}

// Performs random actions that the core may perform.
struct AnyCore {
  RpcHost& host;
  std::mt19937& random;
  ProcessId owner = 0;  // 0 is the kernel.

  void Act(bool calls) {
    if (owner == 0) {
      if (host.kernel.Wait(0) != Got::kContent) return;
      const coherent::Content told = host.kernel.content();
      host.kernel.Return({.kind = coherent::Kind::kNoReply});
      // The message is for an ended incarnation, so the kernel loads again.
      if (told.data == host.incarnations[told.code]) owner = static_cast<ProcessId>(told.code);
      return;
    }
    coherent::HostEnd& end = host.processes[owner]->end;
    if (end.state(coherent::Pair::kReceive) == coherent::State::kHolding) {
      CallHead head = kAdd;
      if (random() % 3 == 0) head = {.program = kOtherProgram, .version = 1, .procedure = 1};
      if (random() % 8 == 0) head.procedure = 9;
      if (calls && random() % 2 == 0) {
        host.ReturnCall(owner, head, {1, 2});
      } else {
        host.ReturnWord(owner, 1);
      }
    }
    if (end.Wait(0) == Got::kYieldNow) owner = 0;
  }
  // Simulates a process that dies and is restarted.
  void Restart(ProcessId dies) {
    host.End(dies);
    if (owner == dies) owner = 0;
    ASSERT_TRUE(host.Start(dies));
  }
};

// Services call one another, themselves and unknown procedures, and die. Every frame that got a
// slot must be answered once, and no slot may leak.
TEST(NestedCalls, EveryCallThatWasTakenIsAnsweredOnce) {
  constexpr uint32_t kSlots = 12, kFrames = 20'000;
  std::mt19937 random(1);
  RpcHost host({.queue_capacity = 64, .suspended_capacity = 2, .nested_bound = 100'000}, kSlots, 3);
  std::map<uint32_t, uint32_t> replies;
  AnyCore core{host, random};
  const auto count = [&] {
    for (const Words& reply : host.DrainReplies()) ++replies[reply.at(0)];
  };
  for (uint32_t i = 0; i < kFrames; ++i) {
    host.Send(random() % 2 == 0 ? OuterCall(i) : RpcHost::Call(i, 1, {1, 2}));
    for (uint32_t moves = random() % 16; moves != 0; --moves) {
      core.Act(true);
      host.Step();
    }
    if (random() % 500 == 0) {
      core.Restart(static_cast<ProcessId>(1 + random() % 2));
    }
    count();
  }
  for (int i = 0; i < 3'000; ++i) {
    core.Act(false);
    host.Step();
  }
  count();
  for (const auto& [xid, times] : replies) EXPECT_EQ(times, 1u) << xid;
  EXPECT_EQ(replies.size() + host.Count("rpc_drop_no_slot"), kFrames);
  EXPECT_EQ(host.Count("rpc_drop_queue_full"), 0u);
  for (const char* name : {"rpc_nested", "rpc_nested_too_many", "rpc_nested_refused",
                           "rpc_nested_orphans", "rpc_lost"}) {
    EXPECT_GT(host.Count(name), 0u) << name << " never happened";
  }
  const uint64_t dropped = host.Count("rpc_drop_no_slot");
  for (uint32_t i = 0; i < kSlots; ++i) host.Send(OuterCall(kFrames + i));
  EXPECT_EQ(host.Count("rpc_drop_no_slot"), dropped) << "all slots are free";
}

TEST(NestedCalls, ThereIsASlotForEveryCallThatHasAPlace) {
  const DispatcherConfig config = {
      .queue_capacity = 3, .suspended_capacity = 2, .nested_bound = 100'000};
  std::mt19937 random(1);
  RpcHost host(config, SlotsFor(config, 2), 3);
  AnyCore core{host, random};
  for (uint32_t i = 0; i < 20'000; ++i) {
    host.Send(random() % 2 == 0 ? OuterCall(i) : RpcHost::Call(i, 1, {1, 2}));
    for (uint32_t moves = random() % 16; moves != 0; --moves) {
      core.Act(true);
      host.Step();
    }
    if (random() % 500 == 0) core.Restart(static_cast<ProcessId>(1 + random() % 2));
  }
  EXPECT_EQ(host.Count("rpc_drop_no_slot"), 0u);
  EXPECT_GT(host.Count("rpc_drop_queue_full"), 0u);
}

}  // namespace
}  // namespace sluice::device::rpc::test
