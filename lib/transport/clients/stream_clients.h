// SPDX-License-Identifier: BSD-3-Clause
//
// TCP clients as the wire of a model NIC: wire=library:NAME+OPTIONS. Each connection sends a
// request, waits for its answer, checks every byte, and sends the next. An application defines the
// requests and answers, and creates the wire. Times are those of the stepping thread, so latencies
// include the device's work.
//
//   connections=N   number of connections, 1 to 16000; default 16
//   bytes=N         bytes of a message, 1 to 1048576; default 64
//   ip=A.B.C.D      the server's address; default 10.0.0.2
//   port=N          the server's port
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/client_counts.h"
#include "emulator/wire.h"
#include "engine/workload/histogram.h"
#include "packet/byte_stream.h"
#include "packet/rewrite.h"
#include "transport/stack.h"

namespace sluice::transport {

/// The address of the clients.
inline constexpr packet::Ipv4Address kClientAddress{10, 0, 0, 1};

struct ClientOptions {
  uint32_t connections = 16;
  uint32_t bytes = 64;
  packet::StreamPeer server{};  ///< The port and address that clients connect to.
  packet::MacAddress server_mac{};
  uint64_t seed = 1;
};

/// Parses the options above; `port` is the default port. Returns nullopt, with one line in `error`,
/// on a mistake.
std::optional<ClientOptions> ReadClientOptions(std::string_view text, uint16_t port, uint64_t seed,
                                               std::string* error);

/// A request of a connection, and its answer.
struct Exchange {
  uint32_t key = 0;      ///< Identifies the connection, from 1; 0 until it is open.
  uint64_t number = 0;   ///< Number of earlier requests of the connection.
  uint64_t written = 0;  ///< Number of bytes of the request that were written.
};

/// The clients' requests and the correct answers. Both depend only on the exchange.
class Dialogue {
 public:
  virtual ~Dialogue() = default;
  virtual uint64_t RequestBytes(const Exchange& exchange) = 0;
  virtual uint64_t AnswerBytes(const Exchange& exchange) = 0;
  /// Writes the part of the request that begins at offset `at` and has the size of `to`.
  virtual void WriteRequest(const Exchange& exchange, uint64_t at, std::span<uint8_t> to) = 0;
  /// Returns whether `bytes` is the part of the answer at offset `at`. It does not extend beyond
  /// the answer.
  virtual bool IsAnswer(const Exchange& exchange, uint64_t at, std::span<const uint8_t> bytes) = 0;
};

class StreamClients final : public emulator::Wire, private Events {
 public:
  /// Returns null and sets `error` to one line if the stack cannot be created.
  static std::unique_ptr<StreamClients> Create(const ClientOptions& options,
                                               std::unique_ptr<Dialogue> dialogue,
                                               std::string* error);

  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

 private:
  struct Connection {
    Exchange exchange;
    uint64_t received = 0;  ///< Number of bytes of the answer that were received.
    uint64_t sent_ns = 0;   ///< Time at which the request was sent.
  };
  /// Maximum number of connections that are being opened; less than the server's limit of half-open
  /// connections.
  static constexpr uint32_t kMaxOpening = 64;
  /// Maximum number of frames that wait for the device.
  static constexpr uint32_t kMaxWaiting = 65536;

  StreamClients(const ClientOptions& options, std::unique_ptr<Dialogue> dialogue)
      : options_(options), dialogue_(std::move(dialogue)) {}

  // Events
  bool Output(const uint8_t* frame, uint32_t bytes) override;
  bool Opened(ConnectionId id, const packet::StreamPeer& peer) override;
  void Received(ConnectionId id, const uint8_t* data, uint32_t bytes) override;
  void HalfClosed(ConnectionId id) override;
  void RoomFreed(ConnectionId id) override { WriteRest(id); }
  void Closed(ConnectionId id, End end) override;

  /// Counts the request in flight of a connection that the server ended. At the end of a run the
  /// server resets all connections while the wire's source is off; these requests do not count.
  void CountLost() {
    if (now_ns_ != pulled_ns_) return;
    ++counts_.requests;
    ++counts_.lost;
  }
  void OpenConnections();
  void StartRequest(ConnectionId id);
  void WriteRest(ConnectionId id);

  const ClientOptions options_;
  const std::unique_ptr<Dialogue> dialogue_;
  uint64_t now_ns_ = 0;
  uint64_t pulled_ns_ = 0;  ///< Time of the last Pull; equal to now_ns_ while the source is on.
  uint32_t opening_ = 0;    ///< Connections that are being opened.
  uint32_t open_ = 0;
  uint32_t keys_ = 0;
  std::vector<Connection> connections_;  ///< By ConnectionId.
  std::vector<uint8_t> piece_;           ///< Bytes of a request that are written at once.
  std::deque<std::vector<uint8_t>> waiting_;
  std::vector<std::vector<uint8_t>> free_;  ///< Memory of frames that were sent.
  std::vector<device::WireFrame> pulled_;
  emulator::ClientCounts counts_;
  emulator::WireTotals totals_;
  engine::workload::Histogram latency_;
  std::vector<device::Counter> counters_;
  std::unique_ptr<Stack> stack_;  ///< Last, because its destructor sends frames.
};

}  // namespace sluice::transport
