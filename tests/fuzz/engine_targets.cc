// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "check.h"
#include "checksums.h"
#include "engine/echo/echo.h"
#include "engine/neighbor/neighbor.h"
#include "packet/fixtures.h"
#include "packet/own_addresses.h"
#include "packet/parse.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using packet::Frame;
using packet::Headers;
using packet::ParseError;
using packet::Verdict;
using test::Bytes;
using test::ExactBuffer;

template <typename Engine>
Verdict Run(Engine engine, Bytes& bytes) {
  const ExactBuffer buffer(bytes);
  Frame frame{buffer.data(), buffer.size(), 0, 0};
  const Verdict verdict = engine.Process(frame, 0);
  FUZZ_CHECK(frame.data == buffer.data() && frame.length == bytes.size());
  bytes = buffer.bytes();
  return verdict;
}

}  // namespace

void EchoEngines(const uint8_t* data, size_t size) {
  Bytes original(data, data + size);
  SetChecksums(original);
  const Headers headers = packet::Parse(original.data(), static_cast<uint32_t>(size));

  Bytes incremented = original;
  FUZZ_CHECK(Run(engine::IncrementEcho(), incremented) == packet::kForward);
  size_t changed = 0;
  for (size_t i = 0; i < size; ++i) changed += incremented[i] != original[i];
  FUZZ_CHECK(changed <= 1);

  Bytes once = original;
  const Verdict verdict = Run(engine::ReflectEcho(), once);
  FUZZ_CHECK(verdict.action != packet::Action::kConsume);
  FUZZ_CHECK((verdict == packet::Drop(engine::ReflectEcho::kMalformed)) ==
             (headers.error != ParseError::kNone));
  if (verdict.action == packet::Action::kDrop) {
    FUZZ_CHECK(verdict.reason < engine::ReflectEcho::kReasons);
    FUZZ_CHECK(once == original);
    return;
  }
  FUZZ_CHECK(HasValidChecksums(once));
  Bytes twice = once;
  // A byte of an Ethernet payload can be a tag or a length whose change alters the frame's type.
  FUZZ_CHECK(Run(engine::ReflectEcho(), twice) == packet::kForward);
  FUZZ_CHECK(HasValidChecksums(twice));
  for (size_t i = 0; i < size; ++i) {
    const uint32_t field = headers.L4ChecksumOffset();
    if (i == headers.payload || (field != 0 && (i == field || i == field + 1))) continue;
    FUZZ_CHECK(twice[i] == original[i]);
  }
}

void NeighborEngine(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const uint32_t tailroom = data[0] & 0xf;
  Bytes request(data + 1, data + size);
  if ((data[0] & 0x80) == 0) SetChecksums(request);
  static const engine::Neighbor kHost = [] {
    packet::OwnAddresses own({2, 0, 0, 0, 0, 2});
    std::string error;
    FUZZ_CHECK(own.Add("10.0.0.2,fd00::2", &error));
    return engine::Neighbor(own);
  }();
  const ExactBuffer buffer(request, tailroom);
  Frame frame{buffer.data(), buffer.size(), 0, tailroom};
  const auto verdict = kHost.Process(frame, 0);
  FUZZ_CHECK(frame.length + frame.tailroom == request.size() + tailroom);
  if (verdict != packet::kForward) {
    FUZZ_CHECK(!verdict || verdict->action == packet::Action::kDrop);
    FUZZ_CHECK(!verdict || verdict->reason < engine::Neighbor::kReasons);
    FUZZ_CHECK(buffer.bytes() == request);
    return;
  }
  const Bytes answer = buffer.bytes(frame.length);
  FUZZ_CHECK(HasValidChecksums(answer));
  const Bytes from(answer.begin() + 6, answer.begin() + 12);
  FUZZ_CHECK((from == Bytes{2, 0, 0, 0, 0, 2}));
  // The destination is a unicast address, or the group of all nodes (for an answer to duplicate
  // detection).
  FUZZ_CHECK((answer[0] & 1) == 0 ||
             Bytes(answer.begin(), answer.begin() + 6) == Bytes({0x33, 0x33, 0, 0, 0, 1}));
}

}  // namespace sluice::fuzz
