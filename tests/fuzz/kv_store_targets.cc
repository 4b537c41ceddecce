// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"
#include "kv/soak.h"
#include "targets.h"

namespace sluice::fuzz {

void KvStore(const uint8_t* data, size_t size) {
  using engine::kv::Mode;
  if (size == 0) return;
  const uint8_t control = data[0];
  engine::kv::SoakPlan plan;
  plan.mode = control & 1 ? Mode::kCache : Mode::kStore;
  plan.memory_bytes = control & 2 ? 1 << 16 : 1 << 20;
  plan.expected_items = 64;
  plan.keys = control & 4 ? 500 : 30;
  // All keys share one chain and one tag.
  if (control & 8) plan.hash_mask = 0;
  plan.long_one_in = 4;
  plan.long_value_bytes = control & 16 ? 700'000 : 3000;
  size_t at = 1;
  // Two bytes make one choice. All choices after the end of the input are 0.
  engine::kv::Soak soak(plan, [&]() -> uint64_t {
    if (size - at < 2) return 0;
    const uint64_t chosen = data[at] | uint64_t{data[at + 1]} << 8;
    at += 2;
    return chosen;
  });
  // An operation makes at least three choices.
  const auto wrong = soak.Run(size / 6);
  if (wrong) std::fprintf(stderr, "%s\n", wrong->c_str());
  FUZZ_CHECK(!wrong);
}

}  // namespace sluice::fuzz
