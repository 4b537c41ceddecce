// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/executor.h"

#include <gtest/gtest.h>

#include <string>

#include "emulator/grid/enso_program.h"

namespace sluice::emulator {
namespace {

TEST(GpuExecutor, SaysWhyThereIsNone) {
  GridProgram program = kEnsoProgram;
  program.ptx = "";
  std::string error;
  EXPECT_EQ(MakeGpuExecutor(0, program, {}, &error), nullptr);
  EXPECT_EQ(
      error,
      "on=gpu: this build has no code for GPUs, since it was made without clang: omit on=gpu");
}

TEST(ThreadExecutor, GivesMemoryOfZeroes) {
  const auto executor = MakeThreadExecutor(1, kEnsoProgram);
  std::string error;
  const auto* const memory = static_cast<uint8_t*>(executor->Allocate(100'000, &error));
  ASSERT_NE(memory, nullptr) << error;
  for (size_t i = 0; i < 100'000; ++i) ASSERT_EQ(memory[i], 0);
  EXPECT_EQ(executor->Allocate(size_t{1} << 60, &error), nullptr);
  EXPECT_NE(error.find("not enough memory"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::emulator
