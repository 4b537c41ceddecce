// SPDX-License-Identifier: BSD-3-Clause
//
// Tests hostile configurations: files that are invalid or endless, or have too many members. The
// error must be short and immediate.
#include "config/json_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>

namespace sluice::config {
namespace {

constexpr size_t kMax = 1000;

class ReadFileTest : public testing::Test {
 protected:
  ReadFileTest() { std::filesystem::create_directory(folder_); }
  ~ReadFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Make(size_t bytes) const {
    const std::string path = Path(std::to_string(bytes));
    std::ofstream(path) << std::string(bytes, 'x');
    return path;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("json_reader_" + std::to_string(getpid()));
};

TEST_F(ReadFileTest, ReadsRegularFilesUpToTheLimit) {
  for (const size_t bytes : {size_t{1}, kMax - 1, kMax}) {
    Errors errors;
    EXPECT_EQ(ReadFile(Make(bytes), &errors, kMax), std::string(bytes, 'x'));
    EXPECT_TRUE(errors.empty());
  }
}

TEST_F(ReadFileTest, RefusesEverythingElseInOneLine) {
  mkfifo(Path("pipe").c_str(), 0600);
  for (const auto& [path, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {Make(kMax + 1), "more than 1000 bytes"},
           {Make(0), "empty"},
           {Path("missing"), "No such file or directory"},
           {Path("."), "not a regular file"},
           {Path("pipe"), "not a regular file"},  // Has no writer.
           {"/dev/zero", "not a regular file"},
           {"/dev/null", "not a regular file"}}) {
    Errors errors;
    EXPECT_FALSE(ReadFile(path, &errors, kMax)) << path;
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0], path + ": " + why);
  }
}

TEST(Errors, AreFullAtALimitAndSaySo) {
  Errors errors;
  for (size_t i = 0; i < kMaxErrors; ++i) AddError(&errors, "line");
  EXPECT_FALSE(Full(errors));
  for (int i = 0; i < 3; ++i) AddError(&errors, "line");
  EXPECT_TRUE(Full(errors));
  ASSERT_EQ(errors.size(), kMaxErrors + 1);
  EXPECT_EQ(errors.back(), "and more");
}

TEST(ParseJson, RefusesWhatIsTooLongUnread) {
  Errors errors;
  EXPECT_FALSE(ParseJson(std::string(kMax + 1, '?'), &errors, kMax));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0], "the file has more than 1000 bytes");
}

TEST(ParseJson, SaysInOneLineWhatIsWrong) {
  for (const auto& [text, begin] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{\"a\": 1,}", "not JSON: "},
           {"{\"a\": 1} 2", "not JSON: "},
           {"{\"a\": 1, \"a\": 2}", "\"a\": duplicate member"},
           {std::string(100, '['), "the JSON is nested too deeply"}}) {
    Errors errors;
    EXPECT_FALSE(ParseJson(text, &errors, kMax)) << text;
    ASSERT_EQ(errors.size(), 1u) << text;
    EXPECT_TRUE(errors[0].starts_with(begin)) << errors[0];
    EXPECT_EQ(errors[0].find('\n'), std::string::npos) << errors[0];
  }
}

/// Returns [item,item,…] or {"0":item,…}.
nlohmann::json Many(size_t count, bool object) {
  nlohmann::json json = object ? nlohmann::json::object() : nlohmann::json::array();
  for (size_t i = 0; i < count; ++i) {
    if (object) {
      json["m" + std::to_string(i)] = 1;
    } else {
      json.push_back(1);
    }
  }
  return json;
}

TEST(ObjectReader, ComplainsAboutUnknownMembersUntilErrorsAreFull) {
  const nlohmann::json root = Many(200'000, /*object=*/true);
  Errors errors;
  ObjectReader(root, "", &errors).Finish();
  EXPECT_EQ(errors.size(), kMaxErrors + 1);
}

TEST(ObjectReader, AnArrayIsCountedBeforeItIsRead) {
  const nlohmann::json root = {{"a", Many(11, false)}};
  for (const size_t most : {10u, 11u}) {
    Errors errors;
    size_t read = 0;
    EXPECT_EQ(
        ObjectReader(root, "", &errors).Array("a", most, [&](const auto&, const auto&) { ++read; }),
        most == 11);
    EXPECT_EQ(read, most == 11 ? 11u : 0u);
    if (most == 10) {
      ASSERT_EQ(errors.size(), 1u);
      EXPECT_EQ(errors[0], "a: 11 elements: give at most 10");
    }
  }
}

TEST(ObjectReader, AnArrayIsReadUntilErrorsAreFull) {
  const nlohmann::json root = {{"a", Many(200'000, false)}};
  Errors errors;
  size_t read = 0;
  ObjectReader reader(root, "", &errors);
  reader.Array("a", 1'000'000, [&](const auto&, const std::string& path) {
    ++read;
    AddError(&errors, path + ": wrong");
  });
  EXPECT_EQ(read, kMaxErrors + 1);
  EXPECT_EQ(errors.front(), "a[0]: wrong");
}

}  // namespace
}  // namespace sluice::config
