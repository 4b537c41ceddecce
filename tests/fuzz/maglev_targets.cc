// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "check.h"
#include "checksums.h"
#include "engine/maglev/icmp.h"
#include "engine/maglev/quic.h"
#include "packet/fixtures.h"
#include "packet/flow_key.h"
#include "packet/frame.h"
#include "packet/parse.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using packet::FlowKey;
using packet::Frame;
using packet::Headers;
using test::Bytes;
using test::ExactBuffer;

/// A frame with exactly `headroom` bytes of headroom and no tailroom.
struct Placed {
  Placed(const Bytes& bytes, uint32_t headroom)
      : buffer(Spread(bytes, headroom)),
        frame{buffer.data() + headroom, static_cast<uint32_t>(bytes.size()), headroom, 0},
        headers(packet::Parse(frame.data, frame.length)) {}

  static Bytes Spread(const Bytes& bytes, uint32_t headroom) {
    Bytes spread(headroom);
    spread.insert(spread.end(), bytes.begin(), bytes.end());
    return spread;
  }
  Bytes bytes() const { return Bytes(frame.data, frame.data + frame.length); }

  ExactBuffer buffer;
  Frame frame;
  Headers headers;
};

std::optional<FlowKey> CheckFlow(const Bytes& bytes) {
  const Placed placed(bytes, 0);
  const auto flow = engine::maglev::FlowOfError(placed.frame, placed.headers);
  FUZZ_CHECK(placed.bytes() == bytes);
  if (!flow) return flow;
  FUZZ_CHECK(flow->protocol == 6 || flow->protocol == 17);
  const auto outer = FlowKey::Of(placed.frame.data, placed.headers);
  FUZZ_CHECK(outer && outer->destination == flow->destination);
  FUZZ_CHECK(outer->ip_version == flow->ip_version);
  return flow;
}

/// Checks that a translated quote belongs to the translated flow, and that the translation
/// preserves correct checksums in the error.
void CheckTranslation(const Bytes& bytes) {
  Placed placed(bytes, 0);
  const Headers& headers = placed.headers;
  auto flow = engine::maglev::FlowOfError(placed.frame, headers);
  engine::maglev::IpAddress address;
  address.ipv6 = headers.IsIpv6();
  std::fill_n(address.bytes.begin(), address.ipv6 ? 16 : 4, uint8_t{0xc5});
  if (!flow) return;
  TranslateQuote(placed.frame, headers, packet::End::kDestination, address, 0xabab);
  const Bytes after = placed.bytes();
  FUZZ_CHECK(after.size() == bytes.size());
  if (HasValidChecksums(bytes)) FUZZ_CHECK(HasValidChecksums(after));
  flow->source = address.bytes;
  flow->source_port = 0xabab;
  FUZZ_CHECK(CheckFlow(after) == flow);
}

void CheckEcho(const Bytes& bytes) {
  Placed placed(bytes, 0);
  const bool answered = engine::maglev::AnswerEcho(placed.frame, placed.headers);
  const Bytes answer = placed.bytes();
  if (!answered) {
    FUZZ_CHECK(answer == bytes);
    return;
  }
  FUZZ_CHECK(answer.size() == bytes.size());
  if (HasValidChecksums(bytes)) FUZZ_CHECK(HasValidChecksums(answer));
  Placed again(answer, 0);
  FUZZ_CHECK(!engine::maglev::AnswerEcho(again.frame, again.headers));
  const auto asked = FlowKey::Of(bytes.data(), packet::Parse(bytes.data(), placed.frame.length));
  const auto told = FlowKey::Of(answer.data(), again.headers);
  FUZZ_CHECK(asked && told && *told == asked->Reversed());
}

void CheckTooBig(const Bytes& bytes, uint32_t headroom, uint32_t mtu) {
  Placed placed(bytes, headroom);
  const Headers& headers = placed.headers;
  const bool made = engine::maglev::MakeTooBig(placed.frame, headers, mtu);
  FUZZ_CHECK(placed.frame.data - placed.frame.headroom == placed.buffer.data());
  FUZZ_CHECK(placed.frame.headroom + placed.frame.length + placed.frame.tailroom ==
             headroom + bytes.size());
  const Bytes answer = placed.bytes();
  if (!made) {
    FUZZ_CHECK(answer == bytes);
    return;
  }
  FUZZ_CHECK(HasValidChecksums(answer));
  const bool ipv4 = headers.network == packet::Network::kIpv4;
  const uint32_t quote = headers.l3 + (ipv4 ? 28 : 48);
  FUZZ_CHECK(answer.size() - headers.l3 <= (ipv4 ? 576u : 1280u));
  FUZZ_CHECK(answer.size() - quote <= headers.end - headers.l3);
  FUZZ_CHECK(std::equal(answer.begin() + quote, answer.end(), bytes.begin() + headers.l3));
  // An ICMP error must not cause another ICMP error.
  Placed error(answer, 64);
  FUZZ_CHECK(!engine::maglev::MakeTooBig(error.frame, error.headers, mtu));
  const auto flow = CheckFlow(answer);
  if (!flow || headers.IsFragment()) return;
  FUZZ_CHECK(flow->Reversed() == FlowKey::Of(bytes.data(), headers));
}

}  // namespace

void MaglevMessages(const uint8_t* data, size_t size) {
  if (size == 0) return;
  Bytes frame(data + 1, data + size);
  if ((data[0] & 0x80) == 0) SetChecksums(frame);
  CheckFlow(frame);
  CheckTranslation(frame);
  CheckEcho(frame);
  CheckTooBig(frame, (data[0] & 0xf) * 8u, data[0] & 0x40 ? 1400 : 100);
}

void MaglevQuic(const uint8_t* data, size_t size) {
  const ExactBuffer payload({data, size});
  const auto route = engine::maglev::ReadQuicRoute({payload.data(), payload.size()});
  FUZZ_CHECK((route.kind == engine::maglev::QuicKind::kServer) == (route.server_id != 0));
  if (route.kind == engine::maglev::QuicKind::kNone) return;
  const ExactBuffer longer({data, size}, 1);
  const auto same = engine::maglev::ReadQuicRoute({longer.data(), longer.size() + size_t{1}});
  FUZZ_CHECK(same.kind == route.kind && same.server_id == route.server_id);
}

}  // namespace sluice::fuzz
