// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"
#include "kv/memcached_lab.h"
#include "kv/stream_lab.h"
#include "packet/bytes.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::kv::MemcachedLab;
using engine::kv::Progress;
using engine::kv::StreamLab;
using engine::kv::StreamLabConnection;

// Returns the store, which all inputs share. It may contain keys from earlier inputs.
MemcachedLab& Lab() {
  static MemcachedLab lab({.workers = 3, .concurrent_read = false, .allow_flush = true});
  return lab;
}

// Returns the reply to a datagram. Each request in it may move the datagram to another worker.
std::string Ask(const uint8_t* data, size_t size) {
  MemcachedLab& lab = Lab();
  lab.max_reply_bytes = data[0] * 16u;
  const std::string reply = lab.Ask({reinterpret_cast<const char*>(data + 1), size - 1});
  FUZZ_CHECK(reply.size() <= lab.max_reply_bytes);
  FUZZ_CHECK(lab.progress == Progress::kDone || lab.progress == Progress::kEnd ||
             (lab.progress == Progress::kRefused && reply.empty()));
  FUZZ_CHECK(static_cast<size_t>(lab.hops) <= 3 * size);
  lab.max_reply_bytes = 4096;
  return reply;
}

}  // namespace

void KvMemcachedAscii(const uint8_t* data, size_t size) {
  if (size < 2 || data[1] == 0x80) return;
  const std::string reply = Ask(data, size);
  FUZZ_CHECK(reply.empty() || reply.ends_with("\r\n"));
  FUZZ_CHECK(Lab().Ask("set mark 0 0 1\r\nx\r\nget mark\r\n") ==
             "STORED\r\nVALUE mark 0 1\r\nx\r\nEND\r\n");
}

void KvMemcachedBinary(const uint8_t* data, size_t size) {
  if (size < 2 || data[1] != 0x80) return;
  const std::string reply = Ask(data, size);
  const uint8_t* at = reinterpret_cast<const uint8_t*>(reply.data());
  for (size_t left = reply.size(); left > 0;) {
    FUZZ_CHECK(left >= 24 && at[0] == 0x81);
    const size_t body = packet::LoadBe32(at + 8);
    FUZZ_CHECK(body <= left - 24);
    FUZZ_CHECK(size_t{packet::LoadBe16(at + 2)} + at[4] <= body);
    at += 24 + body;
    left -= 24 + body;
  }
  FUZZ_CHECK(Lab().Ask("set mark 0 0 1\r\nx\r\nget mark\r\n") ==
             "STORED\r\nVALUE mark 0 1\r\nx\r\nEND\r\n");
}

void KvMemcachedStream(const uint8_t* data, size_t size) {
  if (size < 3) return;
  const uint32_t room = data[0] * 8u;
  const size_t piece = data[1] % 64 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  // Both stores receive the same requests, so they stay equal.
  static StreamLab whole_lab, lab;
  StreamLabConnection whole(whole_lab), connection(lab, room);
  const std::string expected = whole.Send(bytes);
  std::string answer;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    answer += connection.Send(bytes.substr(at, piece));
  }
  FUZZ_CHECK(answer == expected);
  FUZZ_CHECK(connection.closed() == whole.closed());
  FUZZ_CHECK(connection.closed() || connection.state().skip == whole.state().skip);
}

}  // namespace sluice::fuzz
