// SPDX-License-Identifier: BSD-3-Clause
//
// The channels over which typed tests run.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "world.h"

namespace sluice::simulation::tiering {

template <typename C>
class Tiering : public testing::Test {};
struct Names {
  template <typename C>
  static std::string GetName(int) {
    return std::is_same_v<C, test::Wave> ? "Wave" : "Swap";
  }
};
using Channels = testing::Types<test::Wave, test::Swap>;
TYPED_TEST_SUITE(Tiering, Channels, Names);

}  // namespace sluice::simulation::tiering
