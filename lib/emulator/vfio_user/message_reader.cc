// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/message_reader.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::emulator::vfio_user {

const char* MessageReader::Read(std::span<const uint8_t> bytes, std::vector<base::OwnedFd> files) {
  if (wrong_ != nullptr) return wrong_;
  // Owner of the files: the last message that begins in this piece.
  enum { kNobody, kComplete, kWaiting } owner = kNobody;
  while (!bytes.empty()) {
    if (buffer_.empty()) owner = kWaiting;
    const auto add = [&](size_t most) {
      const size_t more = std::min(bytes.size(), most - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(more));
      bytes = bytes.subspan(more);
    };
    if (buffer_.size() < sizeof(Header)) add(sizeof(Header));
    if (buffer_.size() < sizeof(Header)) break;
    Header header;
    std::memcpy(&header, buffer_.data(), sizeof(header));
    if (header.size < sizeof(Header) || header.size > kMaxMessageBytes) {
      return wrong_ = "a message's size is invalid";
    }
    add(header.size);
    if (buffer_.size() < header.size) break;
    Message& message = messages_.emplace_back();
    message.header = header;
    message.payload.assign(buffer_.begin() + sizeof(Header), buffer_.end());
    message.files = std::exchange(files_, {});
    buffer_.clear();
    if (owner == kWaiting) owner = kComplete;
  }
  if (files.empty()) return nullptr;
  if (owner == kNobody) return wrong_ = "files arrived in the middle of a message";
  std::vector<base::OwnedFd>& to = owner == kWaiting ? files_ : messages_.back().files;
  std::move(files.begin(), files.end(), std::back_inserter(to));
  return to.size() > kMaxMessageFiles ? wrong_ = "a message has too many files" : nullptr;
}

}  // namespace sluice::emulator::vfio_user
