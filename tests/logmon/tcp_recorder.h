// SPDX-License-Identifier: BSD-3-Clause
//
// A TCP stream in which each byte is a function of its sequence number, and a receiver that checks
// the bytes. The check does not depend on segment boundaries, losses or overlaps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/logmon/source/tcp_assembler.h"

namespace sluice::test {

/// Returns the byte with this sequence number.
inline char ByteOf(uint32_t sequence) { return static_cast<char>((sequence * 0x9e3779b1u) >> 24); }
inline std::string BytesOf(uint32_t sequence, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = ByteOf(sequence++);
  return bytes;
}

/// Records the events of a stream: text as it is, and other events as words in braces.
struct Recorder {
  std::string record;

  void Text(std::string_view bytes) { record += bytes; }
  void Gap() { record += "{gap}"; }
  void End() { record += "{end}"; }
  void Restart() { record += "{restart}"; }
};

/// Checks the bytes of ByteOf streams, and checks that the text is contiguous unless a gap was
/// reported.
struct Witness {
  const engine::logmon::TcpStream& stream;
  uint64_t bytes = 0, gaps = 0, ends = 0, restarts = 0;
  uint64_t wrong_bytes = 0, unmarked_gaps = 0;
  bool anywhere = true;
  uint32_t at = 0;

  /// Checks delivered bytes. The caller has already advanced `next` over them.
  void Text(std::string_view text) {
    const uint32_t begin = stream.next - static_cast<uint32_t>(text.size());
    unmarked_gaps += !anywhere && begin != at;
    for (uint32_t i = 0; i < text.size(); ++i) wrong_bytes += text[i] != ByteOf(begin + i);
    bytes += text.size();
    anywhere = false;
    at = stream.next;
  }
  void Gap() { ++gaps, anywhere = true; }
  void End() { ++ends, anywhere = true; }
  void Restart() { ++restarts, anywhere = true; }
  bool Holds() const { return wrong_bytes == 0 && unmarked_gaps == 0; }
};

}  // namespace sluice::test
