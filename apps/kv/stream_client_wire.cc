// SPDX-License-Identifier: BSD-3-Clause
//
// TCP clients of sluice-kv as the wire of a model NIC, library:libsluice_kv_tcp_wire.so: see
// stream_clients.h. The default port is 11211. Each connection stores a value of `bytes` bytes
// under its own key, reads it, and so on, by memcached's text protocol.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "packet/bytes.h"
#include "transport/clients/stream_clients.h"

namespace sluice::kv {
namespace {

using transport::Exchange;

class StoreAndRead final : public transport::Dialogue {
 public:
  explicit StoreAndRead(uint32_t bytes) : bytes_(bytes) {}

  uint64_t RequestBytes(const Exchange& exchange) override { return Request(exchange).size(); }
  uint64_t AnswerBytes(const Exchange& exchange) override { return Answer(exchange).size(); }
  void WriteRequest(const Exchange& exchange, uint64_t at, std::span<uint8_t> to) override {
    const Text text = Request(exchange);
    for (uint8_t& byte : to) byte = text.At(at++);
  }
  bool IsAnswer(const Exchange& exchange, uint64_t at, std::span<const uint8_t> bytes) override {
    const Text text = Answer(exchange);
    bool right = exchange.written == RequestBytes(exchange);
    for (const uint8_t byte : bytes) right &= byte == text.At(at++);
    return right;
  }

 private:
  /// A request or an answer: a value between other bytes.
  struct Text {
    std::string before;
    uint64_t value_bytes = 0;
    std::string after;
    uint64_t first = 0;  ///< Determines the value.

    uint64_t size() const { return before.size() + value_bytes + after.size(); }
    uint8_t At(uint64_t at) const {
      if (at < before.size()) return static_cast<uint8_t>(before[at]);
      at -= before.size();
      if (at >= value_bytes) return static_cast<uint8_t>(after[at - value_bytes]);
      return static_cast<uint8_t>(first + at + (at >> 8));
    }
  };

  static bool Stores(const Exchange& exchange) { return exchange.number % 2 == 0; }
  static uint64_t First(const Exchange& exchange) {
    return exchange.key * uint64_t{31} + exchange.number / 2;
  }
  Text Request(const Exchange& exchange) const {
    const std::string key = std::to_string(exchange.key);
    if (!Stores(exchange)) return {"get " + key + "\r\n", 0, "", 0};
    return {"set " + key + " 0 0 " + std::to_string(bytes_) + "\r\n", bytes_, "\r\n",
            First(exchange)};
  }
  Text Answer(const Exchange& exchange) const {
    if (Stores(exchange)) return {"STORED\r\n", 0, "", 0};
    return {"VALUE " + std::to_string(exchange.key) + " 0 " + std::to_string(bytes_) + "\r\n",
            bytes_, "\r\nEND\r\n", First(exchange)};
  }

  uint64_t bytes_;  ///< Length of a value.
};

}  // namespace
}  // namespace sluice::kv

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  auto read = sluice::transport::ReadClientOptions(options, 11211, seed, error);
  if (!read) return nullptr;
  read->server_mac = sluice::packet::Load<sluice::packet::MacAddress>(nic);
  return sluice::transport::StreamClients::Create(
             *read, std::make_unique<sluice::kv::StoreAndRead>(read->bytes), error)
      .release();
}
