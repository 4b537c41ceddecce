// SPDX-License-Identifier: BSD-3-Clause
//
// TCP clients of sluice-kv as the wire of a model NIC, library:libsluice_kv_tcp_wire.so: see
// stream_clients.h. The default port is 11211. Each connection stores a value of `bytes` bytes
// under its own key, reads it, and so on, by memcached's text protocol.
#include <cstring>
#include <memory>
#include <string>

#include "packet/bytes.h"
#include "transport/clients/stream_clients.h"

namespace sluice::kv {
namespace {

using transport::Exchange;

class StoreAndRead final : public transport::Dialogue {
 public:
  explicit StoreAndRead(uint32_t bytes) : value_(bytes, 0), bytes_(std::to_string(bytes)) {}

  uint64_t RequestBytes(const Exchange& exchange) override { return Request(exchange).size(); }
  uint64_t AnswerBytes(const Exchange& exchange) override { return Answer(exchange).size(); }
  void WriteRequest(const Exchange& exchange, uint64_t at, std::span<uint8_t> to) override {
    std::memcpy(to.data(), Request(exchange).data() + at, to.size());
  }
  bool IsAnswer(const Exchange& exchange, uint64_t at, std::span<const uint8_t> bytes) override {
    return std::memcmp(bytes.data(), Answer(exchange).data() + at, bytes.size()) == 0;
  }

 private:
  static bool Stores(const Exchange& exchange) { return exchange.number % 2 == 0; }
  const std::string& Request(const Exchange& exchange) {
    if (!Stores(exchange)) return text_ = "get " + Key(exchange) + "\r\n";
    return text_ = "set " + Key(exchange) + " 0 0 " + bytes_ + "\r\n" + Value(exchange) + "\r\n";
  }
  const std::string& Answer(const Exchange& exchange) {
    if (Stores(exchange)) return text_ = "STORED\r\n";
    return text_ =
               "VALUE " + Key(exchange) + " 0 " + bytes_ + "\r\n" + Value(exchange) + "\r\nEND\r\n";
  }
  static std::string Key(const Exchange& exchange) { return std::to_string(exchange.key); }
  // Returns the value that the exchange stores or reads.
  const std::string& Value(const Exchange& exchange) {
    uint64_t at = exchange.key * uint64_t{31} + exchange.number / 2;
    for (char& byte : value_) {
      byte = static_cast<char>(at + (at >> 8));
      ++at;
    }
    return value_;
  }

  std::string value_;
  std::string bytes_;  ///< Length of a value.
  std::string text_;   ///< The last request or answer.
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
