// SPDX-License-Identifier: BSD-3-Clause
//
// A programmable PCIe switch through which devices push streams of messages to each other, as the
// Nagare proposal (Sadok, 2024) describes it: a device writes to its window; the switch matches
// the address, finds the way of the message by the stream's policy, and writes it to the next
// device's streaming buffer, with the command and the state that were set when the stream was
// opened. No CPU, no pointers, no fragments. Everything that is not a stream passes by address
// ranges, as in any switch. docs/chain.md has the picture and the rules.
//
// A model without threads, clock or DPDK: TLPs go in by Accept and come out by Next; whoever runs
// it delays each by PipelineShape::latency_ps(). Streams allocate nothing while they run.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "device/switch/hop.h"
#include "device/switch/pipeline.h"
#include "device/switch/ring.h"
#include "device/switch/spec.h"
#include "device/switch/tlp.h"

namespace sluice::device::pcie_switch {

/// Who waits when a receiver is slow.
enum class FlowControl : uint8_t {
  kStream,  ///< The stream: each has credits, and memory in the switch, of its own.
  kPort,    ///< The port, as PCIe alone has it: what is first holds up what is behind.
};

struct SwitchParameters {
  uint32_t ports = 4;  ///< At most kMaxPorts.
  PipelineShape pipeline{};
  FlowControl flow_control = FlowControl::kStream;
  uint32_t port_granules = 64;  ///< Of each port's ring with FlowControl::kPort.
  uint32_t port_tlps = 256;     ///< Of no stream, that wait to leave by a port.
};

/// Addresses of a device, or the host's memory.
struct Range {
  uint64_t base = 0;
  uint64_t bytes = 0;
  PortId port = 0;
  PortMask allowed = kAllPorts;  ///< Who may read and write there.
  /// Writes to it leave before messages: a device hears that it is a node before it gets any.
  bool registers = false;
};

/// One thread. Copies are independent.
class Switch {
 public:
  explicit Switch(const SwitchParameters& parameters);

  // Control path.

  /// Opens a stream, or says why not and changes nothing.
  Opened Open(const StreamSpec& spec);
  /// Replaces the policy of a node for messages that begin from now on. One line, or empty.
  std::string Rewire(StreamId stream, NodeId node, const Policy& policy);
  /// Begins to close it: a node's window closes when its owner reads it, which it does after its
  /// last write, or when its device is dead; a legacy node's, when it is Quiet.
  void Close(StreamId stream);
  /// Nothing more comes to the node of a closing stream, and it has consumed all that did: now its
  /// device has only answers left to send.
  bool Quiet(StreamId stream, NodeId node) const;
  /// All windows of a closing stream are closed, and everything that came has left and been
  /// consumed: then it is freed, and its number may be opened again.
  bool Finished(StreamId stream);
  /// Says that the stream failed: messages in the switch are dropped, its windows are closed.
  void FailStream(StreamId stream);
  bool failed(StreamId stream) const { return streams_[stream].failed; }

  /// Which ports may write streams to `port`. All may at first.
  void Allow(PortId port, PortMask sources);
  /// False: it overlaps another range or the switch itself, or has no port.
  bool AddRange(const Range& range);

  /// The device at `port` has died: what it sent in part is aborted, what is for it goes by
  /// OnDeath. Again by Restore, when it is back, knows nothing, and its buffers are empty.
  void Fail(PortId port);
  void Restore(PortId port);

  // Data path.

  /// A TLP from the device at `port`. False: not now; what waits in the switch must leave first,
  /// and the port is blocked until it does.
  bool Accept(PortId port, const Tlp& tlp);
  /// The next TLP that leaves by `port`. False: there is none now.
  bool Next(PortId port, Tlp& out);

  const Drops& drops() const { return drops_; }
  uint64_t dropped(Drop reason) const { return drops_[static_cast<uint32_t>(reason)]; }
  /// Messages that a node of a stream sent, and that were sent to it, whole.
  uint64_t MessagesFrom(StreamId stream, NodeId node) const;
  uint64_t MessagesTo(StreamId stream, NodeId node) const;
  /// By node: what the next message gets. No counted one has been given to a device before.
  std::vector<State> States(StreamId stream) const;
  const Pipeline& pipeline() const { return pipeline_; }
  uint32_t ports() const { return parameters_.ports; }

  /// Everything that what it does depends on, as bytes: equal ones, equal futures. For explorers.
  void AppendState(std::string& out) const;

 private:
  static constexpr uint16_t kNone = 0xffff;
  static constexpr NodeId kNowhere = 0xff;

  struct Stream {
    bool used = false;
    bool closing = false;
    bool failed = false;
    uint32_t max_message = 0;
    std::vector<uint16_t> lanes;  ///< By node; kNone: it sends nothing.
    std::vector<uint16_t> hops;   ///< By node; kNone: it gets nothing.
  };
  struct Port {
    bool dead = false;
    std::deque<Tlp> first;       ///< Completions and writes to registers: before everything else.
    std::deque<Tlp> forwarded;   ///< Of no stream.
    std::vector<uint16_t> hops;  ///< Behind it.
    std::vector<uint16_t> lanes;
    uint32_t turn = 0;
  };

  // validate.cc
  std::string Invalid(const StreamSpec& spec) const;
  std::string InvalidNode(const StreamSpec& spec, NodeId node, NodeMask receivers) const;
  std::string NoRoomFor(const StreamSpec& spec, NodeMask receivers) const;
  // setup.cc
  void OpenLane(StreamId stream, NodeId node, const NodeSpec& spec, Opened& opened);
  void OpenHop(StreamId stream, NodeId node, const NodeSpec& spec, uint32_t max_message,
               Opened& opened);
  void SetPolicy(StreamId stream, NodeId node, uint16_t lane, const Policy& policy);
  void Free(StreamId stream);

  // failure.cc
  void FailHop(Hop& hop);
  void SetHealth(const Hop& hop);
  /// The node that gets what is for `node`; kNowhere: none does.
  NodeId Alive(const Stream& stream, NodeId node) const;
  void Redirect(uint16_t lane, NodeId from, NodeId to);
  /// Takes a message, or the copies for `targets`, back from where it has not arrived.
  void Withdraw(uint16_t lane, uint64_t sequence, NodeMask targets);

  // accept.cc
  bool AcceptStream(PortId port, const Tlp& tlp);
  bool AcceptForward(PortId port, const Tlp& tlp);
  void Begin(Lane& lane, const Tlp& tlp, Fields& fields);
  bool ReadHeader(Lane& lane, const Tlp& tlp, Held& about, uint32_t& skip);
  NodeMask Targets(Fields& fields);
  void Hold(Lane& lane, const Tlp& tlp, uint32_t skip, bool first);
  void Abandon(Lane& lane, Drop reason);
  void TakeCredits(PortId port, const Tlp& tlp);
  void Read(PortId port, const Tlp& tlp);
  void Refuse(PortId port, const Tlp& tlp);
  void Complete(PortId port, const Tlp& read, const uint8_t* data);
  void Count(Drop reason) { ++drops_[static_cast<uint32_t>(reason)]; }

  // emit.cc
  bool TellSender(Lane& lane, Tlp& out);
  bool Send(Hop& hop, Tlp& out);
  bool BeginSending(Hop& hop);
  Held* Pending(const Hop& hop, uint16_t lane, bool begins);
  MessageHeader HeaderFor(const Hop& hop, const Held& held) const;
  void Sent(Hop& hop, Held& held);
  void Reclaim(uint16_t ring);

  // glue.cc
  bool Feed(Hop& hop, Tlp& out);
  bool HasRoomForResult(const Hop& hop) const;
  void Post(Hop& hop, const Held& held, Tlp& out);
  bool ReadGlue(PortId port, const Tlp& tlp);
  const Slot* Answered(Hop& hop, const LegacyRecord& record);

  SwitchParameters parameters_;
  Pipeline pipeline_;
  std::vector<Range> ranges_;  ///< By base.
  std::vector<Stream> streams_;
  std::vector<Lane> lanes_;
  std::vector<Hop> hops_;
  std::vector<Ring> rings_;  ///< By lane; by port with FlowControl::kPort.
  std::vector<Port> ports_;
  Drops drops_{};
};

}  // namespace sluice::device::pcie_switch
