// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.h"
#include "engine/kv/client/client.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::kv::client::Client;
using engine::kv::client::ClientCounters;
using engine::kv::client::ClientOptions;
using engine::kv::client::Protocol;
using test::Bytes;
using test::ExactBuffer;

constexpr uint64_t kStepNs = 1000;

/// A running client and the ids of its last request, which a server would return.
class Conversation {
 public:
  explicit Conversation(const ClientOptions& options)
      : options_(options), client_(options, false), room_(options.max_datagram_bytes) {
    client_.Start(now_ns_);
  }

  void Wait(uint64_t ns) { now_ns_ += ns; }
  void Ask() {
    for (int i = 0; i < 8; ++i) {
      const auto out = client_.Next(now_ns_, room_);
      if (!out) return;
      FUZZ_CHECK(out.bytes <= room_.size() && out.endpoint == 0);
      request_.assign(room_.begin(), room_.begin() + static_cast<long>(out.bytes));
    }
  }
  /// Passes an answer to the client, with the ids of the last request if `with_ids`.
  void Hear(Bytes answer, bool with_ids) {
    if (with_ids) PutIds(answer);
    const ExactBuffer exact(answer);
    client_.OnDatagram(now_ns_, engine::kv::Bytes(exact.data(), exact.size()));
  }
  /// Finishes all requests. Each must have ended exactly once.
  void Finish() {
    client_.Stop(now_ns_);
    for (int i = 0; i < 4 && client_.outstanding() != 0; ++i) {
      now_ns_ += options_.batch_wait_ns;
      while (client_.Next(now_ns_, room_)) continue;
      now_ns_ += options_.timeout_ns;
      FUZZ_CHECK(!client_.Next(now_ns_, room_));
    }
    const ClientCounters& counters = client_.counters();
    FUZZ_CHECK(client_.outstanding() == 0);
    FUZZ_CHECK(counters.requests == counters.answers() + counters.timeouts);
  }

 private:
  void Copy(Bytes& answer, size_t at, size_t from, size_t bytes) const {
    if (at + bytes > answer.size() || from + bytes > request_.size()) return;
    std::memcpy(answer.data() + at, request_.data() + from, bytes);
  }
  void PutIds(Bytes& answer) const {
    if (options_.protocol == Protocol::kMica) {
      Copy(answer, 6 + 16, 6 + 16, 4);  // The first message's opaque field.
    } else {
      Copy(answer, 0, 0, 2);  // memcached's request id, and the binary protocol's opaque field.
      if (options_.protocol == Protocol::kMemcachedBinary) Copy(answer, 8 + 12, 8 + 12, 4);
    }
  }

  ClientOptions options_;
  uint64_t now_ns_ = 1;
  Client client_;
  Bytes room_;
  Bytes request_;
};

}  // namespace

void KvClient(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const uint8_t control = data[0];
  ClientOptions options;
  options.protocol = static_cast<Protocol>(control % 3);
  options.items = 64;
  options.outstanding = 8;
  options.batch = 1 + control / 64;
  options.timeout_ns = 100 * kStepNs;
  options.max_datagram_bytes = 1400;
  Conversation conversation(options);
  for (size_t at = 1; at + 2 <= size;) {
    const uint8_t what = data[at];
    const size_t bytes = std::min<size_t>(data[at + 1] + (what & 1) * 256u, size - at - 2);
    at += 2;
    if (what >= 240) {
      conversation.Wait(what * kStepNs);
      continue;
    }
    conversation.Wait(kStepNs);
    conversation.Ask();
    conversation.Hear(Bytes(data + at, data + at + bytes), (what & 2) != 0);
    at += bytes;
  }
  conversation.Finish();
}

}  // namespace sluice::fuzz
