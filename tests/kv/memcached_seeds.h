// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzzing seeds: datagrams of memcached's protocols. A byte before each datagram sets the maximum
// reply length.
#pragma once

#include <string>
#include <vector>

#include "packet/fixtures.h"

namespace sluice::test {

inline Bytes AfterBound(const std::string& datagram) {
  Bytes seed{0xff};
  seed.insert(seed.end(), datagram.begin(), datagram.end());
  return seed;
}

inline std::vector<Bytes> MemcachedAsciiSeeds() {
  std::vector<Bytes> seeds;
  for (const char* const text :
       {"set a 1 0 2\r\n12\r\nget a b c\r\ngets a\r\ngats 5 a b\r\n",
        "add a 0 0 1\r\n9\r\nappend a 0 0 1\r\n9\r\nincr a 5\r\ndecr a 200\r\ntouch a 0\r\n",
        "cas a 0 0 1 5 noreply\r\nx\r\ndelete a 0 noreply\r\nverbosity 1\r\nstats\r\n",
        "ms YQ== 3 b k c MA C5 F1 T9\r\nabc\r\nmg YQ== b v f t s k c Oq T5\r\nmd a k Oq C5\r\n",
        "ma a N5 J5 D5 MD v t c k\r\nmn\r\nflush_all\r\nversion\r\nquit\r\n"}) {
    seeds.push_back(AfterBound(text));
  }
  return seeds;
}

inline std::vector<Bytes> MemcachedBinarySeeds() {
  const auto header = [&](char opcode, char key, char extras, char body) {
    return std::string{'\x80', opcode, 0, key, extras, 0, 0, 0, 0, 0, 0, body} +
           std::string(12, '\0');
  };
  const std::string set = header(1, 1, 8, 10) + std::string(8, '\0') + "a5";
  const std::string increment = header(5, 1, 20, 21) + std::string(20, '\1') + "a";
  return {AfterBound(set + header(0, 1, 0, 1) + "a" + header(12, 1, 0, 1) + "b"),
          AfterBound(set + increment + header(29, 1, 4, 5) + std::string(4, '\1') + "a"),
          AfterBound(header(14, 1, 0, 3) + "abc" + header(4, 1, 0, 1) + "a" + header(16, 0, 0, 0) +
                     header(8, 0, 0, 0) + header(7, 0, 0, 0))};
}

/// Byte streams; a second byte before each sets the division into pieces.
inline std::vector<Bytes> MemcachedStreamSeeds() {
  std::vector<Bytes> seeds;
  for (const auto& of_protocol : {MemcachedAsciiSeeds(), MemcachedBinarySeeds()}) {
    for (const Bytes& seed : of_protocol) {
      seeds.push_back(seed);
      seeds.back().insert(seeds.back().begin(), 0x50);
    }
  }
  return seeds;
}

}  // namespace sluice::test
