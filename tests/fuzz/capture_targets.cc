// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "check.h"
#include "packet/capture.h"
#include "packet/capture_file.h"
#include "targets.h"

namespace sluice::fuzz {

void CaptureReader(const uint8_t* data, size_t size) {
  using Status = packet::CaptureReader::Status;
  const test::TemporaryFile file({data, size});
  std::string error;
  auto reader = packet::CaptureReader::Open(file.path(), &error);
  if (!reader) {
    FUZZ_CHECK(error.starts_with(file.path() + ": ") && error.find('\n') == std::string::npos);
    return;
  }
  const test::TemporaryFile copy;
  auto writer =
      packet::CaptureWriter::Open(copy.path(), packet::CaptureWriter::Resolution::kNanoseconds,
                                  packet::kMaxCaptureBytes, &error);
  FUZZ_CHECK(writer);
  packet::CaptureRecord record;
  uint32_t sum = 0;
  uint64_t records = 0;
  Status status;
  while ((status = reader->Next(&record, &error)) == Status::kRecord) {
    FUZZ_CHECK(record.captured_bytes <= record.length);
    FUZZ_CHECK(record.length <= packet::kMaxCaptureBytes);
    for (uint32_t i = 0; i < record.captured_bytes; ++i) sum += record.data[i];
    FUZZ_CHECK(writer->Write(record));
    ++records;
  }
  FUZZ_CHECK(writer->Close(&error));
  if (status == Status::kError) FUZZ_CHECK(error.starts_with(file.path() + ": "));

  auto again = packet::CaptureReader::Open(copy.path(), &error);
  FUZZ_CHECK(again);
  while (again->Next(&record, &error) == Status::kRecord) {
    for (uint32_t i = 0; i < record.captured_bytes; ++i) sum -= record.data[i];
    --records;
  }
  FUZZ_CHECK(records == 0 && sum == 0);
}

}  // namespace sluice::fuzz
