// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that is part of the operating system, after Lauberhorn: frames become calls, calls are
// unmarshalled into the line that a core of their process loads, and what the handler left there
// becomes the reply. It knows where each core waits (dispatcher.h) and answers itself what is not
// for any process: calls to unknown programs, garbage, services that died.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "coherent/nic_end.h"
#include "device/device.h"
#include "device/rpc/call_slots.h"
#include "device/rpc/dispatcher.h"
#include "device/rpc/host_port.h"
#include "device/rpc/reply_queue.h"
#include "device/rpc/rpc_counters.h"
#include "device/rpc/services.h"
#include "rpc/call_frame.h"
#include "rpc/unmarshal.h"

namespace sluice::device::rpc {

struct RpcNicConfig {
  DispatcherConfig dispatcher;
  coherent::Geometry users;  ///< What every user endpoint is laid out like.
  uint32_t slots = 1024;     ///< Calls that the device holds at once; ≥ 1.
  uint32_t dma_bytes = 4096;  ///< Larger arguments go through the line's buffer, not through lines.
  bool traces = false;       ///< HostPort::Answered.
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
  /// which any process had before. False: they are not that.
  bool Start(ProcessId process, std::vector<Entry> entries, std::span<const Endpoint> endpoints);
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

  uint64_t counter(RpcCounter counter) const {
    return counts_[static_cast<uint32_t>(counter)];
  }
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
  /// Arguments that stand in a line, or why they do not.
  struct Prepared {
    wire::UnmarshalError error;
    coherent::Content content;
  };

  static constexpr uint32_t kMaxFrame = 9728;
  static constexpr uint64_t kTickNs = 10'000;

  void Count(RpcCounter counter) { ++counts_[static_cast<uint32_t>(counter)]; }
  End& User(ProcessId process, CoreId core) { return (*users_[process])[core]; }

  // From the wire.
  void Take(const WireFrame& frame);
  bool Drop(const wire::CallFrame& read, wire::FrameError error);
  void Arrive(const WireFrame& frame, const wire::CallFrame& read, const Services::Found& found);
  /// Unmarshals arguments into the line that `end` waits for, or into scratch memory of its size.
  Prepared Prepare(const Service& service, uint32_t procedure, std::span<const uint8_t> xdr,
                   const End* end);
  Prepared PrepareIn(const Service& service, uint32_t procedure, std::span<const uint8_t> xdr,
                     std::span<uint8_t> room, uint64_t base, bool in_buffer);

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

  // Towards the wire.
  void Reply(End& end, CallId call);
  uint32_t Results(const End& end, CallSlot& slot, const coherent::Returned& returned,
                   uint8_t* message, uint32_t room);
  void Refuse(const packet::Datagram& datagram, const uint8_t* headers, const uint8_t* message,
              uint32_t bytes, RpcCounter counter);
  void RefuseAccepted(const packet::Datagram& datagram, const uint8_t* headers, uint32_t xid,
                      wire::AcceptStat stat);
  void EndWith(CallId call, wire::AcceptStat stat);

  RpcNicConfig config_;
  HostPort& host_;
  uint64_t now_ns_ = 0;
  uint64_t ticked_ns_ = 0;
  Dispatcher dispatcher_;
  Services services_;
  CallSlots slots_;
  ReplyQueue replies_;
  std::vector<uint8_t> scratch_;  ///< As large as any payload.
  std::optional<CallId> prepared_;  ///< Its arguments stand in the line already, as:
  coherent::Content prepared_content_;
  Ends kernels_;
  std::array<std::unique_ptr<Ends>, kMaxProcesses> users_;
  std::array<uint64_t, kRpcCounters> counts_{};
  std::vector<Counter> counters_;
};

}  // namespace sluice::device::rpc
