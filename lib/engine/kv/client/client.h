// SPDX-License-Identifier: BSD-3-Clause
//
// A client that loads servers and checks what they say: requests out, answers in, and nothing
// that knows sockets or NICs. Its caller moves datagrams and tells the time:
//
//   loop: while (out = client.Next(now, room)) send it to out.endpoint
//         for each datagram that arrived: client.OnDatagram(now, datagram)
//
// It first sets every item (kPreload), until all are acknowledged; then Start lets it ask for
// items by their popularity, in an open loop (at times fixed in advance) or a closed one (so many
// under way), until Stop. What gets no answer in time is counted, and not sent again but for
// preloading. One thread.
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
  /// Servers of `workers` workers each; a worker listens on an endpoint of its own, number
  /// server * workers + worker. It serves partitions p with p % workers == worker.
  uint32_t servers = 1;  ///< At most 65535.
  uint32_t workers = 1;
  uint32_t partitions = 1;  ///< Of a server, 1 … 65535.

  uint64_t items = 1 << 20;  ///< At least 1.
  uint64_t first_item = 0;   ///< Clients at the same time must not share items.
  ItemSizes sizes;           ///< For first_item + items keys, at least.
  double get_share = 0.5;    ///< Of requests; the others are sets.
  double zipf_exponent = 0;  ///< 0: uniform.
  uint64_t seed = 1;

  double rate = 0;  ///< Open loop: requests per second; 0: closed loop.
  workload::Arrivals arrivals = workload::Arrivals::kPoisson;
  uint32_t outstanding = 64;  ///< Closed loop, and preloading: requests under way, 1 … 32768.
  uint32_t batch = 1;         ///< MICA: requests in a datagram, if so many fit.
  uint64_t batch_wait_ns = 10'000;     ///< Batches that are not full leave when this old.
  uint32_t max_datagram_bytes = 1472;  ///< Of requests and answers, at least LongestMessage().
  uint64_t timeout_ns = 100'000'000;
  bool verify = true;  ///< Costs 16 bytes an item.

  /// What a datagram of one request, or of its answer, needs.
  size_t LongestMessage() const;
  /// The most that max_datagram_bytes may be.
  size_t MaxDatagram() const;
};

/// Of the measured run, but for what says preload.
struct ClientCounters {
  uint64_t requests = 0;  ///< Sent.
  uint64_t unsent = 0;    ///< Open loop: were due, and Stop came first.
  uint64_t hits = 0, misses = 0, stored = 0;
  uint64_t refused = 0;   ///< Answered with an error.
  uint64_t timeouts = 0;  ///< Lost.
  uint64_t wrong = 0;     ///< Gets whose value is not one that may be there.
  uint64_t preloaded = 0, preload_refused = 0, preload_timeouts = 0;
  uint64_t late = 0;       ///< Answers to nothing that waits for one; always.
  uint64_t malformed = 0;  ///< Datagrams that are no answers; always.

  uint64_t answers() const { return hits + misses + stored + refused + wrong; }
};

/// False: nothing to send now.
struct Outgoing {
  size_t bytes = 0;
  uint32_t endpoint = 0;

  explicit operator bool() const { return bytes != 0; }
};

class Client {
 public:
  enum class Phase : uint8_t { kPreload, kReady, kRun, kStopped };

  /// `preload`: false if the items are there.
  explicit Client(const ClientOptions& options, bool preload = true);

  /// The next datagram, written to `room`, which has max_datagram_bytes. `now_ns` never
  /// decreases between calls.
  Outgoing Next(uint64_t now_ns, std::span<uint8_t> room);
  void OnDatagram(uint64_t now_ns, Bytes datagram);
  /// When Next may have something, should nothing arrive before; UINT64_MAX: never.
  uint64_t NextWakeNs() const;

  Phase phase() const { return phase_; }
  /// After kReady.
  void Start(uint64_t now_ns);
  /// No further requests; what is under way still gets its time. Before Start: ends preloading.
  void Stop(uint64_t now_ns);
  uint32_t outstanding() const { return outstanding_.count(); }

  /// Which server has item first_item + i, below `servers`, which is not less than before. With
  /// more than one server this is to be said first. Returns how many items moved.
  uint64_t Place(std::vector<uint16_t> server_of_item, uint32_t servers);

  const ClientCounters& counters() const { return counters_; }
  /// Of all answers since the last ClearLatency, by what was asked.
  const workload::Histogram& get_latency() const { return latency_[0]; }
  const workload::Histogram& set_latency() const { return latency_[1]; }
  void ClearLatency() { latency_ = {}; }
  /// Requests of a full datagram.
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
  std::vector<Batch> batches_;  // By endpoint.
  uint64_t next_preload_ = 0;
  std::vector<uint64_t> preload_again_;
  std::vector<uint8_t> key_, value_;  // Being written.
  ClientCounters counters_;
  std::array<workload::Histogram, 2> latency_;
};

}  // namespace sluice::engine::kv::client
