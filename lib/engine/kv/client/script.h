// SPDX-License-Identifier: BSD-3-Clause
//
// Draws requests before the run and checks their answers afterwards. Used where the sender cannot
// wait for answers. A script first sets every item, then requests items by their popularity; these
// later requests may be sent more than once. Each set of an item in the script has a different
// version. A get may return any of them, because the order of execution is unknown. Used by one
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv/client/client.h"
#include "engine/kv/client/messages.h"

namespace sluice::engine::kv::client {

class Script {
 public:
  /// A datagram of requests.
  struct Datagram {
    size_t bytes = 0;  ///< 0: the script has no more datagrams.
    uint32_t endpoint = 0;
    uint32_t requests = 0;
    bool preload = false;
  };
  /// Outcomes of checked answers.
  struct Results {
    uint64_t hits = 0, misses = 0, stored = 0;
    uint64_t refused = 0;    ///< Answers with an error.
    uint64_t wrong = 0;      ///< Gets that returned a value that no set of the script wrote, and
                             ///< answers that match no request of the script.
    uint64_t malformed = 0;  ///< Datagrams that are not answers.
  };

  /// Uses only the members of `options` that describe the requests. `servers` must be 1, and
  /// `protocol` must not be kMemcachedAscii, whose ids are too short. After the preload, the script
  /// has `requests` requests, except those that do not fill a datagram.
  Script(const ClientOptions& options, uint64_t requests);

  /// Writes the next datagram to `room`, which has max_datagram_bytes.
  Datagram Next(std::span<uint8_t> room);
  /// Checks the answers in a datagram from the server. Must be called after the last Next.
  void Check(Bytes datagram);
  const Results& results() const { return results_; }

 private:
  struct Entry {
    uint32_t item;  ///< Number of the item, minus first_item.
    bool set;
  };

  Datagram Write(uint32_t endpoint, std::span<uint8_t> room);
  Entry Draw();
  void Check(const Answer& answer);

  const ClientOptions options_;
  const uint64_t end_;  ///< Number of the script's requests, including the preload.
  uint32_t batch_;
  workload::Random random_;
  workload::Popularity popularity_;
  std::vector<Entry> entries_;                  ///< Indexed by the request's id.
  std::vector<uint32_t> versions_;              ///< Number of sets of each item so far.
  std::vector<std::vector<uint32_t>> batches_;  ///< Request ids in each endpoint's next datagram.
  uint32_t flushed_ = 0;  ///< Number of endpoints whose last preload requests have been sent.
  std::vector<uint8_t> key_, value_;
  Results results_;
};

}  // namespace sluice::engine::kv::client
