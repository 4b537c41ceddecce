// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/line_buffer.h"

#include <algorithm>
#include <cstddef>

namespace sluice::engine::logmon {

LineBuffers::LineBuffers(size_t max_lines) : max_lines_(max_lines), buffers_(kMaxSpeakers) {}

std::string_view LineBuffers::Add(uint64_t speaker, std::string_view line) {
  auto found = std::find_if(buffers_.begin(), buffers_.end(),
                            [speaker](const Lines& lines) { return lines.speaker == speaker; });
  if (found == buffers_.end()) {
    found = buffers_.begin() + static_cast<ptrdiff_t>(next_);
    next_ = (next_ + 1) % kMaxSpeakers;
    found->speaker = speaker;
    found->text.clear();
  }
  last_ = &*found;
  std::string& text = last_->text;
  if (static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == max_lines_) {
    text.erase(0, text.find('\n') + 1);
  }
  if (line.ends_with('\n')) line.remove_suffix(1);
  text.append(line.substr(0, kMaxLineBytes)).append("\n");
  return text;
}

void LineBuffers::Forget(size_t begin, size_t end, std::string_view kept) {
  std::string& text = last_->text;
  // As in Regex.search of fail2ban's server/failregex.py, a match that starts with a line's end
  // does not contain any byte of that line. The match's last line ends at the first line end after
  // the match, or at the match's last byte if that is a line end.
  begin = text.rfind('\n', begin) + 1;
  end = std::min(text.find('\n', end == 0 ? 0 : end - 1), text.size() - 1) + 1;
  end = std::max(begin, end);
  text = text.substr(0, begin) + std::string(kept) + text.substr(end);
}

}  // namespace sluice::engine::logmon
