// SPDX-License-Identifier: BSD-3-Clause
//
// Devices that write and read arbitrarily, together with two honest devices. Messages between the
// honest devices must arrive complete and in order, regardless of the hostile devices.
#pragma once

#include <cstdint>
#include <cstring>

#include "fuzz/choices.h"
#include "rig.h"

namespace sluice::device::pcie_switch::test {

/// A run of a script. Ports 0 and 1 are honest. Ports 2 and 3 execute the script, as does a CPU
/// that opens, closes and fails their streams. Run returns the violation, or null.
class HostileRun {
 public:
  HostileRun(const uint8_t* script, size_t size) : choices_(script, size) {
    rig_.sw.AddRange({.base = DeviceBase(0), .bytes = 1 << 12, .port = 0, .allowed = 0b0011});
    rig_.sw.AddRange({.base = DeviceBase(3), .bytes = 1 << 20, .port = 3});
    rig_.sw.Allow(0, 0b0011);
    rig_.sw.Allow(1, 0b0011);
    honest_ =
        rig_.Open({.nodes = {Node(0, 0, 0, {Always(0b10)}), Node(1, 0, 1)}, .max_message = 600})
            .stream;
    OpenTheirs();
  }

  const char* Run() {
    while (!choices_.empty()) {
      Step();
      if (rig_.wrong_port != 0) return "a TLP went to a device that it was not for";
      for (const Tlp& tlp : rig_.others) {
        if (tlp.address >> 32 <= 2 && tlp.kind != TlpKind::kCompletion)
          return "an honest device got something else than its stream";
      }
      rig_.others.clear();
      rig_.completions.clear();
    }
    rig_.Put(honest_, 0, put_++, 600);
    DrainHonest();
    if (broken_ == nullptr && taken_ != put_) broken_ = "a message of the honest stream is lost";
    return broken_;
  }

 private:
  void OpenTheirs() {
    StreamSpec spec{
        .nodes = {Node(2, 1, 0, {Always(0b0010)}), Node(3, 1, 1, {Always(0b0100)}), Node(2, 1, 2)},
        .max_message = 500};
    spec.nodes[1].kind = NodeKind::kLegacy;
    spec.nodes[1].slots = 2;
    spec.nodes[1].on_death = static_cast<OnDeath>(choices_.Byte() % 3);
    spec.nodes[1].bypass = 2;
    const Opened opened = rig_.sw.Open(spec);
    if (opened.error.empty()) theirs_ = opened;
  }

  uint64_t Address() {
    const uint8_t what = choices_.Byte();
    const uint64_t near = choices_.Byte() % 4 * 64;
    switch (what % 10) {
      case 0:
        return theirs_.windows[0];
      case 1:
        return theirs_.windows[0] + near;
      case 2:
        return theirs_.windows[1];
      case 3:
        return theirs_.windows[1] + choices_.Word16() % 600;
      case 4:
        return kWindows + (uint64_t{choices_.Byte()} << kWindowShift) + near;
      case 5:
        return kRegisters + choices_.Byte();
      case 6:
        return theirs_.rings[1] + choices_.Word16() % 2048;
      case 7:
        return DeviceBase(what / 10 % 5) + choices_.Word16();
      case 8:
        return kGlueMemory + (uint64_t{choices_.Byte()} << kGlueShift) + near;
      default:
        return choices_.Word64();
    }
  }

  void AnyTlp(PortId port) {
    Tlp tlp;
    const uint8_t what = choices_.Byte();
    tlp.kind = static_cast<TlpKind>(what % 8 < 6 ? 0 : what % 8 - 5);
    tlp.requester = what >= 0xf0 ? choices_.Byte() : port;
    tlp.length = what / 8 % 4 == 0 ? choices_.Word16() : what / 8 % 4 * 64u;
    tlp.address = Address();
    const uint32_t small = choices_.Byte();
    StoreTo(tlp.payload.data(),
            MessageHeader{.stream = small, .message = small, .length = small * 3});
    if (what % 3 == 0)
      StoreTo(tlp.payload.data(), LegacyRecord{.sequence = small % 4, .length = small * 2});
    if (what % 5 == 0) StoreTo(tlp.payload.data(), choices_.Word64());
    rig_.sw.Accept(port, tlp);
  }

  void Step() {
    const uint8_t what = choices_.Byte();
    switch (what % 16) {
      case 0:
        rig_.Put(honest_, 0, put_++, what * 2 + choices_.Byte() % 90);
        break;
      case 1:
        DrainHonest();
        break;
      case 2:
        rig_.sw.Fail(what % 32 < 16 ? 2 : 3);
        break;
      case 3:
        rig_.sw.Restore(what % 32 < 16 ? 2 : 3);
        break;
      case 4:
        rig_.sw.Close(theirs_.stream);
        break;
      case 5:
        rig_.sw.FailStream(theirs_.stream);
        break;
      case 6:
        if (rig_.sw.Finished(theirs_.stream)) OpenTheirs();
        break;
      case 7:
        rig_.Pump();
        break;
      default:
        AnyTlp(what % 2 == 0 ? 2 : 3);
        break;
    }
  }

  void DrainHonest() {
    for (const Message& message : rig_.Drain(honest_, 1)) {
      if (message.header.message != taken_++) broken_ = "order, or a message twice";
      if (message.data != Bytes(message.data.size(), message.header.message))
        broken_ = "a message of the honest stream has other bytes";
    }
  }

  fuzz::Choices choices_;
  Rig rig_;
  StreamId honest_ = 0;
  Opened theirs_;
  uint32_t put_ = 0;
  uint32_t taken_ = 0;
  const char* broken_ = nullptr;
};

}  // namespace sluice::device::pcie_switch::test
