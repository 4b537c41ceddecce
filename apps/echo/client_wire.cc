// SPDX-License-Identifier: BSD-3-Clause
//
// TCP clients of sluice-echo as the wire of a model NIC, library:libsluice_echo_wire.so: see
// stream_clients.h. The default port is 7. An answer is the request.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "packet/bytes.h"
#include "transport/clients/stream_clients.h"

namespace sluice::echo {
namespace {

using transport::Exchange;

class EchoDialogue final : public transport::Dialogue {
 public:
  explicit EchoDialogue(uint32_t bytes) : bytes_(bytes) {}

  uint64_t RequestBytes(const Exchange& /*exchange*/) override { return bytes_; }
  uint64_t AnswerBytes(const Exchange& /*exchange*/) override { return bytes_; }
  void WriteRequest(const Exchange& exchange, uint64_t at, std::span<uint8_t> to) override {
    for (uint8_t& byte : to) byte = Byte(exchange, at++);
  }
  bool IsAnswer(const Exchange& exchange, uint64_t at, std::span<const uint8_t> bytes) override {
    bool right = at + bytes.size() <= exchange.written;
    for (const uint8_t byte : bytes) right &= byte == Byte(exchange, at++);
    return right;
  }

 private:
  // Returns a byte that differs between connections and between successive requests.
  uint8_t Byte(const Exchange& exchange, uint64_t at) const {
    at += exchange.number * bytes_;
    return static_cast<uint8_t>(exchange.key * 31 + at + (at >> 8));
  }

  uint64_t bytes_;
};

}  // namespace
}  // namespace sluice::echo

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  auto read = sluice::transport::ReadClientOptions(options, 7, seed, error);
  if (!read) return nullptr;
  read->server_mac = sluice::packet::Load<sluice::packet::MacAddress>(nic);
  return sluice::transport::StreamClients::Create(
             *read, std::make_unique<sluice::echo::EchoDialogue>(read->bytes), error)
      .release();
}
