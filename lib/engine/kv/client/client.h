// SPDX-License-Identifier: BSD-3-Clause
//
// A client that generates load for servers and checks their answers. It uses neither sockets nor
// NICs: its caller sends and receives the datagrams and provides the time:
//
//   loop: while (out = client.Next(now, room)) send it to out.endpoint
//         for each datagram that arrived: client.OnDatagram(now, datagram)
//
// In phase kPreload, the client sets every item until all sets are acknowledged. After Start it
// requests items by their popularity until Stop, in an open loop (at times fixed in advance) or a
// closed loop (with a fixed number of outstanding requests). Requests that are not answered in time
// are counted; only preloading requests are sent again. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv/client/items.h"
#include "engine/kv/client/messages.h"
#include "engine/kv/client/outstanding.h"
#include "engine/kv/client/versions.h"
#include "engine/workload/histogram.h"
#include "engine/workload/popularity.h"
#include "engine/workload/schedule.h"

namespace sluice::engine::kv::client {

struct ClientOptions {
  Protocol protocol = Protocol::kMica;
  /// Each server has `workers` workers. Each worker listens on its own endpoint, number server *
  /// workers + worker, and serves the partitions p with p % workers == worker.
  uint32_t servers = 1;  ///< Number of servers; at most 65535.
  uint32_t workers = 1;
  uint32_t partitions = 1;  ///< Partitions per server, 1 … 65535.

  uint64_t items = 1 << 20;  ///< Number of items; at least 1.
  uint64_t first_item = 0;   ///< Number of the first item. Concurrent clients must not share items.
  ItemSizes sizes;           ///< Must allow at least first_item + items keys.
  double get_share = 0.5;    ///< Fraction of gets among requests; the rest are sets.
  double zipf_exponent = 0;  ///< 0: uniform.
  uint64_t seed = 1;

  double rate = 0;  ///< Open loop: requests per second; 0: closed loop.
  workload::Arrivals arrivals = workload::Arrivals::kPoisson;
  uint32_t outstanding = 64;  ///< Closed loop and preloading: outstanding requests, 1 … 32768.
  uint32_t batch = 1;         ///< MICA: maximum number of requests per datagram.
  uint64_t batch_wait_ns = 10'000;  ///< Age at which a batch is sent even if it is not full.
  /// Maximum length of a datagram, for requests and answers; at least LongestMessage().
  uint32_t max_datagram_bytes = 1472;
  uint64_t timeout_ns = 100'000'000;
  bool verify = true;  ///< Checks values; costs 16 bytes per item.

  /// Returns the length of a datagram with one request or its answer, whichever is longer.
  size_t LongestMessage() const;
  /// Returns the upper limit of max_datagram_bytes.
  size_t MaxDatagram() const;
  /// Returns the maximum number of requests in a datagram.
  uint32_t LargestBatch() const;
  /// Returns the endpoint of a server's worker that serves the key with this RouteHash.
  uint32_t EndpointOf(uint32_t server, uint64_t route) const;
};

/// Counters of the measured run. Members named preload… count preloading.
struct ClientCounters {
  uint64_t requests = 0;  ///< Requests sent.
  uint64_t unsent = 0;    ///< Open loop: requests that were due but not sent before Stop.
  uint64_t hits = 0, misses = 0, stored = 0;
  uint64_t refused = 0;   ///< Requests answered with an error.
  uint64_t timeouts = 0;  ///< Requests not answered in time.
  uint64_t wrong = 0;     ///< Gets that returned a value that the item cannot have.
  uint64_t preloaded = 0, preload_refused = 0, preload_timeouts = 0;
  uint64_t late = 0;       ///< Answers for which no request is waiting, in all phases.
  uint64_t malformed = 0;  ///< Datagrams that are not answers; in all phases.

  uint64_t answers() const { return hits + misses + stored + refused + wrong; }
};

/// A datagram to send; converts to false if there is nothing to send now.
struct Outgoing {
  size_t bytes = 0;
  uint32_t endpoint = 0;

  explicit operator bool() const { return bytes != 0; }
};

class Client {
 public:
  enum class Phase : uint8_t { kPreload, kReady, kRun, kStopped };

  /// `preload` is false if the servers already contain the items.
  explicit Client(const ClientOptions& options, bool preload = true);

  /// Writes the next datagram to `room`, which has max_datagram_bytes. `now_ns` must not decrease
  /// between calls.
  Outgoing Next(uint64_t now_ns, std::span<uint8_t> room);
  void OnDatagram(uint64_t now_ns, Bytes datagram);
  /// Returns the time at which Next should be called again if no datagram arrives earlier;
  /// UINT64_MAX if no further call is needed.
  uint64_t NextWakeNs() const;

  Phase phase() const { return phase_; }
  /// Starts the run. Allowed in phase kReady.
  void Start(uint64_t now_ns);
  /// Ends the run: creates no further requests. Requests in incomplete batches are still sent, and
  /// answers to outstanding requests are counted until they time out. If called before Start, ends
  /// preloading.
  void Stop(uint64_t now_ns);
  uint32_t outstanding() const { return outstanding_.count(); }

  /// Assigns item first_item + i to server server_of_item[i], which is below `servers`. `servers`
  /// must not decrease. With more than one server, must be called before the first Next. Returns
  /// the number of items that moved.
  uint64_t Place(std::vector<uint16_t> server_of_item, uint32_t servers);

  const ClientCounters& counters() const { return counters_; }
  /// Return the latencies of all answers to gets and to sets since the last ClearLatency.
  const workload::Histogram& get_latency() const { return latency_[0]; }
  const workload::Histogram& set_latency() const { return latency_[1]; }
  void ClearLatency() { latency_ = {}; }
  /// Returns the number of requests in a full datagram.
  uint32_t batch() const { return batch_; }

 private:
  struct Batch {
    std::vector<uint32_t> slots;
    uint64_t since_ns = 0;
  };

  std::optional<Pending> Generate(uint64_t now_ns);
  uint32_t EndpointOf(uint64_t item, uint64_t route) const;
  Outgoing Send(uint32_t endpoint, uint64_t now_ns, std::span<uint8_t> room);
  void Expire(uint64_t now_ns);
  void OnAnswer(uint64_t now_ns, const Answer& answer);
  void OnPreloaded(const Pending& pending, const Answer& answer);
  void OnSet(const Pending& pending, const Answer& answer);
  void OnGet(const Pending& pending, const Answer& answer);
  bool MayFind(const Pending& pending, Bytes value) const;

  const ClientOptions options_;
  uint32_t batch_;
  Phase phase_;
  workload::Random random_;
  workload::Popularity popularity_;
  std::optional<workload::Schedule> schedule_;
  Outstanding outstanding_;
  Versions versions_;  // Empty without verification.
  std::vector<uint16_t> server_of_item_;
  std::vector<Batch> batches_;  // Indexed by endpoint.
  uint64_t next_preload_ = 0;
  std::vector<uint64_t> preload_again_;
  std::vector<uint8_t> key_, value_;  // Buffers of the request being written.
  ClientCounters counters_;
  std::array<workload::Histogram, 2> latency_;
};

}  // namespace sluice::engine::kv::client
