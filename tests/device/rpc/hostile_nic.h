// SPDX-License-Identifier: BSD-3-Clause
//
// RpcHost's NIC with clients that send arbitrary frames, and with one hostile process that stores
// arbitrary data in its memory. A string of bytes controls both, for the property test and for the
// fuzzer. The honest process, the kernel and the supervisor follow the protocol. The guarantees:
// the honest process gets only calls that were sent to it, every frame is counted once, and no
// client gets more answers than it has sent calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "../../fuzz/choices.h"
#include "rpc_host.h"

namespace sluice::device::rpc::test {

/// Result of a run.
struct Driven {
  const char* broken = nullptr;  ///< The violated guarantee; null if there is none.
  uint32_t contents = 0;         ///< Number of calls delivered to the honest process.
  uint32_t replies = 0;          ///< Number of frames that the NIC sent.
};

class HostileRun {
 public:
  HostileRun(const uint8_t* data, size_t size) : bytes_(data, size) {}

  Driven Run() {
    while (!bytes_.empty() && driven_.broken == nullptr) {
      const uint8_t what = bytes_.Byte();
      switch (what % 12) {
        case 0:
        case 1:
          SendCall();
          break;
        case 2:
          SendAnything();
          break;
        case 3:
          StoreAnywhere();
          break;
        case 4:
        case 5:
          StoreHead(what);
          break;
        case 6:
          Load(what);
          break;
        case 7:
          LeaveOrEnter(what);
          break;
        case 8:
          if (what == 8) Restart(kHostile);
          break;
        case 9:
          owner_ = owner_ == kHostile ? 0 : owner_;
          break;
        case 10:
          host_.Step(uint64_t{1} << what / 8);
          break;
        default:
          break;
      }
      if (what % 3 != 0) Act();
      host_.Step();
      Supervise();
      Count();
    }
    host_.nic.RemoveService(kHostile);
    host_.nic.RemoveService(kHonest);
    host_.Step();
    Count();
    if (Endings() != frames_) Break("a frame has no ending, or two");
    return driven_;
  }

 private:
  static constexpr ProcessId kHostile = 1, kHonest = 2;

  void Break(const char* promise) { driven_.broken = promise; }

  // Actions of clients:
  void SendFrame(const std::vector<uint8_t>& frame) {
    const auto datagram = packet::Datagram::In(frame.data(), static_cast<uint32_t>(frame.size()));
    if (datagram.kind == packet::Datagram::Kind::kUdp && datagram.payload_bytes >= 4) {
      ++asked_[packet::LoadBe32(frame.data() + datagram.payload)];
    }
    ++frames_;
    host_.SendFrame(frame);
  }
  /// Sends a call. One byte of it may be modified.
  void SendCall() {
    const uint8_t how = bytes_.Byte();
    Words arguments;
    for (uint32_t i = how % 4; i != 0; --i) arguments.push_back(bytes_.Byte());
    // The call either fits into lines or needs a buffer.
    if (how / 4 % 16 == 1) arguments.resize(1 + bytes_.Word16() % 2100);
    const bool other = how / 64 % 2 != 0;
    std::vector<uint8_t> frame = RpcHost::Frame(RpcHost::Call(
        frames_, bytes_.Byte() % 5, arguments, other ? 1 : 2, other ? kOtherProgram : kProgram));
    for (uint32_t bent = how / 128; bent != 0; --bent) {
      frame[bytes_.Word16() % frame.size()] = bytes_.Byte();
    }
    SendFrame(frame);
  }
  void SendAnything() {
    const auto taken = bytes_.Consume(bytes_.Byte());
    SendFrame({taken.begin(), taken.end()});
  }

  // Actions of the hostile process:
  coherent::EndpointMemory Memory() {
    return coherent::EndpointMemory::Find(host_.processes[kHostile]->pages.span());
  }
  void StoreAnywhere() {
    const auto memory = host_.processes[kHostile]->pages.span();
    const size_t at = bytes_.Word16() % (memory.size() / 8) * 8;
    const uint64_t word = bytes_.Word64();
    std::memcpy(memory.data() + at, &word, sizeof(word));
  }
  /// Announces a return, usually with a valid kind and length, and loads the next line.
  void StoreHead(uint8_t what) {
    using coherent::Kind;
    constexpr Kind kReturns[] = {Kind::kReply, Kind::kReply, Kind::kNoReply, Kind::kFrames};
    const coherent::EndpointMemory memory = Memory();
    if (!memory) return;
    const uint8_t how = bytes_.Byte();
    const uint64_t number = memory.host(coherent::Pair::kReceive).load;
    coherent::ControlLine& line = memory.line(coherent::Pair::kReceive, number);
    const coherent::Control control = {static_cast<uint32_t>(number + (how % 16 == 0)),
                                       how % 8 == 1 ? bytes_.Word16() : 4u * (how / 64), 0,
                                       how % 8 == 2, kReturns[how / 8 % 4]};
    line.control = control.Word();
    line.code = how % 32 == 4 ? bytes_.Byte() : 0;
    Load(what);
  }
  void Load(uint8_t what) {
    const coherent::EndpointMemory memory = Memory();
    if (!memory) return;
    memory.host(coherent::Pair::kReceive).load += what / 12 % 16 == 1 ? bytes_.Byte() : 1;
  }
  /// Sets or clears the busy flag; sometimes returns the core to the kernel.
  void LeaveOrEnter(uint8_t what) {
    if (const coherent::EndpointMemory memory = Memory()) {
      memory.host(coherent::Pair::kReceive).busy = what / 12 % 2;
    }
    if (owner_ == kHostile && what / 24 % 2 != 0) owner_ = 0;
  }

  // Acts for the honest process or the kernel if either has the core.
  void Act() {
    if (owner_ == kHonest) return ActInProcess();
    if (owner_ != 0 || host_.kernel.Wait(0) != coherent::Got::kContent) return;
    owner_ = static_cast<ProcessId>(host_.kernel.content().code);
    if (owner_ != kHostile && owner_ != kHonest) Break("the kernel got an unknown process");
    host_.kernel.Return({.kind = coherent::Kind::kNoReply});
  }
  void ActInProcess() {
    coherent::HostEnd& end = host_.processes[kHonest]->end;
    switch (end.Wait(0)) {
      case coherent::Got::kContent: {
        ++driven_.contents;
        const coherent::Content content = end.content();
        // RpcHost::Start sets these values.
        if (content.kind != coherent::Kind::kRequest || content.data != 7 ||
            content.code / 0x1000 != kHonest || content.length != 0) {
          Break("a process got another process's call");
        }
        host_.Return(kHonest, {});
        break;
      }
      case coherent::Got::kYieldNow:
      case coherent::Got::kBarred:
      case coherent::Got::kClosed:
        owner_ = 0;
        break;
      default:
        break;
    }
  }

  // Actions of the supervisor:
  void Restart(ProcessId id) {
    host_.End(id);
    if (owner_ == id) owner_ = 0;
    if (!host_.Start(id)) Break("it cannot be started again");
  }
  void Supervise() {
    for (const ProcessId id : std::exchange(host_.killed, {})) {
      if (id == kHonest && !Late()) Break("the honest process is killed");
      Restart(id);
    }
  }
  /// Returns whether the honest process may have been too slow. The schedule does not bound its
  /// actions.
  bool Late() const { return host_.now_ns > 1'000'000; }

  void Count() {
    for (const Words& reply : host_.DrainReplies()) {
      ++driven_.replies;
      if (reply.size() < 5 || reply[1] != 1) return Break("a sent frame is not a reply");
      if (++answered_[reply[0]] > asked_[reply[0]]) Break("duplicate or unsolicited reply");
    }
  }
  uint64_t Endings() {
    uint64_t ended = 0;
    for (const char* name :
         {"rpc_drop_not_udp", "rpc_drop_malformed", "rpc_drop_fragment", "rpc_drop_options",
          "rpc_drop_bad_checksum", "rpc_drop_truncated", "rpc_drop_not_a_call",
          "rpc_drop_not_our_port", "rpc_drop_no_slot", "rpc_rpc_mismatch", "rpc_auth_error",
          "rpc_prog_unavail", "rpc_prog_mismatch", "rpc_proc_unavail", "rpc_garbage_args",
          "rpc_system_err", "rpc_drop_queue_full"}) {
      ended += host_.Count(name);
    }
    // An executed call was either answered or already counted as a system error.
    return ended + host_.Count("rpc_answered") -
           (host_.Count("rpc_system_err") - host_.Count("rpc_lost"));
  }

  fuzz::Choices bytes_;
  RpcHost host_{{.queue_capacity = 4,
                 .switch_bound = 1'000'000,
                 .leave_bound = 1'000'000,
                 .preempt_bound = 100'000,
                 .handler_bound = 10'000'000},
                8};
  ProcessId owner_ = 0;  ///< Owner of the core; 0: the kernel.
  uint32_t frames_ = 0;
  std::map<uint32_t, uint32_t> asked_, answered_;  ///< Indexed by xid.
  Driven driven_;
};

}  // namespace sluice::device::rpc::test
