// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-echo's TCP clients, which act as the wire of a model NIC:
// wire=library:libsluice_echo_wire.so+OPTIONS. Each connection sends a message, waits until it has
// returned, checks every byte, and sends the next. Times are those of the stepping thread, so
// latencies include the device's work.
//
//   connections=N   number of connections, 1 to 16000; default 16
//   bytes=N         bytes of a message, 1 to 1048576; default 64
//   ip=A.B.C.D      the server's address; default 10.0.0.2
//   port=N          the server's port; default 7
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/client_counts.h"
#include "emulator/wire.h"
#include "engine/workload/histogram.h"
#include "packet/byte_stream.h"
#include "packet/rewrite.h"
#include "transport/stack.h"

namespace sluice::echo {

/// The address of the clients.
inline constexpr packet::Ipv4Address kClientAddress{10, 0, 0, 1};

struct ClientOptions {
  uint32_t connections = 16;
  uint32_t bytes = 64;
  packet::StreamPeer server{};  ///< The port and address that clients connect to.
  packet::MacAddress server_mac{};
  uint64_t seed = 1;
};

/// Parses the options above. Returns nullopt and sets `error` if an option is invalid.
[[gnu::visibility("default")]] std::optional<ClientOptions> ReadClientOptions(std::string_view text,
                                                                              uint64_t seed,
                                                                              std::string* error);

class StreamClients final : public emulator::Wire, private transport::Events {
 public:
  /// Returns null and sets `error` to one line if the stack cannot be created.
  static std::unique_ptr<StreamClients> Create(const ClientOptions& options, std::string* error);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  /// A message in flight. Bytes are numbered from the start of the connection.
  struct Connection {
    uint32_t key = 0;       ///< Distinguishes the bytes of connections; 0 until it is open.
    uint64_t written = 0;   ///< Number of bytes written.
    uint64_t received = 0;  ///< Number of bytes received.
    uint64_t end = 0;       ///< Number of the byte after the message.
    uint64_t sent_ns = 0;   ///< Time at which the message was sent.
  };
  /// Maximum number of connections that are being opened; less than the server's limit of half-open
  /// connections.
  static constexpr uint32_t kMaxOpening = 64;
  /// Maximum number of frames that wait for the device.
  static constexpr uint32_t kMaxWaiting = 65536;

  explicit StreamClients(const ClientOptions& options) : options_(options) {}

  // transport::Events
  bool Output(const uint8_t* frame, uint32_t bytes) override;
  bool Opened(transport::ConnectionId id, const packet::StreamPeer& peer) override;
  void Received(transport::ConnectionId id, const uint8_t* data, uint32_t bytes) override;
  void HalfClosed(transport::ConnectionId id) override;
  void RoomFreed(transport::ConnectionId id) override { WriteRest(id); }
  void Closed(transport::ConnectionId id, transport::End end) override;

  /// Counts a connection's message in flight when the server ends the connection. At the end of a
  /// run the server resets all connections while the wire's source is off; their messages are not
  /// counted.
  void CountLost() {
    if (now_ns_ != pulled_ns_) return;
    ++counts_.requests;
    ++counts_.lost;
  }
  void OpenConnections();
  void StartMessage(transport::ConnectionId id);
  void WriteRest(transport::ConnectionId id);

  const ClientOptions options_;
  uint64_t now_ns_ = 0;
  uint64_t pulled_ns_ = 0;  ///< Time of the last Pull; equal to now_ns_ while the source is on.
  uint32_t opening_ = 0;    ///< Connections being opened.
  uint32_t open_ = 0;
  uint32_t keys_ = 0;
  std::vector<Connection> connections_;  ///< By ConnectionId.
  std::vector<uint8_t> piece_;           ///< Buffer for the bytes of one write.
  std::deque<std::vector<uint8_t>> waiting_;
  std::vector<std::vector<uint8_t>> free_;  ///< Buffers of sent frames, for reuse.
  std::vector<device::WireFrame> pulled_;
  emulator::ClientCounts counts_;
  emulator::WireTotals totals_;
  engine::workload::Histogram latency_;
  std::vector<device::Counter> counters_;
  std::unique_ptr<transport::Stack> stack_;  ///< Last, because its destructor sends frames.
};

}  // namespace sluice::echo
