// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "etcd/messages.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {

void EtcdMessages(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const test::ExactBuffer text({data + 1, size - 1});
  const std::string_view json(reinterpret_cast<const char*>(text.data()), text.size());
  const std::string prefix = "sluice/";
  std::string error;
  if (data[0] % 4 >= 2) {
    const auto lease =
        data[0] % 4 == 2 ? etcd::ReadGrant(json, &error) : etcd::ReadKeepAlive(json, &error);
    FUZZ_CHECK(lease.has_value() == error.empty());
    if (lease) FUZZ_CHECK(lease->id > 0 && lease->seconds >= (data[0] % 4 == 2));
  } else if (data[0] % 4 == 0) {
    const auto range = etcd::ReadRange(json, prefix, &error);
    FUZZ_CHECK(range.has_value() == error.empty());
    if (!range) return;
    FUZZ_CHECK(range->revision > 0 && range->revision < INT64_MAX);
    for (const auto& [key, value] : range->keys) FUZZ_CHECK(key.starts_with(prefix));
  } else {
    const auto watch = etcd::ReadWatch(json, prefix, &error);
    FUZZ_CHECK(watch.has_value() == error.empty());
    if (!watch) return;
    for (const etcd::WatchEvent& event : watch->events) {
      FUZZ_CHECK(event.key.starts_with(prefix));
    }
  }
}

}  // namespace sluice::fuzz
