// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-server-bench [ITEMS [ROUNDS [BATCH [COMMAND]]]]: measures the cost of a request at the
// server and, in the same run, the cost of the same requests at the server's table alone. Frames of
// MICA's protocol are in cached memory and are served in bursts of 64. They are rebuilt between
// bursts, which is not measured. Items have 8-byte keys and values; 95 % of the requests are gets;
// the server hashes the keys. The result is in TSC cycles per request: the median over the bursts
// of the best of ROUNDS rounds, without bursts in which the thread was preempted. With BATCH, the
// program only serves up to kCounted requests, BATCH per datagram, so that callgrind can count
// WorkerServe. All requests are then of COMMAND, if it is given: a command of memcached's text
// protocol (get, set or mg), or of its binary one (bget or bset).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/clock.h"
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/binary_request.h"
#include "engine/kv/memcached/udp_frame.h"
#include "engine/kv/mica_format.h"
#include "engine/kv/server.h"
#include "engine/workload/popularity.h"
#include "packet/burst.h"
#include "packet/datagram.h"
#include "packet/own_addresses.h"

namespace sluice::engine::kv {
namespace {

constexpr size_t kRequests = size_t{1} << 20;
constexpr size_t kCounted = size_t{1} << 16;
constexpr size_t kAhead = 16;  // Prefetch distance of the table alone, as in sluice-kv-bench.
constexpr size_t kTableBurst = 1024;
constexpr uint32_t kFrames = 64;  // Frames per burst.
constexpr uint32_t kSlotBytes = 2048;
constexpr uint32_t kPayload = 42;
constexpr uint16_t kPort = 1024;
constexpr uint16_t kMemcachedPort = 11211;
constexpr uint32_t kNow = 1;
constexpr uint64_t kSecret = 0x5eed;

/// A queue for a single worker, which never hands requests over.
struct NoHandoffQueue {
  Handoff* Allocate() { return nullptr; }
  void Send(uint32_t, Handoff*) {}
  Handoff* Receive() { return nullptr; }
  void Free(Handoff*) {}
};

struct Request {
  uint64_t key;
  KeyHash hash;
  bool get;
};

Bytes BytesOf(const uint64_t& word) { return {reinterpret_cast<const uint8_t*>(&word), 8}; }

/// Returns the key of a request of memcached's protocols: 16 hexadecimal digits.
std::string KeyText(uint64_t key) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016lx", key);
  return text;
}

Request RequestOf(uint64_t item, uint64_t secret, bool get) {
  Request request{item * 0x9e3779b97f4a7c15, {}, get};
  request.hash = HashOf(BytesOf(request.key), secret);
  return request;
}

/// Builds a frame with up to `batch` requests. Returns its length.
uint32_t Build(uint8_t* frame, const Request* requests, uint32_t batch) {
  MicaBatch messages({frame + kPayload, kSlotBytes - kPayload});
  for (uint32_t i = 0; i < batch; ++i) {
    const Request& request = requests[i];
    messages.Add({.operation = request.get ? MicaOperation::kGet : MicaOperation::kSet,
                  .opaque = i,
                  .hash = request.hash.route,
                  .key = BytesOf(request.key),
                  .value = request.get ? Bytes() : BytesOf(request.hash.route)});
  }
  const auto bytes = static_cast<uint32_t>(messages.bytes().size());
  packet::Datagram::WritePlain(frame, {{2}, {4}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, kPort},
                               bytes);
  return kPayload + bytes;
}

std::string Number(uint64_t value, size_t bytes) {
  std::string number;
  while (bytes-- != 0) number += static_cast<char>(value >> 8 * bytes);
  return number;
}

/// Returns a request of memcached's binary protocol.
std::string BinaryOf(memcached::Opcode opcode, std::string_view key, std::string_view extras,
                     std::string_view value) {
  return Number(memcached::kRequestMagic, 1) + Number(static_cast<uint8_t>(opcode), 1) +
         Number(key.size(), 2) + Number(extras.size(), 1) + Number(0, 3) +
         Number(key.size() + extras.size() + value.size(), 4) + Number(0, 12) +
         std::string(extras).append(key).append(value);
}

/// Returns a request of memcached's protocols, or an empty string if the command is unknown.
std::string TextOf(std::string_view command, const Request& request) {
  const std::string key = KeyText(request.key);
  if (command == "get") return "get " + key + "\r\n";
  if (command == "set") return "set " + key + " 0 0 8\r\nabcdefgh\r\n";
  if (command == "mg") return "mg " + key + " s v\r\n";
  if (command == "bget") return BinaryOf(memcached::Opcode::kGet, key, "", "");
  if (command == "bset") {
    return BinaryOf(memcached::Opcode::kSet, key, std::string(8, '\0'), "abcdefgh");
  }
  return "";
}

/// Builds a frame of up to `batch` requests of `command`. Returns its length.
uint32_t BuildMemcached(uint8_t* frame, const Request* requests, uint32_t batch,
                        std::string_view command) {
  std::string text(memcached::kUdpFrameBytes, '\0');
  for (uint32_t i = 0; i < batch; ++i) text += TextOf(command, requests[i]);
  memcached::WriteUdpFrame(reinterpret_cast<uint8_t*>(text.data()), {});
  std::memcpy(frame + kPayload, text.data(), text.size());
  const auto bytes = static_cast<uint32_t>(text.size());
  packet::Datagram::WritePlain(
      frame, {{2}, {4}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, kMemcachedPort}, bytes);
  return kPayload + bytes;
}

/// Serves a burst. This is a separate function so that callgrind can count its instructions.
template <typename Server, packet::Burst Burst>
[[gnu::noinline]] void WorkerServe(Server& server, Burst& burst) {
  server.ProcessBurst(burst, 0);
}

class Bench {
 public:
  /// Requests are of memcached's `command`, or of MICA's protocol if it is empty.
  Bench(uint64_t items, uint64_t secret, std::string_view command = "")
      : command_(command), frames_(size_t{kFrames} * kSlotBytes) {
    store_.secret = secret;
    store_.partitions.emplace_back(PartitionOptions{
        Mode::kCache, 2 * items * Item::SizeOf(8, 8) + (uint64_t{4} << 20), 2 * items});
    for (uint64_t item = 0; item < items; ++item) {
      const Request request = RequestOf(item, secret, false);
      const std::string text = KeyText(request.key);
      const Bytes key = command.empty() ? BytesOf(request.key) : memcached::AsBytes(text);
      store_.partitions[0].Set(key, HashOf(key, secret).index, BytesOf(request.hash.route), {},
                               Condition::kAlways, kNow);
    }
    ServiceOptions options;
    options.mica_port = kPort;
    options.memcached_port = kMemcachedPort;
    options.gate.own = packet::OwnAddresses({4});  // Matches Build's frames.
    server_.emplace(store_, 0, options, NoHandoffQueue(), 1);
    server_->AtRest(0);
  }

  /// Returns the cost of a request in the table, without the server, in TSC cycles.
  double Table(const std::vector<Request>& requests) {
    Partition& partition = store_.partitions[0];
    const size_t count = requests.size();
    std::vector<uint64_t> bursts;
    uint64_t start = cpu::Cycles();
    size_t done = 0;
    for (size_t i = 0; i < count + 2 * kAhead; ++i) {
      if (i % kTableBurst == 0 && i != 0) {
        const uint64_t now = cpu::Cycles();
        bursts.push_back(now - std::exchange(start, now));
      }
      if (i < count) partition.PrefetchBucket(requests[i].hash.index);
      if (i >= kAhead && i - kAhead < count) {
        partition.PrefetchItem(requests[i - kAhead].hash.index);
      }
      if (i < 2 * kAhead) continue;
      const Request& request = requests[i - 2 * kAhead];
      if (!request.get) {
        done += partition.Set(BytesOf(request.key), request.hash.index, BytesOf(request.hash.route),
                              {}, Condition::kAlways, kNow) == Result::kOk;
      } else if (const auto view = partition.Get(BytesOf(request.key), request.hash.index, kNow)) {
        done += 1;
        sum_ += view->value[0];
      }
    }
    Check(done, count);
    return Median(bursts) / kTableBurst;
  }

  double Datagrams(const std::vector<Request>& requests, uint32_t batch) {
    std::vector<uint64_t> bursts;
    const uint64_t hits = Successes();
    const size_t burst = size_t{kFrames} * batch;
    for (size_t at = 0; at + burst <= requests.size(); at += burst) {
      for (uint32_t i = 0; i < kFrames; ++i) {
        const Request* const first = &requests[at + size_t{i} * batch];
        lengths_[i] = command_.empty() ? Build(Slot(i), first, batch)
                                       : BuildMemcached(Slot(i), first, batch, command_);
      }
      uint32_t answered = 0;
      packet::FoundBurst frames(
          kFrames, packet::BurstTotals{},
          [&](uint32_t i) {
            return packet::Frame{Slot(i), lengths_[i], 0, kSlotBytes - lengths_[i]};
          },
          [&](uint32_t, const packet::Frame&, packet::Verdict verdict) {
            answered += verdict == packet::kForward;
          });
      const uint64_t start = cpu::Cycles();
      WorkerServe(*server_, frames);
      bursts.push_back(cpu::Cycles() - start);
      if (answered != kFrames) std::exit(1);
    }
    const size_t count = requests.size() / burst * burst;
    Check(Successes() - hits, count);
    return Median(bursts) / static_cast<double>(burst);
  }

 private:
  uint64_t Successes() {
    const ResponderCounters& counters = server_->responder().counters();
    return counters.mica.get_hits + counters.mica.sets + counters.memcached.get_hits +
           counters.memcached.sets;
  }
  uint8_t* Slot(uint32_t i) { return frames_.data() + size_t{i} * kSlotBytes; }
  static double Median(std::vector<uint64_t>& cycles) {
    const auto middle = cycles.begin() + static_cast<std::ptrdiff_t>(cycles.size() / 2);
    std::nth_element(cycles.begin(), middle, cycles.end());
    return static_cast<double>(*middle);
  }
  // A cache evicts some items, but at most one percent of them.
  static void Check(size_t found, size_t of) {
    if (found >= of / 100 * 99) return;
    std::fprintf(stderr, "only %zu of %zu were found\n", found, of);
    std::exit(1);
  }

  std::string_view command_;
  Store store_;
  std::optional<Server<NoHandoffQueue>> server_;
  std::vector<uint8_t> frames_;
  uint32_t lengths_[kFrames] = {};
  uint64_t sum_ = 0;
};

double NsPerCycle() {
  timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  const uint64_t start = cpu::Cycles();
  while (cpu::Cycles() - start < 50'000'000) cpu::Pause();
  const uint64_t cycles = cpu::Cycles() - start;
  clock_gettime(CLOCK_MONOTONIC, &after);
  return (static_cast<double>(after.tv_sec - before.tv_sec) * 1e9 +
          static_cast<double>(after.tv_nsec - before.tv_nsec)) /
         static_cast<double>(cycles);
}

std::vector<Request> Draw(uint64_t items, double exponent, size_t count) {
  workload::Random random(1);
  const workload::Popularity popularity(items, exponent);
  std::vector<Request> requests;
  for (size_t i = 0; i < count; ++i) {
    // Spreads the popular items over all items.
    requests.push_back(
        RequestOf(popularity.Draw(random) * 0x9e3779b1 % items, kSecret, random.Unit() < 0.95));
  }
  return requests;
}

int Count(uint64_t items, uint32_t batch, std::string_view command) {
  Bench(items, kSecret, command).Datagrams(Draw(items, 0, kCounted), batch);
  const size_t burst = size_t{kFrames} * batch;
  std::printf("%zu requests\n", kCounted / burst * burst);
  return 0;
}

int Main(uint64_t items, int rounds) {
  Bench bench(items, kSecret);
  const double ns = NsPerCycle();
  std::printf("%lu items of 8/8 bytes, 95 %% gets, one core; best of %d\n", items, rounds);
  std::printf("%-26s %8s %8s %8s %8s\n", "", "cycles", "ns", "Mops", "of table");
  for (const double exponent : {0.0, 0.99}) {
    const std::vector<Request> requests = Draw(items, exponent, kRequests);
    double best[3] = {1e9, 1e9, 1e9};
    for (int i = 0; i < rounds; ++i) {
      best[0] = std::min(best[0], bench.Table(requests));
      best[1] = std::min(best[1], bench.Datagrams(requests, 1));
      best[2] = std::min(best[2], bench.Datagrams(requests, 16));
    }
    const char* const names[] = {"table alone", "1 request a datagram", "16 requests a datagram"};
    std::printf("%s\n", exponent == 0 ? "uniform" : "Zipf 0.99");
    for (int i = 0; i < 3; ++i) {
      std::printf("  %-24s %8.1f %8.1f %8.2f %8.2f\n", names[i], best[i], best[i] * ns,
                  1000 / (best[i] * ns), best[0] / best[i]);
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice::engine::kv

int main(int argc, char** argv) {
  const uint64_t items = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  const int batch = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::string_view command = argc > 4 ? argv[4] : "";
  const bool known = command.empty() || !sluice::engine::kv::TextOf(command, {}).empty();
  if (items < 1000 || rounds < 1 || batch < 0 || batch > 32 || !known) {
    std::fprintf(stderr,
                 "usage: sluice-kv-server-bench [ITEMS [ROUNDS [BATCH [get|set|mg|bget|bset]]]], "
                 "BATCH up to 32\n");
    return 2;
  }
  if (batch != 0) return sluice::engine::kv::Count(items, static_cast<uint32_t>(batch), command);
  return sluice::engine::kv::Main(items, rounds);
}
