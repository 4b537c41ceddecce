// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/connection.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace sluice::emulator {

bool Connection::Exchange(Request& request, int file, base::OwnedFd* received, std::string* error) {
  if (!good_) {
    *error = "the connection has ended";
    return false;
  }
  good_ = false;
  request.sequence = ++sequence_;
  // Ignores failures: a peer that rejects the connection sends a reply and may already be gone.
  channel_.Send(&request, sizeof(request), file);
  buffer_.resize(sizeof(Reply) + kMaxStatistics * sizeof(StatisticEntry));
  const std::optional<size_t> bytes =
      channel_.Receive(buffer_.data(), buffer_.size(), received, kMessagePatience);
  if (!bytes) {
    *error = "the device does not answer";
    return false;
  }
  Reply reply;
  if (*bytes < sizeof(reply)) {
    *error = "the device's answer is too short";
    return false;
  }
  std::memcpy(&reply, buffer_.data(), sizeof(reply));
  std::string_view text;
  if (reply.magic != kMessageMagic || reply.version != kProtocolVersion) {
    *error = "protocol version mismatch; use the sluice-device of this build";
  } else if (reply.sequence != request.sequence || reply.count > kMaxStatistics ||
             *bytes != sizeof(reply) + reply.count * sizeof(StatisticEntry) ||
             !GetText(reply.text, &text)) {
    *error = "the device's answer is invalid";
  } else if (reply.refused != 0) {
    good_ = true;
    *error = text;
  } else {
    good_ = true;
    buffer_.resize(*bytes);
    return true;
  }
  return false;
}

bool Connection::Ask(Request request, int file, Reply* reply, base::OwnedFd* received,
                     std::string* error) {
  base::OwnedFd ignored;
  if (!Exchange(request, file, received != nullptr ? received : &ignored, error)) return false;
  std::memcpy(reply, buffer_.data(), sizeof(*reply));
  return true;
}

bool Connection::AskStatistics(std::vector<Statistic>* statistics, std::string* error) {
  Request request;
  request.kind = Kind::kStatistics;
  base::OwnedFd ignored;
  if (!Exchange(request, -1, &ignored, error)) return false;
  statistics->clear();
  for (size_t at = sizeof(Reply); at < buffer_.size(); at += sizeof(StatisticEntry)) {
    StatisticEntry entry;
    std::memcpy(&entry, buffer_.data() + at, sizeof(entry));
    std::string_view name;
    if (!GetText(entry.name, &name)) {
      *error = "the device's answer is invalid";
      return good_ = false;
    }
    statistics->push_back({std::string(name), entry.value});
  }
  return true;
}

}  // namespace sluice::emulator
