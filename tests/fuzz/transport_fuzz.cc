// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzes the transport unit from both of its sides: frames of a peer, altered or not, and records
// of a host. Each input is a script. The unit must not write outside the rings, must not report
// impossible positions, and must serve a new connection afterwards.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "check.h"
#include "choices.h"
#include "device/transport/nic_lab.h"
#include "packet/byte_stream.h"
#include "packet/own_addresses.h"
#include "regs/transport.h"
#include "transport/stack.h"

namespace sluice::fuzz {
namespace {

namespace layout = regs::transport;
using ::sluice::transport::Stack;

constexpr uint32_t kConnections = 4;
constexpr uint32_t kRing = layout::kMinRing;
constexpr uint16_t kPort = 80;
constexpr packet::MacAddress kNicMac{2, 0, 0, 0, 0, 1}, kPeerMac{2, 0, 0, 0, 0, 2};

packet::OwnAddresses Addresses(const packet::MacAddress& mac, const char* list) {
  packet::OwnAddresses own(mac);
  std::string error;
  FUZZ_CHECK(own.Add(list, &error));
  return own;
}

struct Peer final : ::sluice::transport::Events {
  Peer() {
    std::string error;
    stack = Stack::Create(
        {.own = Addresses(kPeerMac, "10.0.0.2"), .max_connections = 64, .seed = 1}, *this, &error);
    FUZZ_CHECK(stack != nullptr);
  }
  bool Output(const uint8_t* frame, uint32_t bytes) override {
    sent.emplace_back(frame, frame + bytes);
    return true;
  }
  bool Opened(uint32_t id, const packet::StreamPeer& /*peer*/) override {
    last = id;
    ++opened;
    return true;
  }
  void Received(uint32_t id, const uint8_t* /*data*/, uint32_t bytes) override {
    stack->Consume(id, bytes);
  }
  void HalfClosed(uint32_t /*id*/) override {}
  void RoomFreed(uint32_t /*id*/) override {}
  void Closed(uint32_t /*id*/, ::sluice::transport::End /*end*/) override {}

  test::Frames sent;
  uint32_t last = 0, opened = 0;
  std::unique_ptr<Stack> stack;  // Last, because its destructor sends frames.
};

class UnitPlay {
 public:
  UnitPlay(const uint8_t* data, size_t size)
      : choices_(data, size),
        nic_(test::ConfigurationOf(Addresses(kNicMac, "10.0.0.1"), {kPort}, kConnections, kRing)) {}

  void Play() {
    while (!choices_.empty()) Step(choices_.Byte());
    // A new configuration serves connections, whatever happened before.
    nic_.SetRoom(SIZE_MAX);
    nic_.unit->WriteRegister(test::NicLab::kRegister, 8, test::NicLab::kBus);
    Peer peer;
    peer.stack->Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, 999}, kNicMac);
    for (int i = 0; i < 4; ++i) Carry(peer, false);
    FUZZ_CHECK(peer.opened == 1);
  }

 private:
  void Step(uint8_t choice) {
    switch (choice % 8) {
      case 0:
        peer_.stack->Connect(
            {packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, static_cast<uint16_t>(choice + 1)},
            kNicMac);
        break;
      case 1: {
        const auto bytes = choices_.Consume(choice);
        if (peer_.opened != 0 && peer_.stack->Room(peer_.last) >= bytes.size()) {
          peer_.stack->Write(peer_.last, bytes.data(), static_cast<uint32_t>(bytes.size()));
          peer_.stack->Flush(peer_.last);
        }
        break;
      }
      case 2:
        Carry(peer_, false);
        break;
      case 3:
        Carry(peer_, true);
        break;
      case 4:
        SendRecord();
        break;
      case 5:
        nic_.SetRoom(choice < 128 ? choice / 8 : SIZE_MAX);
        break;
      case 6:
        now_ += uint64_t{choice} << 24;
        nic_.unit->SetTime(now_);
        peer_.stack->Advance(now_);
        break;
      case 7:
        if (choice < 16) peer_.stack->Finish(peer_.last);
        break;
    }
  }
  /// Carries all frames, some of them altered.
  void Carry(Peer& peer, bool alter) {
    test::Frames frames = std::exchange(peer.sent, {});
    for (auto& frame : frames) {
      if (!alter) break;
      frame[choices_.Word16() % frame.size()] ^= choices_.Byte();
      if (choices_.Byte() % 4 == 0) frame.resize(choices_.Word16() % (frame.size() + 1));
    }
    nic_.Receive(frames);
    CheckRecords();
    for (const auto& frame : nic_.Send({})) {
      peer.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
    }
    CheckRecords();
  }
  /// Sends a record, of which some are possible.
  void SendRecord() {
    std::vector<uint8_t> frame(layout::kRecordBytes, 0);
    std::copy(test::kUnitMac.begin(), test::kUnitMac.end(), frame.begin());
    layout::Record record{};
    record.flags = choices_.Byte();
    record.connection = choices_.Byte() % (kConnections + 1);
    record.life = choices_.Byte() % 4;
    record.counts = {choices_.Word16(), choices_.Word16()};
    std::memcpy(frame.data() + layout::kRecordOffset, &record, sizeof(record));
    if (choices_.Byte() % 8 == 0) frame.resize(choices_.Byte() % (layout::kRecordBytes + 1));
    for (const auto& sent : nic_.Send({frame})) {
      peer_.stack->Input(sent.data(), static_cast<uint32_t>(sent.size()));
    }
  }
  void CheckRecords() {
    for (const auto& frame : nic_.ToHost()) {
      layout::Record record;
      if (frame.size() != layout::kRecordBytes ||
          std::memcmp(&frame[6], test::kUnitMac.data(), test::kUnitMac.size()) != 0) {
        continue;  // A frame that is not TCP.
      }
      std::memcpy(&record, &frame[layout::kRecordOffset], sizeof(record));
      FUZZ_CHECK(record.connection < kConnections && record.end <= 3);
      FUZZ_CHECK((record.flags & (layout::kFinish | layout::kAbort | layout::kRelease)) == 0);
    }
  }

  Choices choices_;
  test::NicLab nic_;
  Peer peer_;
  uint64_t now_ = 1'000'000'000;
};

}  // namespace
}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::fuzz::UnitPlay(data, size).Play();
  return 0;
}
