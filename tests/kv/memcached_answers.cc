// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-answers MODE WORKERS VERSION [FLUSH]: prints the answers of the memcached protocols,
// for comparison with memcached. Reads datagrams without UDP frames as lines of hexadecimal digits,
// and prints each answer in the same form. The answer to a rejected datagram is empty. MODE is
// cache or store. If there are several workers, only a key's owner reads the key, and other workers
// hand datagrams over. Any FLUSH argument allows flush_all.
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "engine/kv/memcached/ascii.h"
#include "engine/kv/memcached/binary.h"

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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: sluice-kv-answers cache|store WORKERS VERSION [FLUSH]\n";
    return 2;
  }
  const Mode mode = std::string_view(argv[1]) == "cache" ? Mode::kCache : Mode::kStore;
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
