// SPDX-License-Identifier: BSD-3-Clause
//
// Prints the IPFIX messages of the reports in export_reports.h, one per line in hexadecimal, for
// other collectors in ipfix_test.py. The keys are the observation domains from 40 on.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/telemetry/export/ipfix_encoder.h"
#include "export_reports.h"

namespace {

using sluice::engine::telemetry::EpochReport;
using sluice::engine::telemetry::IpfixEncoder;

constexpr uint32_t kExportTimeS = 1'700'000'009;
constexpr size_t kMessageBytes = 1500 - 20 - 8;

void Print(const EpochReport& report) {
  std::vector<uint8_t> room(kMessageBytes);
  for (size_t key = 0; key < report.keys.size(); ++key) {
    IpfixEncoder encoder(
        {.domain = 40 + static_cast<uint32_t>(key), .clock_unix_ns = sluice::test::kClockUnixNs});
    encoder.Begin(report, key, kExportTimeS);
    for (auto message = encoder.Next(room); !message.empty(); message = encoder.Next(room)) {
      for (const uint8_t byte : message) std::printf("%02x", byte);
      std::putchar('\n');
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: %s [flows]\n", argv[0]);
    return 2;
  }
  Print(argc == 2 ? sluice::test::LargeReport(static_cast<uint32_t>(std::atoi(argv[1])))
                  : sluice::test::SmallReport());
  return 0;
}
