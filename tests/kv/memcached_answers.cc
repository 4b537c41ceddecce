// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-answers MODE WORKERS VERSION [FLUSH]: prints the answers of the memcached protocols,
// for comparison with memcached. Reads datagrams without UDP frames as lines of hexadecimal digits,
// and prints each answer in the same form. The answer to a rejected datagram is empty. MODE is
// cache or store. If there are several workers, only a key's owner reads the key, and other workers
// hand datagrams over. Any FLUSH argument allows flush_all.
//
// If WORKERS is "stream", a line is part of a byte stream, and arrives in random pieces. There is
// one connection of each protocol. After an answer that ends it, "closed" is printed, and the next
// line begins a new one.
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/binary.h"
#include "stream_lab.h"

namespace {

using namespace sluice::engine::kv;

std::vector<uint8_t> FromHex(const std::string& hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

std::string ToHex(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Store MakeStore(Mode mode, uint32_t workers, bool allow_flush) {
  Store store;
  for (uint32_t i = 0; i < workers; ++i) {
    store.partitions.emplace_back(
        PartitionOptions{.mode = mode, .memory_bytes = 4 << 20, .items = 10'000});
  }
  store.workers = workers;
  store.concurrent_read = workers == 1;
  store.allow_flush = allow_flush;
  store.traffic.push_back(std::make_shared<ResponderCounters>());
  return store;
}

void Answer(Store& store, Bytes datagram, std::string_view version, uint32_t started_unix_s,
            Reply& reply) {
  // The workers' clock is ahead of Unix time by this many seconds.
  constexpr uint32_t kClock = 1000;
  ProtocolCounters& counters = store.traffic.front()->memcached;
  const ServerFacts facts{
      .version = version, .pid = 1, .started_unix_s = started_unix_s, .udp_port = 11211};
  Exchange exchange;
  exchange.datagram = datagram;
  exchange.unix_s = static_cast<uint32_t>(std::time(nullptr));
  exchange.now_s = exchange.unix_s + kClock;
  exchange.max_reply_bytes = static_cast<uint32_t>(reply.room());
  exchange.server = &facts;
  const bool binary = !datagram.empty() && datagram[0] == memcached::kRequestMagic;
  for (;;) {
    Access access(store, exchange.owner);
    const Progress progress = binary ? memcached::ServeBinary(exchange, access, reply, counters)
                                     : memcached::ServeAscii(exchange, access, reply, counters);
    if (progress != Progress::kForeign) return;
  }
}

void AnswerStreams(Mode mode, std::string_view version, bool allow_flush) {
  constexpr uint32_t kClock = 1000;
  const auto started_unix_s = static_cast<uint32_t>(std::time(nullptr));
  ServiceOptions options;
  options.unix_epoch_s = started_unix_s - kClock;
  options.facts = {.version = version, .pid = 1, .started_unix_s = started_unix_s};
  StreamLab lab(mode, 1, options);
  lab.store.allow_flush = allow_flush;
  std::optional<StreamLabConnection> connections[2];
  std::mt19937 random(1);
  const auto draw = [&](size_t most) { return 1 + random() % static_cast<uint32_t>(most); };
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<uint8_t> bytes = FromHex(line);
    const std::string_view text = memcached::AsText(bytes);
    auto& connection = connections[bytes[0] == memcached::kRequestMagic];
    if (!connection) connection.emplace(lab, draw(3000));
    const auto now_s = static_cast<uint32_t>(std::time(nullptr)) - options.unix_epoch_s;
    lab.server.AtRest(now_s * StreamLab::kHz);
    std::string answer;
    // Long lines arrive whole, because memcached would otherwise close the connection.
    const size_t longest = text.size() < 2000 ? draw(100) : 100'000;
    for (size_t at = 0; at < text.size();) {
      const size_t piece = draw(longest);
      answer += connection->Send(text.substr(at, piece));
      at += piece;
    }
    std::cout << ToHex(memcached::AsBytes(answer));
    if (connection->closed()) {
      std::cout << "closed";
      connection.reset();
    }
    std::cout << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: sluice-kv-answers cache|store WORKERS|stream VERSION [FLUSH]\n";
    return 2;
  }
  const Mode mode = std::string_view(argv[1]) == "cache" ? Mode::kCache : Mode::kStore;
  if (std::string_view(argv[2]) == "stream") {
    AnswerStreams(mode, argv[3], argc > 4);
    return 0;
  }
  Store store = MakeStore(mode, static_cast<uint32_t>(std::stoul(argv[2])), argc > 4);
  const auto started_unix_s = static_cast<uint32_t>(std::time(nullptr));
  std::vector<uint8_t> room(4 << 20);
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<uint8_t> datagram = FromHex(line);
    Reply reply(room);
    Answer(store, datagram, argv[3], started_unix_s, reply);
    std::cout << ToHex(reply.bytes()) << std::endl;
  }
  return 0;
}
