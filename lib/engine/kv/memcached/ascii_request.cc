// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/memcached/ascii_request.h"

#include <algorithm>

namespace sluice::engine::kv::memcached {

Step AsciiRequest::WriteLine(std::string_view text) {
  if (!muted) {
    reply.Add(text);
    reply.Add("\r\n");
  }
  return Step::kNext;
}

Step AsciiRequest::WriteError(std::string_view text) {
  ++counters.errors;
  return WriteLine(text);
}

Step AsciiRequest::WriteTooLong() {
  ++counters.cut_replies;
  reply.Cut(reply_before);
  return WriteLine(kCutReply);
}

Step AsciiRequest::Foreign(const KeyHash& hash) {
  exchange.owner = access.store().OwnerOf(hash.route);
  return Step::kForeign;
}

std::optional<Bytes> AsciiRequest::ReadData(size_t bytes, Step* step) {
  const Bytes rest = exchange.datagram.subspan(next);
  if (bytes + 2 > rest.size()) {
    next = exchange.datagram.size();
    *step = WriteError(kBadChunk);
    return std::nullopt;
  }
  next += bytes + 2;
  if (rest[bytes] == '\r' && rest[bytes + 1] == '\n') return rest.first(bytes);
  *step = WriteError(kBadChunk);
  return std::nullopt;
}

Step AsciiRequest::SkipData(size_t bytes) {
  next += std::min(bytes + 2, exchange.datagram.size() - next);
  return Step::kNext;
}

}  // namespace sluice::engine::kv::memcached
