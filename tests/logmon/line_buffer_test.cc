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
  buffers.Forget(5, 7, "");  // "wo", of the second.
  EXPECT_EQ(buffers.Add(1, "four"), "one\nthree\nfour\n");
  buffers.Forget(0, 9, "one\n");  // Of the first and the second all but the first.
  EXPECT_EQ(buffers.Add(1, "five"), "one\nfour\nfive\n");
}

}  // namespace
}  // namespace sluice::engine::logmon
