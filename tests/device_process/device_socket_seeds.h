// SPDX-License-Identifier: BSD-3-Clause
//
// Seeds for the device socket fuzzer. Each seed is a sequence of actions (Deed in
// hostile_messages.h); each action has the bytes kind, file, bus, area, bytes, offset, lies and
// after.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::test {

/// Every seed starts with a greeting that the device accepts.
inline const std::vector<std::vector<uint8_t>> kDeviceSocketSeeds = {
    // Maps memory and a second piece of it, unmaps both, and requests statistics.
    {1, 10, 0, 0, 0, 0,  0, 0, 2, 0, 1, 1, 1, 0,  64, 0, 2, 1, 17, 1,
     1, 2,  0, 0, 3, 15, 1, 1, 2, 0, 0, 0, 7, 15, 0,  0, 0, 0, 0,  0},
    // Adds a ring with a name and one without, and removes both; changes the wire.
    {1, 10, 0, 0, 0, 0,  0, 0, 4, 0, 2, 1, 2, 0,  0, 0, 4, 1, 3, 0, 2, 0,  0, 0, 5, 15, 2, 1,
     0, 0,  0, 0, 5, 15, 3, 0, 0, 0, 0, 0, 8, 15, 0, 0, 0, 2, 0, 0, 9, 15, 0, 0, 0, 0,  0, 0},
    // Announces memory twice, and truncates its file while the device uses it.
    {1, 10, 0, 0, 0,  0, 0, 0, 2, 2, 1, 1, 1,  0,  128, 0, 2, 4, 1, 1,
     9, 0,  0, 0, 15, 2, 0, 0, 0, 0, 0, 1, 15, 15, 7,   0, 0, 0, 0, 9},
    // Adds a ring with a hole, stores random data in the queue, and adds a ring with a name but
    // does not remove it.
    {1, 10, 0,   0,   0, 0,  0, 0, 4, 0, 2, 1, 3, 0, 0, 2, 15, 10, 1, 0,
     0, 0,  255, 255, 6, 15, 0, 1, 0, 0, 0, 0, 4, 4, 2, 0, 9,  0,  0, 0},
};

}  // namespace sluice::test
