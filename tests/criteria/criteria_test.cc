// SPDX-License-Identifier: BSD-3-Clause
//
// Runs all experiments and prints the tables in docs/swap.md: a verdict per criterion, and the
// trace of each cell.
#include "criteria.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace sluice::criteria {
namespace {

struct Expected {
  Subject (*run)();
  std::array<Verdict, 4> verdicts;
};
constexpr auto kFree = Verdict::kFree, kPartly = Verdict::kPartly, kFito = Verdict::kFito;
constexpr Expected kSubjects[] = {
    {&Packetized, {kFree, kFree, kFito, kFito}},
    {&Streaming, {kFree, kFree, kFito, kPartly}},
    {&Bilateral, {kPartly, kPartly, kFree, kPartly}},
    {&GroupOfParties, {kFree, kFree, kFree, kPartly}},
    {&Coherent, {kFito, kFito, kFree, kPartly}},
    {&WaveQueues, {kFito, kFito, kFito, kPartly}},
    {&SwapChannel, {kFito, kFito, kFito, kPartly}},
};

TEST(Criteria, EachCellHasItsVerdict) {
  std::vector<Subject> subjects;
  for (const Expected& expected : kSubjects) {
    subjects.push_back(expected.run());
    const Subject& subject = subjects.back();
    ASSERT_EQ(subject.cells.size(), expected.verdicts.size());
    for (size_t i = 0; i < subject.cells.size(); ++i) {
      EXPECT_EQ(static_cast<size_t>(subject.cells[i].criterion), i);
      EXPECT_EQ(subject.cells[i].verdict, expected.verdicts[i])
          << subject.name << ": " << subject.cells[i].trace;
    }
  }
  std::printf("| |");
  for (const char* name : kCriterionNames) std::printf(" %s |", name);
  std::printf("\n|---|---|---|---|---|\n");
  for (const Subject& subject : subjects) {
    std::printf("| %s |", subject.name);
    for (const Cell& cell : subject.cells) {
      std::printf(" %s |", kVerdictNames[static_cast<size_t>(cell.verdict)]);
    }
    std::printf("\n");
  }
  std::printf("\n| | criterion | trace |\n|---|---|---|\n");
  for (const Subject& subject : subjects) {
    for (const Cell& cell : subject.cells) {
      std::printf("| %s | %s | %s |\n", subject.name,
                  kCriterionNames[static_cast<size_t>(cell.criterion)], cell.trace.c_str());
    }
  }
}

}  // namespace
}  // namespace sluice::criteria
