// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the notifications of a pipe that two blocks share, with every interleaving of their
// instructions.
#include <gtest/gtest.h>

#include "interleave.h"
#include "pipe_bench.h"

namespace sluice::device::grid {
namespace {

class Interleaving : public PipeBench {
 protected:
  bool Stores() {
    StoreHead(tail_);
    return true;
  }
};

TEST_F(Interleaving, FramesThatArriveAsTheHeadIsStoredAreNotified) {
  const auto accepts = [&] {
    Accept();
    return true;
  };
  Explore([&] { HoldOneFrame(); }, [&] { return Stores(); }, accepts,
          [&] { ExpectOneNotification(); });
}

TEST_F(Interleaving, ADropDoesNotMuteAPipeThatIsEmptiedMeanwhile) {
  const auto drops = [&] {
    Drop();
    return true;
  };
  Explore([&] { Fill(); }, [&] { return Stores(); }, drops, [&] { ExpectArmed(); });
}

}  // namespace
}  // namespace sluice::device::grid
