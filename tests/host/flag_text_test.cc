// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that numbers are printed as they were written.
#include "host/flag_text.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

DEFINE_double(test_share, 0.1, "A share");
DEFINE_string(test_text, "", "A text");

namespace sluice::host {
namespace {

TEST(FlagText, OfDoublesHasTheirDigitsAlone) {
  // The first text is in gflags' format ("%.17g"); the second text is the original.
  for (const auto& [kept, written] : {std::pair{"0.10000000000000001", "0.1"},
                                      {"0.00050000000000000001", "0.0005"},
                                      {"0.94999999999999996", "0.95"},
                                      {"1000000", "1000000"},
                                      {"0", "0"},
                                      {"-1", "-1"},
                                      {"1.0000000000000001e-05", "0.00001"},
                                      {"1e+300", "1e+300"},
                                      {"nan", "nan"},
                                      {"inf", "inf"},
                                      {"1e-300", "1e-300"}}) {
    EXPECT_EQ(FlagText("double", kept), written);
  }
}

TEST(FlagText, OfOtherTypesIsLeftAlone) {
  EXPECT_EQ(FlagText("string", "0.10000000000000001"), "0.10000000000000001");
  EXPECT_EQ(FlagText("uint64", "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(FlagText("double", ""), "");
}

TEST(FlagText, OfAComplaintNamesFlagValueAndFix) {
  FLAGS_test_share = 1.1;
  EXPECT_EQ(FlagComplaint("test_share", "give 0 to 1"), "--test_share=1.1: give 0 to 1");
  FLAGS_test_share = 0.1;
}

TEST(FlagText, OfAComplaintIsOneLineWhateverWasGiven) {
  FLAGS_test_text = "a\nb\x1b[2J\x7f\xc3\xa4";
  EXPECT_EQ(FlagComplaint("test_text", "give\tone"), "--test_text=a?b?[2J?\xc3\xa4: give?one");
  FLAGS_test_text = "";
}

TEST(FlagText, OfHelpHasALineForEachFlagOfOurs) {
  const std::string help = FlagHelp();
  EXPECT_NE(help.find("  --test_share         A share (0.1)\n"), std::string::npos) << help;
  EXPECT_EQ(help.find("--tab_completion_word"), std::string::npos) << help;  // A flag of gflags.
}

TEST(FlagText, OfWhatIsAskedInsteadOfARun) {
  const auto ask = [](std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return Information(arguments, "sluice-x: does x", "1.2");
  };
  const std::string help = "sluice-x: does x\n\nUsage: sluice-x [flags]\n" + FlagHelp();
  EXPECT_EQ(ask({"--test_share=1", "--help"}), help);
  EXPECT_EQ(ask({"-h", "--version"}), help);
  EXPECT_EQ(ask({"--version"}), "sluice-x 1.2\n");
  EXPECT_EQ(ask({}), "");
  EXPECT_EQ(ask({"--test_share=1", "--helpful"}), "");
}

}  // namespace
}  // namespace sluice::host
