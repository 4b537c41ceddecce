// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that is part of the operating system, like Lauberhorn. It turns frames into calls,
// unmarshals each call to the line that a core of the called process loads, and turns the results
// that the handler writes to the line into the reply. The NIC knows where each core is waiting
// (dispatcher.h). Calls that cannot be executed (unknown programs, garbage, dead services) are
// answered by the NIC. A handler may write a call to another service to the line instead of its
// result (nested_call.h); the device makes the call and delivers the answer to the handler's
// continuation.
//
// Calls and replies are whole datagrams here, up to the maximum IP size. The link layer to which
// the device is connected fragments and reassembles them (packet/fragmenter.h).
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

/// Returns the number of slots that `services` services need so that calls to one service cannot
/// block calls to another: the maximum number of calls that all services can hold, plus one for a
/// call that finds a full queue.
constexpr uint32_t SlotsFor(const DispatcherConfig& dispatcher, uint32_t services) {
  return services * MaxCalls(dispatcher) + 1;
}

struct RpcNicConfig {
  DispatcherConfig dispatcher;
  coherent::Geometry users;  ///< Layout of every user endpoint.
  /// Maximum number of calls in the device, including nested ones; 0: SlotsFor(dispatcher,
  /// kMaxProcesses). With fewer slots than SlotsFor returns, a slow or dead service may block calls
  /// to others.
  uint32_t slots = 0;
  uint32_t dma_bytes = 4096;  ///< Larger arguments use the line's buffer instead of lines.
  uint32_t nested_depth = 8;  ///< Maximum nesting of calls; 0: nested calls are rejected.
  bool traces = false;        ///< Enables HostPort::Answered.
};

/// An endpoint's memory, as mapped by the device.
struct Endpoint {
  std::span<uint8_t> memory;  ///< Must be formatted, and must stay mapped until the process is
                              ///< gone.
  uint64_t base = 0;          ///< Address of `memory` in the process, divisible by 4096.
};

/// See Device. Has no registers. The other methods may be called between steps, on the same thread.
class RpcNic final : public Device {
 public:
  /// `placement` and `host` must outlive the device.
  RpcNic(const RpcNicConfig& config, Placement& placement, HostPort& host);

  // The following functions are for the control path.

  /// Sets the kernel endpoint of a core whose kernel has not loaded yet. Returns false if the core
  /// does not exist or the memory contains no kernel endpoint.
  bool AttachKernel(CoreId core, const Endpoint& endpoint);
  /// Adds a service. Returns false for the same reasons as Services::Add and
  /// Dispatcher::AddProcess.
  bool AddService(ProcessId process, uint32_t max_cores, Service service);
  /// Reports that the service's process has started. `entries` has one entry per procedure,
  /// `endpoints` one unused endpoint per core. Returns false if either has the wrong size, if an
  /// endpoint is invalid, or if the process has no service. `incarnation` is the kernel's name for
  /// this process; every switch to the process passes it to the kernel as data.
  bool Start(ProcessId process, std::vector<Entry> entries, std::span<const Endpoint> endpoints,
             uint64_t incarnation = 0);
  /// Reports that the process has ended. Its memory is no longer accessed.
  void Gone(ProcessId process);
  /// Like Gone, and removes the service.
  void RemoveService(ProcessId process);
  /// Reports that the kernel wants the core for itself.
  void Reclaim(CoreId core);

  void WriteRegister(uint32_t, uint32_t, uint64_t) override {}
  uint64_t ReadRegister(uint32_t, uint32_t) override { return ~uint64_t{0}; }
  void SetTime(uint64_t now_ns) override { now_ns_ = now_ns; }
  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  /// Returns the counters of the dispatcher and those of RpcCounter.
  std::span<const Counter> Counters() override;

  uint64_t counter(RpcCounter counter) const { return counts_[static_cast<uint32_t>(counter)]; }
  const Dispatcher& dispatcher() const { return dispatcher_; }

 private:
  /// Answer for a load that has not arrived yet because the core is between TRYAGAIN and its next
  /// load.
  enum class Pending : uint8_t { kNone, kRequest, kYieldNow, kSwitch, kRetire };
  struct End {
    std::optional<coherent::NicEnd> nic;
    uint8_t* memory = nullptr;
    uint64_t base = 0;
    Pending pending = Pending::kNone;
    bool switched = false;   ///< The core was switched here and has not had a call since.
    bool interrupt = false;  ///< Interrupt the core after the pending request has been delivered.
    CallId call = 0;         ///< Valid only for kRequest.
    ProcessId process = 0;   ///< Valid only for kSwitch.
  };
  using Ends = std::array<End, kMaxCores>;
  /// A value in a line, or the error of its preparation.
  struct Prepared {
    wire::UnmarshalError error;
    coherent::Content content;  ///< Content of the line, except for code and data.
  };
  /// An event caused by an action. It is passed to the dispatcher after the current actions.
  struct Later {
    bool arrives;  ///< True: a nested call arrives. False: a suspended call continues.
    ProcessId process;
    CallId call;
  };

  static constexpr uint32_t kMaxFrame = packet::kLongestDatagramFrame;
  static constexpr uint64_t kTickNs = 10'000;

  void Count(RpcCounter counter) { ++counts_[static_cast<uint32_t>(counter)]; }
  End& User(ProcessId process, CoreId core) { return (*users_[process])[core]; }

  // Frames from the wire.
  void AcceptFrame(const WireFrame& frame);
  bool Drop(const wire::CallFrame& read, wire::FrameError error);
  void Arrive(const WireFrame& frame, const wire::CallFrame& read, const Services::Found& found);
  /// Returns whether the same call from the same client is already waiting to begin.
  bool WaitsAlready(const WireFrame& frame, const wire::CallFrame& read,
                    const Services::Found& found) const;
  /// Unmarshals a value to the line or the buffer for which a load at `end` is waiting, or to
  /// scratch memory of the same size if `end` is null. Leaves the first `head` bytes free.
  Prepared Prepare(const wire::Table& table, uint32_t type, std::span<const uint8_t> xdr,
                   const End* end, uint32_t head = 0);
  /// Unmarshals a call's arguments, like Prepare.
  Prepared PrepareCall(const Service& service, uint32_t procedure, std::span<const uint8_t> xdr,
                       const End* end);

  // Loads of the endpoints.
  void LookAtUser(CoreId core);
  void LookAtKernel(CoreId core);
  /// Answers a load with the pending answer. Returns false if no answer is pending.
  bool AnswerPending(End& end, CoreId core);

  // Actions of the dispatcher.
  void Follow(Dispatcher::Actions actions);
  void Do(const Action& action);
  void Give(End& end, const Action& action);
  void Switch(const Action& action);
  void Interrupt(const Action& action);
  void Wake(CoreId core);

  // Calls of services.
  /// Returns whether the line contains a call to make, or the reply.
  Done DoneOf(const End& end) const;
  /// Suspends the call of `action`, whose process has written a nested call to its line at `end`.
  void Suspend(const End& end, const Action& action);
  /// Makes the call described by `arguments`. Returns kSuccess, or the reason why the call could
  /// not be made.
  NestedStatus Call(CallId parent, wire::Source arguments);
  void ReplyToParent(const End& end, CallId call);
  /// Ends a nested call. The call's parent continues, unless the two have been separated (Orphan).
  void EndNested(CallId call, NestedStatus status);
  /// Separates a call from its child, so that the child's result is discarded.
  void Orphan(CallId call);
  coherent::Content PrepareContinuation(CallId call, const End& end);
  /// Discards the results of a removed service, because they can no longer be interpreted.
  void ForgetResults(ProcessId callee);

  // Frames to the wire.
  void Reply(End& end, CallId call);
  /// Writes the returned results to `to` as XDR. Returns their size, or nullopt if the call failed
  /// or the results are invalid or longer than `room`.
  std::optional<uint32_t> MarshalResults(const End& end, CallSlot& slot, uint8_t* to,
                                         uint32_t room);
  void Refuse(const packet::Datagram& datagram, const uint8_t* headers, const uint8_t* message,
              uint32_t bytes, RpcCounter counter);
  void RefuseAccepted(const packet::Datagram& datagram, const uint8_t* headers, uint32_t xid,
                      wire::AcceptStat stat);
  /// Ends a call with the error `stat`, which becomes the parent's status if the call is nested. If
  /// the reply buffer is full, Flush sends the error later.
  void EndWith(CallId call, wire::AcceptStat stat);
  void SendError(CallId call, wire::AcceptStat stat);
  /// Delivers the replies, and the errors that are waiting for room. Returns how many were
  /// delivered.
  uint32_t Flush(FrameSink& sink);
  /// Drops a call for which there was no room or no process. A caller on the wire gets no reply; a
  /// nested call's parent gets `status`.
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
  CallQueue errors_;  ///< Calls whose errors are waiting for room. If not empty, `replies_` is
                      ///< full.
  std::vector<uint8_t> scratch_;  ///< Large enough for the largest payload.
  std::vector<Later> later_;      ///< Processed in order.
  /// Call whose arguments are already in the line, with the content below.
  std::optional<CallId> prepared_;
  coherent::Content prepared_content_;
  Ends kernels_;
  std::array<std::unique_ptr<Ends>, kMaxProcesses> users_;
  std::array<uint64_t, kRpcCounters> counts_{};
  std::vector<Counter> counters_;
};

}  // namespace sluice::device::rpc
