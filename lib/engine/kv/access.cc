// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/access.h"

#include <algorithm>

namespace sluice::engine::kv {

std::optional<ItemView> Access::Read(Bytes key, const Home& home, uint32_t now_s) {
  ItemCopy copy;
  for (;;) {
    const Result result = home.partition->Read(key, home.index, now_s, copy_, &copy);
    if (result == Result::kOk) {
      return ItemView{Bytes(copy_).first(copy.value_bytes), copy.attributes, copy.unique};
    }
    // The value may be longer than the buffer. The buffer then grows and the read is repeated; this
    // is rare, because the buffer never shrinks.
    if (result != Result::kTooLarge) return std::nullopt;
    copy_.resize(std::max<size_t>(copy.value_bytes, 2 * copy_.size()));
  }
}

}  // namespace sluice::engine::kv
