// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that --log-level=NAME:LEVEL finds log types by name.
#include "runtime/log.h"

#include <gtest/gtest.h>

#include <utility>

namespace sluice::runtime {
namespace {

TEST(LogTypes, HaveTheirNamesAndLevelsOfTheirOwn) {
  for (const auto& [name, type] :
       {std::pair{"sluice.runtime", log_runtime}, std::pair{"sluice.capture", log_capture}}) {
    const auto level = [type = type] { return static_cast<uint32_t>(rte_log_get_level(type)); };
    EXPECT_EQ(level(), RTE_LOG_NOTICE) << name;
    ASSERT_EQ(rte_log_set_level_pattern(name, RTE_LOG_DEBUG), 0);
    EXPECT_EQ(level(), RTE_LOG_DEBUG) << name;
    ASSERT_EQ(rte_log_set_level_pattern(name, RTE_LOG_NOTICE), 0);
  }
}

}  // namespace
}  // namespace sluice::runtime
