// SPDX-License-Identifier: BSD-3-Clause
#include "line_filter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "stage.h"

namespace sluice::chain_app {
namespace {

/// A file of patterns; the destructor removes it.
class Patterns {
 public:
  explicit Patterns(const std::string& text)
      : path_(testing::TempDir() + "patterns-" + std::to_string(getpid())) {
    std::ofstream(path_) << text;
  }
  ~Patterns() { std::remove(path_.c_str()); }
  std::string option() const { return "file=" + path_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Regex : public testing::Test {
 protected:
  Ended Run(uint32_t command, const std::string& text, size_t room = Stage::kMaxMessage) {
    return stage_.Run({.input = FromText(text), .command = command, .room = room});
  }
  Patterns patterns_{"# Comments and empty lines are none.\n\nerror\n%^[a-f]+$%\n"};
  Stage stage_{kRegexStage, patterns_.option()};
};

struct Case {
  const char *text, *selected;
  uint32_t lines, filters;
};
// Expected results, determined by hand. "error" is a term, which matches anywhere in a line.
constexpr Case kCases[] = {
    {"", "", 0, 0},
    {"\n", "", 0, 0},
    {"error", "error\n", 1, 1},
    {"all is well\n", "", 0, 0},
    {"one error\nno fault\nbeef\n", "one error\nbeef\n", 2, 3},
    {"beef\r\nerror\rcafe", "beef\nerror\ncafe\n", 3, 3},
    {"beef1\ncab\n", "cab\n", 1, 2},
};

TEST_F(Regex, KeepsTheLinesThatMatchOrMarksTheMessage) {
  ASSERT_TRUE(stage_.made()) << stage_.error();
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.text);
    const Ended selected = Run(kRegexSelect, one.text);
    EXPECT_EQ(selected.how, "done");
    EXPECT_EQ(selected.result, FromText(one.selected));
    const Ended marked = Run(kRegexMark, one.text);
    EXPECT_EQ(marked.how, "done");
    EXPECT_EQ(marked.result, FromText(one.text));
    for (const Ended& ended : {selected, marked}) {
      EXPECT_EQ(ended.key[0], one.lines);
      EXPECT_EQ(ended.key[1], one.filters);
    }
  }
}

TEST_F(Regex, KeepsMessagesOfABatchApart) {
  ASSERT_TRUE(stage_.made()) << stage_.error();
  // Together, the messages are longer than the text of one scan. The end of a message also ends its
  // last line, even without a line end.
  std::vector<Stage::Message> batch;
  for (uint32_t i = 0; i < kMaxBatch; ++i) {
    const std::string filler(i % 3 * 1000, '-');
    batch.push_back({.input = FromText(i % 2 == 0 ? filler + "\nerr" : "or\nerror " + filler),
                     .command = i % 5 == 4 ? 9 : kRegexSelect});
  }
  const auto ended = stage_.Run(batch);
  for (uint32_t i = 0; i < kMaxBatch; ++i) {
    if (i % 5 == 4) {
      EXPECT_EQ(ended[i].how, "bad_command");
      continue;
    }
    EXPECT_EQ(ended[i].how, "done");
    EXPECT_EQ(ended[i].key[0], i % 2) << i;
    EXPECT_EQ(ended[i].result,
              i % 2 == 0 ? Bytes() : FromText("error " + std::string(i % 3 * 1000, '-') + "\n"));
  }
}

TEST_F(Regex, RefusesWhatItHasNoRoomFor) {
  ASSERT_TRUE(stage_.made()) << stage_.error();
  EXPECT_EQ(Run(kRegexSelect, "error", 6).result, FromText("error\n"));
  EXPECT_EQ(Run(kRegexSelect, "error", 5).how, "too_long");
  EXPECT_EQ(Run(kRegexSelect, "error", 0).how, "too_long");
  EXPECT_EQ(Run(kRegexSelect, "beef\nerror\nbeef", 7).how, "too_long");
  EXPECT_EQ(Run(kRegexSelect, "nothing", 0).how, "done");
  EXPECT_EQ(Run(kRegexMark, "error", 5).how, "done");
  EXPECT_EQ(Run(kRegexMark, "error", 4).how, "too_long");
  for (const uint32_t command : {0u, 3u, ~0u}) EXPECT_EQ(Run(command, "error").how, "bad_command");
}

TEST_F(Regex, AnyBytesAreText) {
  ASSERT_TRUE(stage_.made()) << stage_.error();
  for (int byte = 0; byte < 256; ++byte) {
    std::string text(300, static_cast<char>(byte));
    text += "\nerror\n";
    EXPECT_EQ(Run(kRegexMark, text).result, FromText(text)) << byte;
    EXPECT_EQ(Run(kRegexMark, text).key[1] & 1, 1u) << byte;
  }
}

TEST(RegexOptions, SaysWhatIsWrong) {
  EXPECT_TRUE(
      Stage(kRegexStage, "").error().starts_with("file: give a file with 1 to 256 patterns"));
  EXPECT_TRUE(Stage(kRegexStage, "file=/none").error().ends_with("one per line: /none"));
  EXPECT_EQ(Stage(kRegexStage, "pattern=x").error(), "unknown option pattern: give file");
  const Patterns wrong("error\n%(%\n");
  const std::string error = Stage(kRegexStage, wrong.option()).error();
  EXPECT_TRUE(error.starts_with(wrong.path() + ":2: ")) << error;
}

}  // namespace
}  // namespace sluice::chain_app
