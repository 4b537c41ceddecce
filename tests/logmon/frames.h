// SPDX-License-Identifier: BSD-3-Clause
//
// Frames with text, built according to the layouts in RFC 791, 8200, 768 and 9293. Checksums are
// computed by a naive implementation.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "packet/bytes.h"
#include "packet/fixtures.h"
#include "packet/oracle.h"
#include "packet/parse.h"

namespace sluice::test {

/// The variable parts of a frame.
struct TextFrame {
  std::string_view text = "";
  bool tcp = false;
  bool ipv6 = false;
  bool vlan = false;
  uint32_t sender = 1;  ///< Last bytes of the sender's address.
  uint16_t source_port = 4000;
  uint16_t destination_port = 514;
  uint32_t sequence = 0;  ///< TCP only.
  uint8_t flags = 0x10;   ///< TCP only.
  bool back = false;      ///< Swaps the source and destination addresses; ports stay as given.
  uint32_t acknowledged = 0;
  uint16_t window = 0xffff;
  std::string_view options = "";  ///< TCP options; a multiple of four bytes.
};

inline Bytes MakeFrame(const TextFrame& from) {
  Bytes frame = FromHex("020000000002020000000001");
  const auto add16 = [&](uint32_t value) {
    frame.push_back(static_cast<uint8_t>(value >> 8));
    frame.push_back(static_cast<uint8_t>(value));
  };
  const auto add32 = [&](uint32_t value) { add16(value >> 16), add16(value & 0xffff); };
  if (from.vlan) add32(0x81000064);
  const auto upper =
      static_cast<uint32_t>((from.tcp ? 20 + from.options.size() : 8) + from.text.size());
  const uint8_t protocol = from.tcp ? 6 : 17;
  add16(from.ipv6 ? 0x86dd : 0x0800);
  if (from.ipv6) {
    add32(0x60000000);
    add16(upper);
    frame.push_back(protocol);
    frame.push_back(64);
    for (const bool source : {true, false}) {
      add32(0xfd000000), add32(0), add32(0), add32(source != from.back ? from.sender : 0xffff);
    }
  } else {
    const size_t ip = frame.size();
    add16(0x4500), add16(20 + upper), add32(0), frame.push_back(64), frame.push_back(protocol);
    add16(0);
    for (const bool source : {true, false}) {
      add32(0x0a000000 | (source != from.back ? from.sender : 0xfffffe));
    }
    packet::StoreBe16(&frame[ip + 10], static_cast<uint16_t>(~NaiveSum({&frame[ip], 20})));
  }
  const size_t l4 = frame.size();
  add16(from.source_port), add16(from.destination_port);
  if (from.tcp) {
    add32(from.sequence), add32(from.acknowledged);
    frame.push_back(static_cast<uint8_t>(0x50 + from.options.size() / 4 * 16));
    frame.push_back(from.flags);
    add16(from.window), add16(0), add16(0);
    frame.insert(frame.end(), from.options.begin(), from.options.end());
  } else {
    add16(upper), add16(0);
  }
  frame.insert(frame.end(), from.text.begin(), from.text.end());
  const packet::Headers headers = packet::Parse(frame.data(), static_cast<uint32_t>(frame.size()));
  const auto sum = static_cast<uint16_t>(~NaiveUpperSum(frame.data(), headers));
  packet::StoreBe16(&frame[l4 + (from.tcp ? 16 : 6)], sum == 0 && !from.tcp ? 0xffff : sum);
  return frame;
}

}  // namespace sluice::test
