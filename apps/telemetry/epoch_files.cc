// SPDX-License-Identifier: BSD-3-Clause
#include "epoch_files.h"

#include <unistd.h>

#include "engine/files/whole_file.h"

namespace sluice::telemetry {

void EpochFiles::Write(const engine::telemetry::Epoch& epoch,
                       const engine::telemetry::EpochTimes& times) {
  const std::string path = folder_ + "/epoch-" + std::to_string(times.start_ns) + ".sluice";
  const std::string bytes = engine::telemetry::EncodeEpoch(epoch, times);
  // The file is readable by its owner only, because it contains the seed, with which colliding
  // flows can be constructed.
  engine::WholeFile file(path);
  file.Write(bytes.data(), bytes.size());
  std::string error;  // Ignored, because Exports reports the failure with the flag's name.
  if (!file.Finish(&error)) {
    failed_ = true;
    return;
  }
  ++written_;
  files_.push_back(path);
  if (kept_ == 0 || files_.size() <= kept_) return;
  unlink(files_.front().c_str());
  files_.pop_front();
}

}  // namespace sluice::telemetry
