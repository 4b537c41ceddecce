// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/source/tcp_stream.h"

#include <algorithm>
#include <cstddef>

namespace sluice::engine::logmon {

void TcpStream::Start(uint32_t at, bool with_syn) {
  state = State::kOpen;
  doubted = Doubt::kNone;
  from_syn = with_syn;
  has_edge = false;
  next = first = at;
}

void TcpStream::DoubtAt(uint32_t sequence, Doubt kind) {
  doubt = sequence;
  doubted = kind;
}

bool TcpStream::Confirms(uint32_t sequence, uint32_t window) const {
  const int32_t ahead = SequenceDistance(sequence, doubt);
  return doubted != Doubt::kNone && ahead >= 0 && ahead <= static_cast<int32_t>(window);
}

void TcpStream::EndAt(uint32_t sequence, State how) {
  end = sequence;
  state = how;
}

std::string_view TcpStream::BeforeEnd(uint32_t sequence, std::string_view bytes) const {
  if (!EndIsKnown()) return bytes;
  const int32_t left = std::max(SequenceDistance(end, sequence), 0);
  return bytes.substr(0, static_cast<size_t>(left));
}

}  // namespace sluice::engine::logmon
