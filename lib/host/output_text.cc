// SPDX-License-Identifier: BSD-3-Clause
#include "host/output_text.h"

#include <poll.h>

#include <cstdio>

namespace sluice::host {

bool WriteText(const std::string& path, const std::string& text) {
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && written;
}

bool TakesText(std::FILE* file) {
  pollfd room{fileno(file), POLLOUT, 0};
  // poll() also succeeds for a broken pipe, so that the write reports the error.
  return poll(&room, 1, 0) > 0;
}

}  // namespace sluice::host
