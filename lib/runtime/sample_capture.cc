// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sample_capture.h"

#include <gflags/gflags.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

DECLARE_string(rate);

namespace sluice::runtime {

bool WantsSample(const CommandLine& line) {
  return !line.own_port && !line.options.frame_size.empty();
}

std::optional<SampleCapture> SampleCapture::Make(Options& options, const Write& write,
                                                 const std::string& about, std::string_view more,
                                                 std::string* error) {
  base::OwnedFd file(memfd_create("sluice_sample", MFD_CLOEXEC));
  if (!file) {
    *error = std::string("no memory for a capture: ") + std::strerror(errno);
    return std::nullopt;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file.fd());
  if (!write(path, error)) return std::nullopt;
  const std::string rate = FLAGS_rate.empty() ? "" : "+rate=" + FLAGS_rate;
  options.wire = "pcap:" + path + rate + std::string(more);
  options.traffic = about + rate;
  return SampleCapture(std::move(file));
}

}  // namespace sluice::runtime
