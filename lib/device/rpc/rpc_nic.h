// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that is part of the operating system, after Lauberhorn: frames become calls, calls are
// unmarshalled into the line that a core of their process loads, and what the handler left there
// becomes the reply. It knows where each core waits (dispatcher.h) and answers itself what is not
// for any process: calls to unknown programs, garbage, services that died. A handler may leave a
// call to another service instead of its result (nested_call.h); the device makes it, and delivers
// the answer to the handler's continuation.
//
// Calls and replies are whole datagrams here, up to the longest that IP has. Whoever is behind the
// device cuts them into what its link carries, and puts fragments together (packet/fragmenter.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "coherent/nic_end.h"
#include "device/device.h"
#include "device/frame_staging.h"
#include "device/rpc/call_slots.h"
#include "device/rpc/dispatcher.h"
#include "device/rpc/host_port.h"
#include "device/rpc/rpc_counters.h"
#include "device/rpc/services.h"
#include "packet/fragmenter.h"
#include "rpc/call_frame.h"
#include "rpc/marshal.h"
#include "rpc/unmarshal.h"

namespace sluice::device::rpc {

/// Slots with which calls to one of so many services never keep out those to another: all that the
/// services can hold, and one for a call that finds a full queue.
constexpr uint32_t SlotsFor(const DispatcherConfig& dispatcher, uint32_t services) {
  return services * MaxCalls(dispatcher) + 1;
}

struct RpcNicConfig {
  DispatcherConfig dispatcher;
  coherent::Geometry users;  ///< What every user endpoint is laid out like.
  /// Calls that the device holds at once, nested ones too; 0: SlotsFor(dispatcher, kMaxProcesses).
  /// With fewer than SlotsFor says, a service that is down or slow may keep out calls to others.
  uint32_t slots = 0;
  uint32_t dma_bytes = 4096;  ///< Larger arguments go through the line's buffer, not through lines.
  uint32_t nested_depth = 8;  ///< Calls in calls; 0: services make none.
  bool traces = false;        ///< HostPort::Answered.
};

/// An endpoint as the device reaches it.
struct Endpoint {
  std::span<uint8_t> memory;  ///< Formatted; stays mapped until the process is gone.
  uint64_t base = 0;          ///< Address of `memory` in the process, divisible by 4096.
};

/// See Device; no registers. The rest may be called between its steps, by the same thread.
class RpcNic final : public Device {
 public:
  /// Both outlive the device.
  RpcNic(const RpcNicConfig& config, Placement& placement, HostPort& host);

  // Control path.

  /// The kernel endpoint of a core, whose kernel has not loaded yet. False: there is no such core,
  /// or no endpoint in the memory.
  bool AttachKernel(CoreId core, const Endpoint& endpoint);
  /// Makes a service known. False: see Services::Add and Dispatcher::AddProcess.
  bool AddService(ProcessId process, uint32_t max_cores, Service service);
  /// Its process is up, with an entry for each procedure and an endpoint for each core, none of
  /// which any process had before. False: they are not that. `incarnation`: the kernel's name for
  /// this process, which it gets back as the data of every switch to it.
  bool Start(ProcessId process, std::vector<Entry> entries, std::span<const Endpoint> endpoints,
             uint64_t incarnation = 0);
  /// The process ended. Its memory is not touched any more.
  void Gone(ProcessId process);
  /// As Gone, and the service is not known any more.
  void RemoveService(ProcessId process);
  /// The kernel wants the core for itself.
  void Reclaim(CoreId core);

  void WriteRegister(uint32_t, uint32_t, uint64_t) override {}
  uint64_t ReadRegister(uint32_t, uint32_t) override { return ~uint64_t{0}; }
  void SetTime(uint64_t now_ns) override { now_ns_ = now_ns; }
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  /// The dispatcher's and RpcCounter's.
  std::span<const Counter> Counters() override;

  uint64_t counter(RpcCounter counter) const { return counts_[static_cast<uint32_t>(counter)]; }
  const Dispatcher& dispatcher() const { return dispatcher_; }

 private:
  /// What answers a load that has not come yet: the core is between TRYAGAIN and its next load.
  enum class Pending : uint8_t { kNone, kRequest, kYieldNow, kSwitch, kRetire };
  struct End {
    std::optional<coherent::NicEnd> nic;
    uint8_t* memory = nullptr;
    uint64_t base = 0;
    Pending pending = Pending::kNone;
    bool switched = false;   ///< The core was switched here, and has had no call since.
    bool interrupt = false;  ///< Once the pending request is delivered.
    CallId call = 0;         ///< Of kRequest.
    ProcessId process = 0;   ///< Of kSwitch.
  };
  using Ends = std::array<End, kMaxCores>;
  /// A value that stands in a line, or why it does not.
  struct Prepared {
    wire::UnmarshalError error;
    coherent::Content content;  ///< But for code and data.
  };
  /// What follows from an action: the dispatcher is told when it has no more to say.
  struct Later {
    bool arrives;  ///< A nested call does; else a suspended one goes on.
    ProcessId process;
    CallId call;
  };

  static constexpr uint32_t kMaxFrame = packet::kLongestDatagramFrame;
  static constexpr uint64_t kTickNs = 10'000;

  void Count(RpcCounter counter) { ++counts_[static_cast<uint32_t>(counter)]; }
  End& User(ProcessId process, CoreId core) { return (*users_[process])[core]; }

  // From the wire.
  void Take(const WireFrame& frame);
  bool Drop(const wire::CallFrame& read, wire::FrameError error);
  void Arrive(const WireFrame& frame, const wire::CallFrame& read, const Services::Found& found);
  /// Returns whether the same client's same call waits to begin: it was sent again.
  bool WaitsAlready(const WireFrame& frame, const wire::CallFrame& read,
                    const Services::Found& found) const;
  /// Unmarshals a value into the line that `end` waits for, or into scratch memory of its size,
  /// behind room for `head` bytes.
  Prepared Prepare(const wire::Table& table, uint32_t type, std::span<const uint8_t> xdr,
                   const End* end, uint32_t head = 0);
  /// The same of arguments.
  Prepared PrepareCall(const Service& service, uint32_t procedure, std::span<const uint8_t> xdr,
                       const End* end);

  // From the endpoints.
  void LookAtUser(CoreId core);
  void LookAtKernel(CoreId core);
  /// Answers a load that was decided on before it came. False: nothing was.
  bool AnswerPending(End& end, CoreId core);

  // What the dispatcher decided.
  void Follow(Dispatcher::Actions actions);
  void Do(const Action& action);
  void Give(End& end, const Action& action);
  void Switch(const Action& action);
  void Interrupt(const Action& action);
  void Wake(CoreId core);

  // Calls that services make.
  /// What came back in the line: a call to make, or the end of the one that was in it.
  Done DoneOf(const End& end) const;
  /// `action` says that the call which came back in the line of `end` waits for another.
  void Suspend(const End& end, const Action& action);
  /// Makes the call that `arguments` are for. kSuccess, or why it reaches nobody.
  NestedStatus Call(CallId parent, wire::Source arguments);
  void ReplyToParent(const End& end, CallId call);
  /// A nested call has ended: its parent goes on.
  void EndNested(CallId call, NestedStatus status);
  /// A call does not wait for its child any more.
  void Orphan(CallId call);
  coherent::Content PrepareContinuation(CallId call, const End& end);
  /// The process is no longer: results of its procedures cannot be read.
  void ForgetResults(ProcessId callee);

  // Towards the wire.
  void Reply(End& end, CallId call);
  /// Writes the results that came back, in XDR. Nothing: the call failed.
  std::optional<uint32_t> MarshalResults(const End& end, CallSlot& slot, uint8_t* to,
                                         uint32_t room);
  void Refuse(const packet::Datagram& datagram, const uint8_t* headers, const uint8_t* message,
              uint32_t bytes, RpcCounter counter);
  void RefuseAccepted(const packet::Datagram& datagram, const uint8_t* headers, uint32_t xid,
                      wire::AcceptStat stat);
  /// Of a call that was not executed, or not to its end. An error for the wire is sent by Flush, if
  /// there is no room now.
  void EndWith(CallId call, wire::AcceptStat stat);
  void SendError(CallId call, wire::AcceptStat stat);
  /// Delivers the replies, and errors that wait for room. Returns how many.
  uint32_t Flush(FrameSink& sink);
  /// Of one for which there was no room; a caller on the wire is not told.
  void Discard(CallId call, NestedStatus status);

  RpcNicConfig config_;
  HostPort& host_;
  uint64_t now_ns_ = 0;
  uint64_t ticked_ns_ = 0;
  const Dispatcher::Starved starved_ = [this](CoreId core, ProcessId process) {
    return host_.Starved(core, process);
  };
  Dispatcher dispatcher_;
  Services services_;
  CallSlots slots_;
  FrameStaging<128, 512 * 1024, kMaxFrame> replies_;
  CallQueue errors_;  ///< Calls whose errors wait for room. Not empty: `replies_` is full.
  std::vector<uint8_t> scratch_;    ///< As large as any payload.
  std::vector<Later> later_;        ///< In order.
  std::optional<CallId> prepared_;  ///< Its arguments stand in the line already, as:
  coherent::Content prepared_content_;
  Ends kernels_;
  std::array<std::unique_ptr<Ends>, kMaxProcesses> users_;
  std::array<uint64_t, kRpcCounters> counts_{};
  std::vector<Counter> counters_;
};

}  // namespace sluice::device::rpc
