// SPDX-License-Identifier: BSD-3-Clause
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "check.h"
#include "engine/telemetry/analyst.h"
#include "engine/telemetry/export/epoch_file.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {

using namespace engine::telemetry;

void TelemetryEpoch(const uint8_t* data, size_t size) {
  constexpr size_t kHeaderBytes = 32;
  if (size == 0) return;
  test::Bytes bytes(data + 1, data + size);
  if (data[0] % 2 == 1 && bytes.size() >= kHeaderBytes) {
    const uint64_t body = bytes.size() - kHeaderBytes;
    const uint64_t checksum = XXH3_64bits(bytes.data() + kHeaderBytes, body);
    std::memcpy(bytes.data() + 16, &body, sizeof body);
    std::memcpy(bytes.data() + 24, &checksum, sizeof checksum);
  }
  const test::ExactBuffer exact(bytes);
  const std::string_view file(reinterpret_cast<const char*>(exact.data()), exact.size());
  std::string error;
  const std::unique_ptr<Epoch> epoch = DecodeEpoch(file, &error);
  FUZZ_CHECK((epoch != nullptr) == error.empty());
  if (epoch == nullptr) return;
  // An epoch has exactly one encoding.
  FUZZ_CHECK(EncodeEpoch(*epoch, {epoch->start_cycles, epoch->end_cycles}) == file);
  FUZZ_CHECK(epoch->Merge(*DecodeEpoch(file, &error)));
  Analyst analyst(epoch->setup, 1'000'000'000);
  const Epoch* const merged = epoch.get();
  FUZZ_CHECK(analyst.Report({&merged, 1}).has_value());
}

}  // namespace sluice::fuzz
