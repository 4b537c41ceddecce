// SPDX-License-Identifier: BSD-3-Clause
//
// A host for RpcNic with one core and two processes, in one thread and with a simulated clock.
// Process 1 serves kX on port kPort, and process 2 serves kOtherX.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coherent/host_end.h"
#include "device/rpc/rpc_nic.h"
#include "fifo_placement.h"
#include "packet/bytes.h"
#include "packet/datagram.h"
#include "pages.h"
#include "rpc/x_compiler.h"

namespace sluice::device::rpc::test {

using Words = std::vector<uint32_t>;

inline constexpr uint32_t kProgram = 0x20000099;
inline constexpr uint32_t kOtherProgram = 0x20000098;
inline constexpr const char* kX = R"(
  struct pair { unsigned int a; unsigned int b; };
  typedef opaque blob<8000>;
  program CALCULATOR {
    version FIRST { unsigned int ADD(pair) = 1; blob ECHO(blob) = 2; void NOTHING(void) = 3; } = 2;
    version LAST { void NOTHING(void) = 3; } = 4;
  } = 0x20000099;)";
inline constexpr const char* kOtherX =
    "program OTHER { version FIRST { void NOTHING(void) = 1; } = 1; } = 0x20000098;";

class RpcHost : public HostPort, private FrameSink {
 public:
  static constexpr uint16_t kPort = 20049;
  static constexpr coherent::Geometry kUsers = {.overflow_lines = 4, .buffer_bytes = 8192};
  static constexpr coherent::Geometry kKernels = {.mode = coherent::Mode::kKernel,
                                                  .overflow_lines = 0};

  /// A process, as seen by the host.
  struct Process {
    Pages pages{kUsers.Bytes()};
    coherent::HostEnd end{coherent::EndpointMemory::Format(pages.span(), kUsers),
                          coherent::WaitMethod::kPause};
    uint64_t base() { return reinterpret_cast<uint64_t>(pages.span().data()); }
  };

  explicit RpcHost(DispatcherConfig dispatcher = {}, uint32_t slots = 64, uint32_t nested_depth = 8)
      : nic({.dispatcher = dispatcher,
             .users = kUsers,
             .slots = slots,
             .dma_bytes = 512,
             .nested_depth = nested_depth,
             .traces = true},
            placement, *this) {
    nic.AttachKernel(0, {kernel_pages_.span(), 0});
    std::string error;
    nic.AddService(1, 1, {kPort, wire::CompileX(kX, "x", &error)->table, {}});
    nic.AddService(2, 1, {kPort, wire::CompileX(kOtherX, "x", &error)->table, {}});
    Start(1);
    Start(2);
  }

  bool Start(ProcessId id) {
    processes[id] = std::make_unique<Process>();
    std::vector<Entry> entries(id == 1 ? kEntries : 2);
    for (size_t i = 0; i < entries.size(); ++i) entries[i] = {0x1000 * id + i, 7};
    const Endpoint endpoint = {processes[id]->pages.span(), processes[id]->base()};
    return nic.Start(id, entries, {&endpoint, 1}, ++incarnations[id]);
  }
  /// Ends a dead process, whose memory is then no longer used.
  void End(ProcessId id) {
    nic.Gone(id);
    processes[id].reset();
    Step();
  }

  /// Returns a frame with this message to kPort.
  static std::vector<uint8_t> Frame(const Words& message, uint16_t port = kPort) {
    std::vector<uint8_t> frame(packet::Datagram::kPlainPayload + 4 * message.size());
    packet::Datagram::WritePlain(
        frame.data(),
        {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, port},
        static_cast<uint32_t>(4 * message.size()));
    for (size_t i = 0; i < message.size(); ++i) {
      packet::StoreBe32(frame.data() + packet::Datagram::kPlainPayload + 4 * i, message[i]);
    }
    return frame;
  }
  /// Returns a call according to RFC 5531 section 9: xid, CALL, RPC version 2, and AUTH_NONE twice.
  static Words Call(uint32_t xid, uint32_t procedure, const Words& arguments = {},
                    uint32_t version = 2, uint32_t program = kProgram) {
    Words words = {xid, 0, 2, program, version, procedure, 0, 0, 0, 0};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  void Send(const Words& message) { SendFrame(Frame(message)); }
  void SendFrame(const std::vector<uint8_t>& frame) {
    const WireFrame sent = {frame.data(), static_cast<uint32_t>(frame.size())};
    nic.Receive({&sent, 1}, false);
    Step();
  }
  /// Advances the time, and lets the device poll its endpoints.
  void Step(uint64_t ns = 100) {
    now_ns += ns;
    nic.SetTime(now_ns);
    for (int i = 0; i < 3; ++i) nic.Transmit(*this, 64);
  }

  /// Load the next line of the kernel or of a process, and return the result.
  coherent::Got KernelLoads() { return Loads(kernel); }
  coherent::Got UserLoads(ProcessId id) { return Loads(processes[id]->end); }
  /// Switches the core to process `id`, which then holds a call. Returns false if the kernel does
  /// not get this switch, or the process does not get a call.
  bool Switch(ProcessId id) {
    const auto got = kernel.Wait(0);
    if ((got != coherent::Got::kContent && KernelLoads() != coherent::Got::kContent) ||
        kernel.content().code != id) {
      return false;
    }
    kernel.Return({.kind = coherent::Kind::kNoReply});
    return UserLoads(id) == coherent::Got::kContent;
  }
  /// Returns these bytes as the result of process `id`'s handler.
  void Return(ProcessId id, std::span<const uint8_t> result, uint64_t status = 0) {
    coherent::HostEnd& end = processes[id]->end;
    std::ranges::copy(result, end.Room().begin());
    end.Return({.kind = coherent::Kind::kReply,
                .length = static_cast<uint32_t>(result.size()),
                .code = status});
  }
  void ReturnWord(ProcessId id, uint32_t word) {
    Return(id, {reinterpret_cast<const uint8_t*>(&word), 4});
  }
  /// Returns a nested call instead of a result. The words are its arguments.
  void ReturnCall(ProcessId id, const CallHead& head, const Words& arguments = {}) {
    coherent::HostEnd& end = processes[id]->end;
    const size_t bytes = 4 * arguments.size();
    std::memcpy(end.Room().data(), &head, sizeof(head));
    if (bytes != 0) std::memcpy(end.Room().data() + sizeof(head), arguments.data(), bytes);
    end.Return(
        {.kind = coherent::Kind::kCall, .length = static_cast<uint32_t>(sizeof(head) + bytes)});
  }

  /// Returns the messages of all frames sent since the last call.
  std::vector<Words> DrainReplies() { return std::exchange(replies_, {}); }
  uint64_t Count(std::string_view name) {
    for (const Counter& counter : nic.Counters()) {
      if (counter.name == name) return counter.value;
    }
    return ~uint64_t{0};
  }

  void Interrupt(CoreId, ProcessId) override { ++interrupts; }
  void Kill(ProcessId process) override { killed.push_back(process); }
  void Wake(CoreId) override { ++wakes; }
  void Answered(const CallTrace& trace) override { traces.push_back(trace); }

  static constexpr size_t kEntries = 6;  ///< ADD, ECHO, NOTHING, NOTHING, and NULL twice.

  FifoPlacement placement{1'000'000};
  RpcNic nic;
  uint64_t now_ns = 0;
  std::array<std::unique_ptr<Process>, 3> processes;
  std::array<uint64_t, 3> incarnations{};
  uint32_t interrupts = 0;
  uint32_t wakes = 0;
  std::vector<ProcessId> killed;
  std::vector<CallTrace> traces;

 private:
  coherent::Got Loads(coherent::HostEnd& end) {
    const coherent::Got got = end.Wait(0);
    if (got != coherent::Got::kNothing) return got;
    Step();
    return end.Wait(0);
  }
  void Deliver(std::span<const WireFrame> frames) override {
    for (const WireFrame& frame : frames) {
      const auto datagram = packet::Datagram::In(frame.data, frame.length);
      Words words;
      for (uint32_t at = 0; at + 4 <= datagram.payload_bytes; at += 4) {
        words.push_back(packet::LoadBe32(frame.data + datagram.payload + at));
      }
      replies_.push_back(words);
    }
  }

  Pages kernel_pages_{kKernels.Bytes()};
  std::vector<Words> replies_;

 public:
  coherent::HostEnd kernel{coherent::EndpointMemory::Format(kernel_pages_.span(), kKernels),
                           coherent::WaitMethod::kPause};
};

}  // namespace sluice::device::rpc::test
