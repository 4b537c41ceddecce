// SPDX-License-Identifier: BSD-3-Clause
//
// --iface=streaming: uses the NIC's pipes on a net_enso port. On any other ethdev, packets are
// copied into pipes.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nic/enso_pipes.h"
#include "nic/interface.h"
#include "nic/mbuf_pipes.h"
#include "nic/streaming.h"
#include "packet/ethernet.h"
#include "packet/frame_length.h"

namespace sluice::nic {

class StreamingBinding {
 public:
  /// Returns the model argument for the pipe size, or an empty string for the hardware's size
  /// (docs/enso-hardware.md). Pipes are smaller if a worker's pipes would exceed kPipesBytes. They
  /// have at most kCachedFlits if `wire_waits` is set (2 MiB for eight pipes).
  static std::string ModelArguments(const InterfaceOptions& options, bool wire_waits) {
    constexpr uint32_t kHardwareFlits = 32768, kCachedFlits = 4096, kPipesBytes = 128 << 20;
    const uint32_t room = std::bit_floor(kPipesBytes / options.pipes / packet::kFlitBytes);
    const uint32_t flits = std::min(wire_waits ? kCachedFlits : kHardwareFlits, room);
    return flits == kHardwareFlits ? "" : ",pipe_flits=" + std::to_string(flits);
  }

  static constexpr InterfaceInfo kInfo{
      .name = "streaming",
      .crosses = "bytes appended to one contiguous ring (an Enso pipe), notified reactively",
      .model = "net_enso0",
      .ipv4_only = true,
      .model_arguments = &ModelArguments};

  StreamingBinding() = default;
  ~StreamingBinding();
  StreamingBinding(const StreamingBinding&) = delete;
  StreamingBinding& operator=(const StreamingBinding&) = delete;

  Opened Open(const InterfaceOptions& options, std::string* error);
  std::string Place(uint32_t worker) const;
  bool has_queues() const { return port_ != nullptr; }
  uint32_t packet_bytes() const {
    return native_ ? EnsoPipes::kMaxFrameBytes - packet::kEthernetHeaderBytes
                   : port_->packet_bytes();
  }
  InterfaceFigures Figures() const { return {}; }

  /// Must be called only once, because it moves the pipes of an Ensō NIC into the queues.
  template <typename Run>
  int WithQueues(Run run) {
    if (native_) {
      return run([this](uint32_t worker) {
        return StreamingQueue<EnsoPipes>(std::move(pipes_[worker]),
                                         MakeExceptionPath(options_.exception, worker));
      });
    }
    return run([this](uint32_t worker) {
      const auto queue = static_cast<uint16_t>(worker);
      return StreamingQueue<MbufPipes>(MbufPipes(port_->id(), queue, port_->pool(queue)),
                                       MakeExceptionPath(options_.exception, worker));
    });
  }

 private:
  InterfaceOptions options_;
  bool native_ = false;            ///< Whether the binding uses the native API of net_enso.
  std::vector<EnsoPipes> pipes_;   ///< If native: one per worker, until WithQueues moves them.
  std::unique_ptr<EthPort> port_;  ///< Null if native.
};

}  // namespace sluice::nic
