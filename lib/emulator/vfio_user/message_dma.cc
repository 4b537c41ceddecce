// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/message_dma.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::emulator::vfio_user {

namespace {

/// Returns the size of the pages that contain the range.
size_t PageBytes(const void* at, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  return (begin + bytes + kPage - 1) / kPage * kPage - begin / kPage * kPage;
}

}  // namespace

MessageDma::MessageDma() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

const MessageDma::Range* MessageDma::Find(const void* at) const {
  const auto* const byte = static_cast<const uint8_t*>(at);
  const auto above =
      std::upper_bound(ranges_.begin(), ranges_.end(), byte,
                       [](const uint8_t* place, const Range& range) { return place < range.copy; });
  if (above == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(above);
  return byte < range.copy + range.bytes ? &range : nullptr;
}

size_t MessageDma::Part(const uint8_t* at, size_t bytes) const {
  const Range* const range = Find(at);
  const size_t in_range = range == nullptr ? bytes : range->bytes - (at - range->copy);
  return std::min({bytes, in_range, size_t{max_transfer_bytes_}});
}

bool MessageDma::Holds(const void* at) const { return Find(at) != nullptr; }

size_t MessageDma::Ready(const void* at, size_t bytes, size_t least) {
  const Range* const range = Find(at);
  if (range == nullptr || bytes == 0) return bytes;
  const auto* const place = static_cast<const uint8_t*>(at);
  const std::scoped_lock lock(mutex_);
  const auto found = questions_.find(place);
  if (found != questions_.end()) {
    Question& question = found->second;
    if (question.missing != 0) return 0;
    if (question.bytes.size() >= least) {
      if (!question.copied) {
        std::memcpy(range->copy + (place - range->copy), question.bytes.data(),
                    question.bytes.size());
        copied_bytes_ += PageBytes(place, question.bytes.size());
        question.copied = true;
      }
      return std::min(question.bytes.size(), bytes);
    }
  }
  Ask(*range, place, bytes);
  return 0;
}

void MessageDma::Ask(const Range& range, const uint8_t* at, size_t bytes) {
  if (questions_.size() >= kMaxQuestions)
    ForgetQuestions();  // The device requests the bytes again if it still needs them.
  Question& question = questions_[at];
  question = {.bytes = std::vector<uint8_t>(bytes), .missing = bytes, .number = ++next_number_};
  for (size_t offset = 0; offset < bytes;) {
    const auto part = static_cast<uint32_t>(Part(at + offset, bytes - offset));
    const uint64_t address = range.address + static_cast<uint64_t>(at - range.copy) + offset;
    tasks_.push_back({{}, {address, part, at, offset, question.number}});
    offset += part;
  }
  Wake();
}

void MessageDma::Done(const void* at) {
  if (Find(at) == nullptr) return;
  const std::scoped_lock lock(mutex_);
  questions_.erase(static_cast<const uint8_t*>(at));
}

void MessageDma::Stored(const void* at, size_t bytes) {
  const Range* const range = Find(at);
  if (range == nullptr) return;
  const auto* const from = static_cast<const uint8_t*>(at);
  const uint64_t address = range->address + static_cast<uint64_t>(from - range->copy);
  const std::scoped_lock lock(mutex_);
  waiting_bytes_ += bytes;
  copied_bytes_ += PageBytes(from, bytes);
  if (!tasks_.empty()) {
    Write& last = tasks_.back().write;
    // Merges adjacent writes into one message, which keeps the number of the first write. Never
    // merges across the end of a range, because each range can be removed separately.
    if (!last.bytes.empty() && last.address >= range->address &&
        last.address + last.bytes.size() == address && Part(from, bytes) == bytes &&
        last.bytes.size() + bytes <= max_transfer_bytes_) {
      last.bytes.insert(last.bytes.end(), from, from + bytes);
      return;
    }
  }
  for (size_t done = 0; done < bytes;) {
    const size_t part = Part(from + done, bytes - done);
    tasks_.push_back({{address + done, {from + done, from + done + part}, ++latest_write_}, {}});
    unanswered_.insert(latest_write_);
    done += part;
  }
  Wake();
}

bool MessageDma::congested() const {
  const std::scoped_lock lock(mutex_);
  return waiting_bytes_ > kMaxWaitingBytes || tasks_.size() + under_way_.size() > kMaxMessages;
}

void MessageDma::Add(uint8_t* copy, uint64_t address, uint64_t bytes) {
  const auto above =
      std::upper_bound(ranges_.begin(), ranges_.end(), copy,
                       [](const uint8_t* place, const Range& range) { return place < range.copy; });
  ranges_.insert(above, Range{copy, address, bytes});
}

void MessageDma::Remove(const uint8_t* copy) {
  const auto found = std::ranges::find(ranges_, copy, &Range::copy);
  if (found == ranges_.end()) return;
  const Range range = *found;
  ranges_.erase(found);
  const std::scoped_lock lock(mutex_);
  questions_.erase(questions_.lower_bound(range.copy),
                   questions_.lower_bound(range.copy + range.bytes));
  // Drop messages for the memory that the client has removed.
  std::erase_if(tasks_, [&](const Task& task) {
    const bool is_write = !task.write.bytes.empty();
    const uint64_t address = is_write ? task.write.address : task.wanted.address;
    const bool gone = address - range.address < range.bytes;
    // A read that begins in another range could not complete without this part. Forget the read, so
    // that the device requests it again.
    if (gone && !is_write) questions_.erase(task.wanted.at);
    if (gone) waiting_bytes_ -= task.write.bytes.size();
    if (gone && is_write) unanswered_.erase(task.write.number);
    return gone;
  });
}

void MessageDma::Forget() {
  const std::scoped_lock lock(mutex_);
  ForgetQuestions();
}

void MessageDma::ForgetQuestions() {
  questions_.clear();
  std::erase_if(tasks_, [](const Task& task) { return task.write.bytes.empty(); });
}

void MessageDma::Wake() { eventfd_write(wake_.fd(), 1); }

bool MessageDma::Next(Outgoing* outgoing) {
  const std::scoped_lock lock(mutex_);
  eventfd_t ignored;
  // wake_ also becomes readable when an answer arrives.
  if (tasks_.empty() || under_way_.size() >= kMaxUnderWay) {
    eventfd_read(wake_.fd(), &ignored);
    return false;
  }
  const Task task = std::move(tasks_.front());
  tasks_.pop_front();
  while (under_way_.contains(next_id_)) ++next_id_;
  const bool is_write = !task.write.bytes.empty();
  under_way_[next_id_] = {task.write.bytes.size(), task.write.number, task.wanted};
  const DmaAccess access = is_write ? DmaAccess{task.write.address, task.write.bytes.size()}
                                    : DmaAccess{task.wanted.address, task.wanted.bytes};
  outgoing->payload.resize(sizeof(access));
  std::memcpy(outgoing->payload.data(), &access, sizeof(access));
  outgoing->payload.insert(outgoing->payload.end(), task.write.bytes.begin(),
                           task.write.bytes.end());
  outgoing->header = {
      .id = next_id_,
      .command = static_cast<uint16_t>(is_write ? Command::kDmaWrite : Command::kDmaRead),
      .size = static_cast<uint32_t>(sizeof(Header) + outgoing->payload.size()),
      .flags = 0,
      .error = 0};
  ++next_id_;
  return true;
}

const char* MessageDma::Answered(const Message& message) {
  const std::scoped_lock lock(mutex_);
  const auto found = under_way_.find(message.header.id);
  if (found == under_way_.end()) return "reply without a request";
  const UnderWay asked = found->second;
  const Command command = asked.written != 0 ? Command::kDmaWrite : Command::kDmaRead;
  if (message.header.command != static_cast<uint16_t>(command)) {
    return "reply to another command";
  }
  const bool refused = (message.header.flags & kErrorFlag) != 0;
  if (asked.written == 0 && !refused &&
      message.payload.size() != sizeof(DmaAccess) + asked.wanted.bytes) {
    return "reply with a wrong length";
  }
  under_way_.erase(found);
  if (!tasks_.empty()) Wake();
  refusals_ += refused;
  if (asked.written != 0) {
    waiting_bytes_ -= asked.written;
    unanswered_.erase(asked.number);
    return nullptr;
  }
  const auto question = questions_.find(asked.wanted.at);
  if (question == questions_.end() || question->second.number != asked.wanted.number) {
    return nullptr;  // The question is obsolete.
  }
  if (!refused) {  // If the client refuses, the bytes stay zero, which the model rejects.
    std::memcpy(question->second.bytes.data() + asked.wanted.offset,
                message.payload.data() + sizeof(DmaAccess), asked.wanted.bytes);
  }
  question->second.missing -= asked.wanted.bytes;
  return nullptr;
}

uint64_t MessageDma::latest_write() const {
  const std::scoped_lock lock(mutex_);
  return latest_write_;
}

bool MessageDma::HasArrived(uint64_t write) const {
  const std::scoped_lock lock(mutex_);
  return unanswered_.empty() || *unanswered_.begin() > write;
}

uint64_t MessageDma::refusals() const {
  const std::scoped_lock lock(mutex_);
  return refusals_;
}

bool MessageDma::bloated() const {
  const std::scoped_lock lock(mutex_);
  return copied_bytes_ > kBloatedBytes;
}

void MessageDma::GivenBack() {
  const std::scoped_lock lock(mutex_);
  copied_bytes_ = 0;
}

}  // namespace sluice::emulator::vfio_user
