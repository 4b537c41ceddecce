// SPDX-License-Identifier: BSD-3-Clause
//
// Tests configurations with too many filters or errors. They must be rejected before anything is
// compiled, with a short message.
#include "engine/logmon/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "timing/at_once.h"

namespace sluice::engine::logmon {
namespace {

struct Refusal {
  std::vector<std::string> errors;
  bool at_once = false;
};

Refusal Refuse(const std::string& text, const std::string& folder = "") {
  Refusal refusal;
  const std::clock_t start = std::clock();
  EXPECT_FALSE(ParseConfig(text, folder, &refusal.errors));
  refusal.at_once = std::clock() - start < kAtOnce;
  return refusal;
}

/// Returns `count` copies of `filter`, in which each # is replaced by the number of the copy.
std::string Filters(size_t count, std::string_view filter) {
  const size_t at = filter.find('#');
  std::string text = R"({"filters": [)";
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) text += ',';
    text.append(filter.substr(0, at));
    if (at == filter.npos) continue;
    text.append(std::to_string(i)).append(filter.substr(at + 1));
  }
  return text + "]}";
}

TEST(Config, AMillionFiltersAreRefusedAtOnce) {
  const Refusal refusal = Refuse(Filters(1'000'000, R"({"pattern": "word#"})"));
  ASSERT_EQ(refusal.errors.size(), 1u);
  EXPECT_EQ(refusal.errors[0], "the file has more than 4194304 bytes");
  EXPECT_TRUE(refusal.at_once);
}

TEST(Config, AsManyFiltersAsFitIntoAFileAreRefusedAtOnce) {
  const Refusal refusal = Refuse(Filters(150'000, R"({"pattern": "word#"})"));
  ASSERT_EQ(refusal.errors.size(), 1u);
  EXPECT_EQ(refusal.errors[0], "filters: 150000 elements: give at most 256");
  EXPECT_TRUE(refusal.at_once);
}

TEST(Config, ManyErrorsAreToldInPart) {
  // The configurations have 256 filters, or 200000 unknown members.
  std::string members;
  for (int i = 0; i < 200'000; ++i) members += ",\"m" + std::to_string(i) + "\":1";
  for (const std::string& text :
       {Filters(256, R"({"pattern": "{", "x#": 1})"), R"({"filters": [])" + members + "}"}) {
    const Refusal refusal = Refuse(text);
    ASSERT_EQ(refusal.errors.size(), 101u);
    EXPECT_EQ(refusal.errors.back(), "and more");
    EXPECT_TRUE(refusal.at_once);
  }
}

TEST(Config, ExpressionsOfFilesCountBeforeTheyAreCompiled) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("logmon_config_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream many(folder / "many");
  for (int i = 0; i < 100'000; ++i) many << "word" << i % 1000 << '\n';
  many.close();
  std::ofstream right(folder / "right");
  for (int i = 0; i < 255; ++i) right << "word" << i << '\n';
  right.close();
  const Refusal refusal =
      Refuse(R"({"filters": [{"pattern": "a"}, {"regex_file": "many"}]})", folder);
  std::vector<std::string> errors;
  const auto config =
      ParseConfig(R"({"filters": [{"pattern": "a"}, {"regex_file": "right"}]})", folder, &errors);
  const Refusal device = Refuse(R"({"filters": [{"regex_file": "/dev/zero"}]})", folder);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(refusal.errors.size(), 1u);
  EXPECT_EQ(refusal.errors[0],
            "filters[1].regex_file: 100001 filters in total with the expressions of this file: "
            "give at most 256");
  EXPECT_TRUE(refusal.at_once);
  ASSERT_TRUE(config) << errors.front();
  EXPECT_EQ(config->filters.size(), 256u);
  ASSERT_EQ(device.errors.size(), 1u);
  EXPECT_EQ(device.errors[0], "filters[0].regex_file: /dev/zero: not a regular file");
}

}  // namespace
}  // namespace sluice::engine::logmon
