// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a user's stage (apps/chain/examples), loaded from the shared object that a graph names.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "all.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

const StageKind* Load() {
  void* const object = dlopen(REDACT_OBJECT, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(object, nullptr) << dlerror();
  return object == nullptr ? nullptr : static_cast<const StageKind*>(dlsym(object, kStageSymbol));
}

TEST(OwnStage, BlotsOutLongNumbers) {
  const StageKind* const kind = Load();
  ASSERT_NE(kind, nullptr);
  EXPECT_STREQ(kind->name, "redact");
  Stage stage(*kind, "4");
  ASSERT_TRUE(stage.made()) << stage.error();
  for (const auto& [text, redacted, runs] :
       {std::tuple("", "", 0u), std::tuple("123", "123", 0u), std::tuple("1234", "####", 1u),
        std::tuple("a1234b 12 99999", "a####b 12 #####", 2u)}) {
    const Ended ended = stage.Run({.input = FromText(text)});
    EXPECT_EQ(ended.how, "done");
    EXPECT_EQ(ended.result, FromText(redacted));
    EXPECT_EQ(ended.key[0], runs);
  }
  EXPECT_EQ(stage.Run({.input = FromText("12"), .room = 1}).how, "too_long");
  for (const char* options : {"", "0", "-1", "7x"})
    EXPECT_EQ(Stage(*kind, options).error(),
              "give the minimum number of digits of a redacted number, such as 7")
        << options;
}

TEST(BuiltIn, KindsHaveNamesOfTheirOwnAndSayWhatTheyDo) {
  std::vector<std::string> names;
  for (const StageKind* kind : BuiltInStages()) {
    EXPECT_NE(kind->make, nullptr);
    EXPECT_GT(std::string(kind->what).size(), 20u);
    names.emplace_back(kind->name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"copy", "aes_gcm", "deflate", "classify", "regex"}));
}

}  // namespace
}  // namespace sluice::chain_app
