// SPDX-License-Identifier: BSD-3-Clause
//
// What nearly every test includes, compiled once for all of them. Tests include what they use
// nevertheless: other compilers than GCC never see this file.
#include "gtest/gtest.h"  // IWYU pragma: export
