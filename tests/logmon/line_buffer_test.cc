// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/line_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::engine::logmon {
namespace {

TEST(LineBuffers, HoldTheLastLinesOfEachSpeaker) {
  LineBuffers buffers(2);
  EXPECT_EQ(buffers.Add(1, "a"), "a\n");
  EXPECT_EQ(buffers.Add(2, "x\n"), "x\n");
  EXPECT_EQ(buffers.Add(1, "b"), "a\nb\n");
  EXPECT_EQ(buffers.Add(1, "c\n"), "b\nc\n");
  EXPECT_EQ(buffers.Add(2, "y"), "x\ny\n");
}

// fail2ban's findFailure appends every line to its buffer, including empty ones.
TEST(LineBuffers, KeepEmptyLines) {
  LineBuffers buffers(3);
  EXPECT_EQ(buffers.Add(1, ""), "\n");
  EXPECT_EQ(buffers.Add(1, "a"), "\na\n");
  EXPECT_EQ(buffers.Add(1, ""), "\na\n\n");
  EXPECT_EQ(buffers.Add(1, "\n"), "a\n\n\n");
  EXPECT_EQ(buffers.Add(1, "b\n"), "\n\nb\n");
}

// fail2ban's Regex.search searches backwards for the beginning of the first line. It starts at the
// match's first byte, which is included.
TEST(LineBuffers, KeepALineOfWhichAMatchHasTheEndAlone) {
  LineBuffers buffers(4);
  buffers.Add(1, "");
  buffers.Add(1, "two");
  buffers.Forget(0, 4, "");  // "\ntwo"
  EXPECT_EQ(buffers.Add(1, "three"), "\nthree\n");
  buffers.Forget(0, 1, "");
  EXPECT_EQ(buffers.Add(1, "four"), "\nthree\nfour\n");
  buffers.Forget(6, 10, "");  // "\nfour"
  EXPECT_EQ(buffers.Add(1, "five"), "\nthree\nfive\n");
}

TEST(LineBuffers, OfALineKeepWhatHasRoom) {
  LineBuffers buffers(1);
  const std::string longest(LineBuffers::kMaxLineBytes, 'a');
  EXPECT_EQ(buffers.Add(1, longest), longest + "\n");
  EXPECT_EQ(buffers.Add(1, longest + "b"), longest + "\n");
}

TEST(LineBuffers, ForgetTheLinesThatAMatchIsIn) {
  LineBuffers buffers(4);
  buffers.Add(1, "one");
  buffers.Add(1, "two");
  buffers.Add(1, "three");
  buffers.Forget(5, 7, "");  // These bytes are "wo" of the second line.
  EXPECT_EQ(buffers.Add(1, "four"), "one\nthree\nfour\n");
  buffers.Forget(0, 9, "one\n");  // Forgets "one\nthree", of which "one\n" is kept.
  EXPECT_EQ(buffers.Add(1, "five"), "one\nfour\nfive\n");
}

}  // namespace
}  // namespace sluice::engine::logmon
