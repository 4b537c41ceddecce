// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <string>

#include "check.h"
#include "choices.h"
#include "engine/logmon/source/syslog.h"
#include "engine/logmon/source/tcp_assembler.h"
#include "logmon/tcp_recorder.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::logmon::TcpStream;

bool IsWithin(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace

void LogmonSyslog(const uint8_t* data, size_t size) {
  const test::ExactBuffer buffer({data, size});
  const std::string_view datagram(reinterpret_cast<const char*>(buffer.data()), size);
  const auto message = engine::logmon::ReadSyslog(datagram);
  FUZZ_CHECK(message.header.facility <= 23 && message.header.severity <= 7);
  FUZZ_CHECK(IsWithin(message.header.hostname, datagram));
  FUZZ_CHECK(IsWithin(message.header.app, datagram));
  // The text is the end of the datagram without trailing NULs.
  FUZZ_CHECK(IsWithin(message.text, datagram));
  std::string_view shown = datagram;
  while (shown.ends_with('\0')) shown.remove_suffix(1);
  FUZZ_CHECK(shown.ends_with(message.text));
  if (!message.has_priority) FUZZ_CHECK(message.text == shown);
  if (message.has_priority) FUZZ_CHECK(message.text.size() + 3 <= size);
}

void LogmonTcp(const uint8_t* data, size_t size) {
  Choices choices(data, size);
  const uint32_t control = choices.Byte();
  const uint32_t window = control & 1 ? 3000 : 70000;
  const uint64_t pool_bytes = control & 2 ? 5000 : 1 << 20;
  engine::logmon::SourceCounters counters;
  engine::logmon::TcpAssembler assembler(
      {.pool_bytes = pool_bytes, .window = window, .gap_cycles = 10}, counters);
  std::array<TcpStream, 2> streams;
  std::array<test::Witness, 2> witnesses{test::Witness{streams[0]}, test::Witness{streams[1]}};
  uint32_t base = control & 4 ? 0xffffff00 : control << 20;
  uint64_t now = 0;
  while (!choices.empty()) {
    const uint32_t what = choices.Byte();
    TcpStream& stream = streams[what & 1];
    test::Witness& witness = witnesses[what & 1];
    switch (what >> 1 & 7) {
      case 0:
        now += choices.Byte();
        assembler.GiveUpLate(stream, now, witness);
        break;
      case 1:
        if ((what & 0xf0) == 0x10) base = choices.Word16() << 16 | choices.Word16();
        if ((what & 0xf0) == 0x20) assembler.Forget(stream), witness.anywhere = true;
        break;
      default: {
        // A sequence number relative to the stream's position or to its base: up to 64 KiB after
        // it, within 32 KiB around it, less than 256 bytes after it, or about 16 MiB away.
        const uint32_t near = what & 0x40 ? stream.next : base;
        const uint32_t offset = choices.Word16() - (what & 0x20 ? 0x8000 : 0);
        const uint32_t sequence = near + (what & 0x10 ? offset >> 8 : offset);
        const uint32_t flags = choices.Byte() & 0x17;
        const uint32_t bytes = choices.Word16() >> (what & 0x80 ? 3 : 8);
        const uint32_t syn = (flags & engine::logmon::TcpSegment::kSyn) != 0;
        const std::string text = test::BytesOf(sequence + syn, bytes);
        assembler.Process(stream, {sequence, static_cast<uint8_t>(flags), text}, now, witness);
        break;
      }
    }
    FUZZ_CHECK(witness.Holds());
    FUZZ_CHECK(assembler.waiting_streams() ==
               uint32_t{streams[0].IsWaiting()} + streams[1].IsWaiting());
    FUZZ_CHECK(assembler.pool().used_blocks() <=
               2 * (window / engine::logmon::WaitingBytes::kBlockBytes + 2));
  }
  for (TcpStream& stream : streams) assembler.Forget(stream);
  FUZZ_CHECK(assembler.pool().used_blocks() == 0 && assembler.waiting_streams() == 0);
}

}  // namespace sluice::fuzz
