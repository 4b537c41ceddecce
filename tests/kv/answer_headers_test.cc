// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the IPv4 header of answers. MICA's client must accept it, and it must permit fragmentation
// only where fragmentation is safe.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "packet/parse.h"
#include "server_lab.h"

namespace sluice::engine::kv {
namespace {

Frame BytesOfHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Frame bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  return bytes;
}

// Returns whether mica2's datagram client accepts a frame: UDP over IPv4 without options,
// identification and fragment field 0, and lengths that match exactly.
bool Mica2Accepts(const Frame& frame) {
  return frame.size() >= 42 && packet::LoadBe16(&frame[12]) == 0x0800 && frame[14] == 0x45 &&
         packet::LoadBe16(&frame[18]) == 0 && packet::LoadBe16(&frame[20]) == 0 &&
         packet::LoadBe16(&frame[16]) == frame.size() - 14 && frame[23] == 17 &&
         packet::LoadBe16(&frame[38]) == frame.size() - 34;
}

TEST(AnswerHeaders, MicasOwnClientAcceptsThem) {
  // The format that mica2 sends: no checksums, identification 0, no flags.
  const Frame request = BytesOfHex(
      "0200000000020200000000010800"  // Ethernet
      "45000042000000004011"
      "0000"
      "0a0000010a000002"                                  // IPv4
      "9c400400002e0000"                                  // UDP
      "780100000000"                                      // One request.
      "050000000000000888776655443322110df0fe0f00000000"  // get, key length, hash, opaque
      "6162636465666768");
  const Frame expected = BytesOfHex(
      "0200000000010200000000020800"
      "4500003a00000000401166b10a0000020a000001"
      "04009c4000260000"
      "790100000000"
      "050400000000000088776655443322110df0fe0f00000000");  // Not found.
  Host host(LabOptions());
  ASSERT_EQ(host.Receive(request), packet::kForward);
  const std::vector<Frame> answers = host.Sent();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], expected);
  EXPECT_TRUE(Mica2Accepts(answers[0]));
}

// RFC 6864: an atomic datagram does not need a unique identification. An answer that may be
// fragmented copies the identification of its request, which the client does not reuse.
TEST(AnswerHeaders, OneAnswerMayBeFragmentedIfItsRequestMight) {
  struct {
    uint16_t identification, flags, answered_flags;
  } const cases[] = {{0, 0, 0},           {0, 0x4000, 0x4000},
                     {0x1234, 0, 0},      {0x1234, 0x4000, 0x4000},
                     {0xffff, 0x8000, 0}, {1, 0xc000, 0x4000}};
  for (const auto& [identification, flags, answered_flags] : cases) {
    for (const bool vlan : {false, true}) {
      Frame request = Udp(kMemcachedPort, Ascii("get a\r\n"), false, true, vlan);
      uint8_t* const ip = &request[vlan ? 18 : 14];
      packet::StoreBe16(ip + 4, identification);
      packet::StoreBe16(ip + 6, flags);
      Host host(LabOptions());
      ASSERT_EQ(host.Receive(request), packet::kForward);
      const Frame answer = host.Sent().at(0);
      const uint8_t* const answered = &answer[vlan ? 18 : 14];
      EXPECT_EQ(packet::LoadBe16(answered + 4), identification);
      EXPECT_EQ(packet::LoadBe16(answered + 6), answered_flags);
      EXPECT_TRUE(packet::ChecksumHolds(packet::SumBytes(answered, 20)));
    }
  }
}

TEST(AnswerHeaders, SeveralAnswersToOneRequestAreNeverFragmented) {
  ServiceOptions options = LabOptions();
  options.max_reply_bytes = 65536;
  Host host(options);
  const std::string kilobyte(1000, 'x');
  host.Receive(Udp(kMemcachedPort, Ascii("set a 0 0 1000\r\n" + kilobyte + "\r\n")));
  host.Receive(Udp(kMemcachedPort, Ascii("append a 0 0 1000\r\n" + kilobyte + "\r\n")));
  host.Sent();
  Frame request = Get("a");
  packet::StoreBe16(&request[18], 0x1234);
  ASSERT_EQ(host.Receive(request), packet::kConsume);
  const std::vector<Frame> answers = host.Sent();
  ASSERT_EQ(answers.size(), 2u);
  for (const Frame& answer : answers) {
    EXPECT_EQ(packet::LoadBe32(&answer[18]), 0x4000u);
    EXPECT_TRUE(packet::ChecksumHolds(packet::SumBytes(&answer[14], 20)));
  }
}

}  // namespace
}  // namespace sluice::engine::kv
