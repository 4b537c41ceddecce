// SPDX-License-Identifier: BSD-3-Clause
//
// A programmable PCIe switch through which devices push streams of messages to each other, as the
// Nagare proposal (Sadok, 2024) describes it. A device writes to its window; the switch matches the
// address, routes the message by the stream's policy, and writes it to the next device's streaming
// buffer, together with the command and the state that were set when the stream was opened. This
// involves no CPU, pointers or fragments. TLPs outside streams are forwarded by address ranges, as
// in any switch. docs/chain.md has a diagram and the rules.
//
// The model uses no threads, clock or DPDK: TLPs enter through Accept and leave through Next. The
// caller delays each TLP by PipelineShape::latency_ps(). No memory is allocated while streams run.
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

/// Effect of a slow receiver.
enum class FlowControl : uint8_t {
  kStream,  ///< Only the receiver's stream waits: each stream has separate credits and memory in
            ///< the switch.
  kPort,    ///< The port waits, as in plain PCIe: the first TLP blocks all later ones.
};

struct SwitchParameters {
  uint32_t ports = 4;  ///< Maximum: kMaxPorts.
  PipelineShape pipeline{};
  FlowControl flow_control = FlowControl::kStream;
  uint32_t port_granules = 64;  ///< Size of each port's ring with FlowControl::kPort.
  uint32_t port_tlps = 256;     ///< Maximum number of TLPs outside streams that wait at a port.
};

/// Addresses of a device, or of the host's memory.
struct Range {
  uint64_t base = 0;
  uint64_t bytes = 0;
  PortId port = 0;
  PortMask allowed = kAllPorts;  ///< Ports that may read from and write to the range.
  /// If set, writes to the range overtake messages, so that a device is configured as a node before
  /// it gets any message.
  bool registers = false;
};

/// The switch. Used by one thread. Copies are independent.
class Switch {
 public:
  explicit Switch(const SwitchParameters& parameters);

  // The following functions are for the control path.

  /// Opens a stream. On error, returns the reason and changes nothing.
  Opened Open(const StreamSpec& spec);
  /// Replaces a node's policy for messages that begin after the call. Returns a one-line error, or
  /// an empty string on success.
  std::string Rewire(StreamId stream, NodeId node, const Policy& policy);
  /// Starts to close a stream. A device closes the window of its node by reading it after its last
  /// write. The switch closes the windows of dead devices, and the window of a legacy node when the
  /// node is Quiet.
  void Close(StreamId stream);
  /// Returns whether a node of a closing stream has consumed all messages and will get no more, so
  /// that its device only has to send the remaining answers.
  bool Quiet(StreamId stream, NodeId node) const;
  /// If all windows of a closing stream are closed and all messages have been sent and consumed,
  /// frees the stream and returns true; its number may then be reused. Also returns true for an
  /// unused number.
  bool Finished(StreamId stream);
  /// Marks the stream as failed: its messages in the switch are dropped and its windows are closed.
  void FailStream(StreamId stream);
  bool failed(StreamId stream) const { return streams_[stream].failed; }

  /// Sets which ports may write streams to `port`; initially, all may.
  void Allow(PortId port, PortMask sources);
  /// Adds a range. Returns false if it is empty, wraps around, or overlaps another range or the
  /// switch, or if the port is invalid.
  bool AddRange(const Range& range);

  /// Reports that the device at `port` has died: its incomplete messages are aborted, and messages
  /// for it are handled by OnDeath. Restore reports that the device is back, without state and with
  /// empty buffers.
  void Fail(PortId port);
  void Restore(PortId port);

  // Data path.

  /// Accepts a TLP from the device at `port`. Returns false if waiting TLPs must leave the switch
  /// first; until then the port is blocked.
  bool Accept(PortId port, const Tlp& tlp);
  /// Copies the next TLP that leaves through `port` to `out`. Returns false if none may leave now
  /// or the device at `port` is dead.
  bool Next(PortId port, Tlp& out);

  const Drops& drops() const { return drops_; }
  uint64_t dropped(Drop reason) const { return drops_[static_cast<uint32_t>(reason)]; }
  /// Return the number of complete messages that a node has sent, or that have been sent to it.
  uint64_t MessagesFrom(StreamId stream, NodeId node) const;
  uint64_t MessagesTo(StreamId stream, NodeId node) const;
  /// Returns each node's state for its next message. For a counted state (StateRule::kCount), this
  /// is a value that has not been sent yet.
  std::vector<State> States(StreamId stream) const;
  const Pipeline& pipeline() const { return pipeline_; }
  uint32_t ports() const { return parameters_.ports; }

  /// Appends the state of rings, lanes, hops, ports and counters as bytes, for state-space
  /// exploration. Omits specifications, policies, and the contents of messages and waiting TLPs:
  /// equal bytes imply equal behaviour only if those are also equal.
  void AppendState(std::string& out) const;

 private:
  static constexpr uint16_t kNone = 0xffff;
  static constexpr NodeId kNowhere = 0xff;

  struct Stream {
    bool used = false;
    bool closing = false;
    bool failed = false;
    uint32_t max_message = 0;
    std::vector<uint16_t> lanes;  ///< Indexed by node; kNone if the node does not send.
    std::vector<uint16_t> hops;   ///< Indexed by node; kNone if the node does not receive.
  };
  struct Port {
    bool dead = false;
    std::deque<Tlp> first;  ///< Completions and register writes, which leave before all other TLPs.
    std::deque<Tlp> forwarded;   ///< TLPs outside streams.
    std::vector<uint16_t> hops;  ///< Receiving nodes at this port.
    std::vector<uint16_t> lanes;
    uint32_t turn = 0;
  };

  // Defined in setup.cc.
  std::string Invalid(const StreamSpec& spec) const;
  std::string InvalidNode(const StreamSpec& spec, NodeId node, NodeMask receivers) const;
  std::string NoRoomFor(const StreamSpec& spec, NodeMask receivers) const;
  void OpenLane(StreamId stream, NodeId node, const NodeSpec& spec, Opened& opened);
  void OpenHop(StreamId stream, NodeId node, const NodeSpec& spec, uint32_t max_message,
               Opened& opened);
  void SetPolicy(StreamId stream, NodeId node, uint16_t lane, const Policy& policy);
  void Free(StreamId stream);

  // Handling of the death of a device and of stream failures.
  void FailHop(Hop& hop);
  void SetHealth(const Hop& hop);
  /// Returns the node that gets messages for `node`, or kNowhere.
  NodeId Alive(const Stream& stream, NodeId node) const;
  void Redirect(uint16_t lane, NodeId from, NodeId to);
  /// Withdraws a message from those of `targets` that have not received it completely.
  void Withdraw(uint16_t lane, uint64_t sequence, NodeMask targets);

  // Input side.
  bool AcceptStream(PortId port, const Tlp& tlp);
  bool AcceptForward(PortId port, const Tlp& tlp);
  void Begin(Lane& lane, const Tlp& tlp, Fields& fields);
  bool ReadHeader(Lane& lane, const Tlp& tlp, Held& about, uint32_t& skip);
  NodeMask Targets(Fields& fields);
  void Hold(Lane& lane, const Tlp& tlp, uint32_t skip, bool first);
  void Abandon(Lane& lane, Drop reason);
  void AcceptCredits(PortId port, const Tlp& tlp);
  void Read(PortId port, const Tlp& tlp);
  void Refuse(PortId port, const Tlp& tlp);
  void Complete(PortId port, const Tlp& read, const uint8_t* data);
  void Count(Drop reason) { ++drops_[static_cast<uint32_t>(reason)]; }

  // Output side.
  bool ReturnCredits(Lane& lane, Tlp& out);
  bool Send(Hop& hop, Tlp& out);
  bool BeginSending(Hop& hop);
  Held* Pending(const Hop& hop, uint16_t lane, bool begins);
  MessageHeader HeaderFor(const Hop& hop, const Held& held) const;
  void Sent(Hop& hop, Held& held);
  void Reclaim(uint16_t ring);

  // Legacy devices.
  bool Feed(Hop& hop, Tlp& out);
  bool HasRoomForResult(const Hop& hop) const;
  void Post(Hop& hop, const Held& held, Tlp& out);
  bool ReadGlue(PortId port, const Tlp& tlp);
  const Slot* Answered(Hop& hop, const LegacyRecord& record);

  SwitchParameters parameters_;
  Pipeline pipeline_;
  std::vector<Range> ranges_;  ///< Sorted by base.
  std::vector<Stream> streams_;
  std::vector<Lane> lanes_;
  std::vector<Hop> hops_;
  std::vector<Ring> rings_;  ///< Indexed by lane, or by port with FlowControl::kPort.
  std::vector<Port> ports_;
  Drops drops_{};
};

}  // namespace sluice::device::pcie_switch
