// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rpc/x_compiler.h"

namespace sluice::test {

/// Compiles a file that must not contain errors.
inline rpc::CompiledX Compiled(std::string_view text) {
  std::string error;
  auto compiled = rpc::CompileX(text, "t.x", &error);
  EXPECT_EQ(error, "");
  return compiled ? *compiled : rpc::CompiledX();
}

}  // namespace sluice::test
