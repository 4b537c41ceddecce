// SPDX-License-Identifier: BSD-3-Clause
//
// The headers that most tests include, compiled once for all of them. Tests must still include the
// headers that they use: only GCC uses this file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>
#ifdef __x86_64__
#include <immintrin.h>
#endif
