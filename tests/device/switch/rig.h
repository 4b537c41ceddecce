// SPDX-License-Identifier: BSD-3-Clause
//
// A switch with devices at its ports. A device consists of all stream nodes at its port.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/switch/stream_end.h"
#include "device/switch/switch.h"

namespace sluice::device::pcie_switch::test {

// Addresses of a node in its device; unique per stream and node.
constexpr uint64_t DeviceBase(PortId port) { return (uint64_t{port} + 1) << 32; }
constexpr uint64_t NodeBase(PortId port, uint32_t slot, NodeId node) {
  return DeviceBase(port) + (uint64_t{slot} << 28) + (uint64_t{node} << 24);
}
constexpr uint64_t kControlOffset = 0x80'0000;
constexpr uint64_t kDoorbellOffset = 0x90'0000;

inline NodeSpec Node(PortId port, uint32_t slot, NodeId node, std::vector<Edge> edges = {},
                     uint32_t buffer_bytes = 4096) {
  NodeSpec spec;
  spec.port = port;
  spec.out.edges = std::move(edges);
  spec.control = NodeBase(port, slot, node) + kControlOffset;
  spec.doorbell = NodeBase(port, slot, node) + kDoorbellOffset;
  spec.buffer = NodeBase(port, slot, node);
  spec.buffer_bytes = buffer_bytes;
  return spec;
}

/// Returns an edge to `targets` for every value.
inline Edge Always(NodeMask targets) { return {.value = 0, .mask = 0, .targets = targets}; }
/// Returns an edge to `targets` if the selected value is `value`.
inline Edge If(uint64_t value, NodeMask targets) { return {value, ~0ull, targets}; }

inline std::vector<uint8_t> Bytes(size_t count, uint32_t seed = 0) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(seed * 31 + i * 7 + i / 256);
  return bytes;
}

/// The writer and the reader of one node of a stream.
struct Ends {
  std::optional<StreamWriter> writer;
  std::optional<StreamReader> reader;
};

class Rig {
 public:
  explicit Rig(uint32_t ports = 4, PipelineShape shape = {},
               FlowControl flow_control = FlowControl::kStream)
      : sw({.ports = ports, .pipeline = shape, .flow_control = flow_control}) {}

  /// Opens a stream and creates its ends.
  Opened Open(const StreamSpec& spec) {
    Opened opened = sw.Open(spec);
    if (opened.error.empty()) MakeEnds(spec, opened);
    return opened;
  }
  void MakeEnds(const StreamSpec& spec, const Opened& opened) {
    for (size_t index = 0; index < spec.nodes.size(); ++index) {
      const auto node = static_cast<NodeId>(index);
      const NodeSpec& about = spec.nodes[node];
      Ends& ends = at[{opened.stream, node}];
      ends = {};
      if (opened.windows[node] != 0)
        ends.writer.emplace(opened.windows[node], about.window_granules, about.port);
      if (opened.registers[node] != 0)
        ends.reader.emplace(about.buffer, about.buffer_bytes, opened.registers[node], about.port);
      specs[{opened.stream, node}] = about;
    }
  }

  void Put(StreamId stream, NodeId node, uint32_t number, size_t bytes, uint32_t key = 0) {
    at[{stream, node}].writer->Put({.message = number, .key = {key, 0}}, Bytes(bytes, number));
  }
  /// Moves all TLPs that can move while no device consumes anything. Returns the number of moves.
  uint32_t Pump() {
    uint32_t moved = 0;
    for (bool again = true; again;) {
      again = false;
      for (auto& [where, ends] : at) {
        Tlp tlp;
        while (ends.writer && ends.writer->Next(tlp)) {
          sw.Accept(specs[where].port, tlp);
          again = true;
          ++moved;
        }
      }
      for (uint32_t port = 0; port < sw.ports(); ++port) {
        Tlp tlp;
        while (sw.Next(static_cast<PortId>(port), tlp)) {
          Deliver(static_cast<PortId>(port), tlp);
          again = true;
          ++moved;
        }
      }
    }
    return moved;
  }
  /// Consumes all messages of a node, and returns their credits.
  std::vector<Message> Drain(StreamId stream, NodeId node) {
    std::vector<Message> all;
    Ends& ends = at[{stream, node}];
    for (;;) {
      Pump();
      auto message = ends.reader->Pop();
      Tlp tlp;
      if (ends.reader->Credits(tlp)) sw.Accept(specs[{stream, node}].port, tlp);
      if (!message) return all;
      all.push_back(*std::move(message));
    }
  }
  /// Reads and returns the report of a window, as the window's owner at `port`.
  WindowReport Flush(PortId port, uint64_t window) {
    Tlp read;
    read.kind = TlpKind::kRead;
    read.requester = port;
    read.address = window;
    read.length = sizeof(WindowReport);
    completions.clear();
    sw.Accept(port, read);
    Pump();
    return completions.empty() ? WindowReport{}
                               : LoadFrom<WindowReport>(completions.back().payload.data());
  }

  Switch sw;
  std::map<std::pair<StreamId, NodeId>, Ends> at;
  std::map<std::pair<StreamId, NodeId>, NodeSpec> specs;
  std::vector<Tlp> completions;  ///< All completions received.
  std::vector<Tlp> others;  ///< TLPs that no node handles, such as doorbells and forwarded writes.
  uint32_t wrong_port = 0;  ///< TLPs at a port whose device does not have the address.

 private:
  void Deliver(PortId port, const Tlp& tlp) {
    if (tlp.kind == TlpKind::kCompletion) {
      completions.push_back(tlp);
      return;
    }
    for (auto& [where, ends] : at) {
      const NodeSpec& spec = specs[where];
      if (tlp.kind != TlpKind::kWrite || spec.port != port) continue;
      if (ends.reader && ends.reader->Owns(tlp.address)) return ends.reader->Accept(tlp);
      if (tlp.address == spec.control && ends.writer)
        return ends.writer->SetFreed(LoadFrom<uint64_t>(tlp.payload.data()));
      if (tlp.address == spec.control + 8 && ends.reader)
        return ends.reader->Abort(LoadFrom<uint64_t>(tlp.payload.data()));
    }
    if (tlp.address >> 32 != uint64_t{port} + 1) ++wrong_port;
    others.push_back(tlp);
  }
};

}  // namespace sluice::device::pcie_switch::test
