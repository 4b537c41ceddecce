// SPDX-License-Identifier: BSD-3-Clause
//
// Beside libtirpc and the routines that rpcgen made of oracle.x: what they accept is accepted, and
// the structures are theirs byte for byte, as their routines read ours and ours read theirs.
#include "oracle.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "compiled.h"
#include "packet/fixtures.h"
#include "random_wire.h"
#include "rpc/marshal.h"
#include "rpc/unmarshal.h"
#include "rpc/x_compiler.h"

namespace sluice::rpc {
namespace {

using test::Bytes;

/// A type of both.
struct Subject {
  const char* name;
  bool (*code)(XDR* xdr, void* object);  ///< rpcgen's.
  uint32_t bytes, alignment;             ///< The C compiler's.
};
#define SUBJECT(type)                                                                             \
  Subject {                                                                                       \
#type,                                                                                        \
        [](XDR * xdr,                                                                             \
           void* object) { return xdr_##type(xdr, static_cast<type*>(object)) != 0; },            \
                                                                                    sizeof(type), \
                                                                                    alignof(type) \
  }
/// An array in C decays.
#define ARRAY_SUBJECT(type)                                                                        \
  Subject {                                                                                        \
#type,                                                                                         \
        [](XDR * xdr,                                                                              \
           void* object) { return xdr_##type(xdr, *static_cast<type*>(object)) != 0; },            \
                                                                                     sizeof(type), \
                                                                                     alignof(type) \
  }
const Subject kSubjects[] = {
    SUBJECT(color),        ARRAY_SUBJECT(digest), ARRAY_SUBJECT(odd_digest),
    SUBJECT(word),         SUBJECT(text),         ARRAY_SUBJECT(row),
    ARRAY_SUBJECT(square), SUBJECT(eight),        SUBJECT(mixed),
    SUBJECT(texts),        SUBJECT(node),         SUBJECT(tree_pointer),
    SUBJECT(tree),         SUBJECT(choice),       SUBJECT(maybe),
    SUBJECT(tagged),       SUBJECT(aligned),      SUBJECT(padded),
    SUBJECT(library),      SUBJECT(narrow),       SUBJECT(everything),
};
const Subject kAddArguments = SUBJECT(add_1_argument);

const CompiledX& Oracle() {
  static const CompiledX x = [] {
    std::ifstream file(ORACLE_X);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    return test::Compiled(text);
  }();
  return x;
}

/// A structure as libtirpc decoded it, freed at the end.
class Theirs {
 public:
  Theirs(const Subject& subject, Bytes wire) : subject_(subject), object_((subject.bytes + 7) / 8) {
    XDR xdr;
    xdrmem_create(&xdr, reinterpret_cast<char*>(wire.data()), static_cast<uint32_t>(wire.size()),
                  XDR_DECODE);
    accepted_ = subject.code(&xdr, object_.data());
    wire_bytes_ = xdr_getpos(&xdr);
  }
  ~Theirs() {
    XDR xdr{};
    xdr.x_op = XDR_FREE;
    subject_.code(&xdr, object_.data());
  }
  Theirs(const Theirs&) = delete;
  Theirs& operator=(const Theirs&) = delete;

  bool accepted() const { return accepted_; }
  uint32_t wire_bytes() const { return wire_bytes_; }
  void* object() { return object_.data(); }

 private:
  const Subject& subject_;
  std::vector<uint64_t> object_;
  bool accepted_;
  uint32_t wire_bytes_;
};

Bytes EncodedByThem(const Subject& subject, void* object) {
  static char room[1 << 16];
  XDR xdr;
  xdrmem_create(&xdr, room, sizeof room, XDR_ENCODE);
  EXPECT_TRUE(subject.code(&xdr, object));
  return Bytes(room, room + xdr_getpos(&xdr));
}
Bytes EncodedByUs(uint32_t type, const Source& source) {
  Bytes wire(1 << 16);
  const auto written =
      Marshal(Oracle().table, type, source, wire.data(), static_cast<uint32_t>(wire.size()));
  EXPECT_EQ(written.error, MarshalError::kNone);
  wire.resize(written.bytes);
  return wire;
}

/// Whether both accepted `wire`, after a look whether both found the same in it.
bool Compare(const Subject& subject, uint32_t type, const Bytes& wire) {
  const Table& table = Oracle().table;
  alignas(8) static uint8_t memory[1 << 16];
  const test::ExactBuffer exact(wire);
  const Room room = Room::Here(memory, sizeof memory);
  const auto ours = Unmarshal(table, type, exact.data(), exact.size(), room);
  Theirs theirs(subject, wire);
  EXPECT_EQ(ours.error == UnmarshalError::kNone, theirs.accepted());
  if (ours.error != UnmarshalError::kNone || !theirs.accepted()) return false;
  EXPECT_EQ(ours.wire_bytes, theirs.wire_bytes());
  // Four ways to the same bytes.
  const Bytes encoded = EncodedByThem(subject, theirs.object());
  EXPECT_EQ(EncodedByThem(subject, memory), encoded);
  EXPECT_EQ(EncodedByUs(type, Source::Own(theirs.object())), encoded);
  EXPECT_EQ(EncodedByUs(type, Source::Prepared(memory, ours.bytes, room.base)), encoded);
  return true;
}

/// A word changed, or the end cut off.
Bytes Bent(Bytes wire, std::mt19937_64& random) {
  if (wire.empty()) return wire;
  if (random() % 4 == 0) {
    wire.resize(random() % wire.size());
  } else {
    // No 2^32 - 1, which is no string to libtirpc (docs/rpc.md).
    const uint32_t words[] = {0, 1, 2, 3, 5, 16, 21, 100, 3000};
    packet::StoreBe32(&wire[random() % (wire.size() / 4) * 4], words[random() % std::size(words)]);
  }
  return wire;
}

void CompareMany(const Subject& subject, uint32_t type) {
  SCOPED_TRACE(subject.name);
  EXPECT_EQ(Oracle().table.types[type].bytes, subject.bytes);
  EXPECT_EQ(Oracle().table.types[type].alignment, subject.alignment);
  std::mt19937_64 random(18);
  test::RandomWire values(Oracle().table, random);
  int refused = 0;
  for (int round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
    const Bytes wire = values.Of(type);
    EXPECT_TRUE(Compare(subject, type, wire));
    for (int bend = 0; bend < 3; ++bend) refused += !Compare(subject, type, Bent(wire, random));
  }
  EXPECT_GT(refused, 500);  // Cut off, at least.
}

TEST(Oracle, FindsTheSame) {
  ASSERT_TRUE(Oracle().table.IsSound());
  for (const Subject& subject : kSubjects) {
    const auto found = Oracle().types.find(subject.name);
    ASSERT_NE(found, Oracle().types.end()) << subject.name;
    CompareMany(subject, found->second);
  }
  const Lookup add = Oracle().table.Find(ORACLE, ORACLE_ONE, ADD);
  CompareMany(kAddArguments, Oracle().table.procedures[add.procedure].arguments);
}

}  // namespace
}  // namespace sluice::rpc
