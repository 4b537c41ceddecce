// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the writes that a device sends as messages, and the interrupts that follow them. PCI does
// not permit an interrupt to overtake earlier writes.
#include "emulator/vfio_user/message_dma.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "client.h"
#include "emulator/vfio_user/client_interrupts.h"

namespace sluice::emulator::vfio_user {
namespace {

constexpr uint64_t kAddress = 0x1000;
constexpr size_t kPlace = 64;  ///< Distance between writes; each is a separate message.

class Order : public testing::Test {
 protected:
  void SetUp() override {
    messages_.Add(memory_.data(), kAddress, memory_.size());
    std::vector<base::OwnedFd> files;
    for (const base::OwnedFd& event : events_) files.emplace_back(dup(event.fd()));
    ASSERT_TRUE(interrupts_.Set(0, std::move(files)));
  }

  void Write(size_t place) { messages_.Stored(&memory_[place * kPlace], 8); }
  /// Returns the id of the next sent message, or -1 if none is sent.
  int Send() {
    MessageDma::Outgoing outgoing;
    return messages_.Next(&outgoing) ? outgoing.header.id : -1;
  }
  void Answer(int id, uint32_t error = 0) {
    Message answer;
    answer.header = {.id = static_cast<uint16_t>(id),
                     .command = static_cast<uint16_t>(Command::kDmaWrite),
                     .size = sizeof(Header),
                     .flags = kReplyType | (error != 0 ? kErrorFlag : 0),
                     .error = error};
    EXPECT_EQ(messages_.Answered(answer), nullptr);
    interrupts_.WritesArrived();
  }
  /// Returns how often the interrupt was signalled since the last call.
  uint64_t Told(uint32_t vector = 0) {
    eventfd_t count = 0;
    return eventfd_read(events_[vector].fd(), &count) == 0 ? count : 0;
  }

  std::array<uint8_t, 16 * kPlace> memory_{};
  std::array<base::OwnedFd, 2> events_ = {base::OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                                          base::OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
  MessageDma messages_;
  ClientInterrupts interrupts_{messages_};
};

TEST_F(Order, OfInterruptsAndWrites) {
  // Steps: w is a write; r raises the interrupt; s sends a message; 1 … 9 is the answer to the
  // message with that number, and a … i is its rejection. An exclamation mark follows each step
  // that must signal the interrupt.
  for (const std::string_view steps : {
           "r!",              // No write.
           "ws1r!",           // All writes have arrived.
           "wrs1!",           // The interrupt waits, before the write is sent …
           "wsr1!",           // … and afterwards.
           "wwssr12!",        // The interrupt waits for all earlier writes …
           "wwssr21!",        // … in any order of their answers …
           "wsrwswsws1!234",  // … but not for later ones.
           "wsrwws1!s23",
           "wsra!",       // A rejection counts as an answer.
           "wsrwsr12!",   // Two interrupts of one vector are signalled once, after the last write.
           "wsr1!r!ws2",  // Each interrupt is signalled separately.
           "wsr1!wsr2!",
       }) {
    std::vector<int> sent;
    size_t written = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const char step = steps[i];
      if (step == '!') continue;
      if (step == 'w') Write(written++ * 2);
      if (step == 'r') interrupts_.Raise(0);
      if (step == 's') sent.push_back(Send());
      if (step >= '1' && step <= '9') Answer(sent.at(step - '1'));
      if (step >= 'a' && step <= 'i') Answer(sent.at(step - 'a'), EFAULT);
      EXPECT_EQ(Told(), i + 1 < steps.size() && steps[i + 1] == '!' ? 1u : 0u) << steps << ' ' << i;
    }
    EXPECT_EQ(Send(), -1) << steps << ": a message is left";
  }
}

TEST_F(Order, VectorsWaitForTheirOwnWrites) {
  Write(0);
  const int first = Send();
  interrupts_.Raise(0);
  Write(2);
  const int second = Send();
  interrupts_.Raise(1);
  Answer(first);
  EXPECT_EQ(Told(0), 1u);
  EXPECT_EQ(Told(1), 0u);
  Answer(second);
  EXPECT_EQ(Told(1), 1u);
}

TEST_F(Order, WhatIsTakenBackHoldsNothingUp) {
  Write(0);
  interrupts_.Raise(0);
  messages_.Remove(memory_.data());
  interrupts_.WritesArrived();
  EXPECT_EQ(Told(), 1u);
}

TEST_F(Order, AMaskedVectorIsPendingWhenItsWritesHaveArrived) {
  Write(0);
  interrupts_.Raise(0);
  interrupts_.Clear(0, 1);
  EXPECT_EQ(interrupts_.pending(), 0u);
  Answer(Send());
  EXPECT_EQ(interrupts_.pending(), 1u);
}

TEST_F(Order, WhatAResetForgetsIsNeverTold) {
  interrupts_.Clear(1, 1);
  interrupts_.Raise(1);
  EXPECT_EQ(interrupts_.pending(), 2u);
  Write(0);
  interrupts_.Raise(0);
  interrupts_.Forget();
  EXPECT_EQ(interrupts_.pending(), 0u);
  Answer(Send());
  EXPECT_EQ(Told(0), 0u);
  interrupts_.Raise(0);
  EXPECT_EQ(Told(0), 1u) << "the eventfd is still there";
}

TEST_F(Order, WithoutInterruptsNothingWaits) {
  Write(0);
  interrupts_.Raise(0);
  interrupts_.Disable();
  Answer(Send());
  std::vector<base::OwnedFd> files;
  files.emplace_back(dup(events_[0].fd()));
  ASSERT_TRUE(interrupts_.Set(0, std::move(files)));
  EXPECT_EQ(Told(), 0u);
  EXPECT_EQ(interrupts_.pending(), 0u);
}

TEST(Ranges, ThatMeetShareNoMessage) {
  // Two maps that are adjacent both in this process and on the client's bus.
  std::array<uint8_t, 2 * kPlace> memory{};
  for (const bool removes_first : {false, true}) {
    MessageDma messages;
    messages.Add(memory.data(), kAddress, kPlace);
    messages.Add(memory.data() + kPlace, kAddress + kPlace, kPlace);
    messages.Stored(&memory[kPlace - 16], 8);
    messages.Stored(&memory[kPlace - 8],
                    // The write follows the previous one and crosses the end of the first map.
                    16);
    messages.Remove(memory.data() + (removes_first ? 0 : kPlace));
    MessageDma::Outgoing outgoing;
    ASSERT_TRUE(messages.Next(&outgoing));
    DmaAccess access;
    std::memcpy(&access, outgoing.payload.data(), sizeof(access));
    EXPECT_EQ(access.address, removes_first ? kAddress + kPlace : kAddress + kPlace - 16);
    uint64_t bytes = access.count;
    while (messages.Next(&outgoing)) {
      std::memcpy(&access, outgoing.payload.data(), sizeof(access));
      bytes += access.count;
    }
    EXPECT_EQ(bytes, removes_first ? 8u : 16u);
  }
}

TEST(Ranges, WhatIsAskedOverTheirEndIsAskedAgainWhenOneGoes) {
  std::array<uint8_t, 2 * kPlace> memory{};
  MessageDma messages;
  messages.Add(memory.data(), kAddress, kPlace);
  messages.Add(memory.data() + kPlace, kAddress + kPlace, kPlace);
  uint8_t* const at = &memory[kPlace - 8];
  EXPECT_EQ(messages.Ready(at, 16, 16), 0u);
  messages.Remove(memory.data() + kPlace);
  EXPECT_EQ(messages.Ready(at, 8, 8), 0u);
  MessageDma::Outgoing outgoing;
  while (messages.Next(&outgoing)) {
    DmaAccess access;
    std::memcpy(&access, outgoing.payload.data(), sizeof(access));
    EXPECT_EQ(access.count, 8u);
    Message answer;
    answer.payload.resize(sizeof(access) + access.count, 7);
    answer.header = {.id = outgoing.header.id,
                     .command = outgoing.header.command,
                     .size = static_cast<uint32_t>(sizeof(Header) + answer.payload.size()),
                     .flags = kReplyType,
                     .error = 0};
    ASSERT_EQ(messages.Answered(answer), nullptr);
  }
  EXPECT_EQ(messages.Ready(at, 8, 8), 8u);
  EXPECT_EQ(*at, 7);
}

TEST(Copies, AreGivenBackByTheirPages) {
  constexpr uint64_t kPage = 4096;
  std::vector<uint8_t> copy(8 * kPage);
  MessageDma messages;
  messages.Add(copy.data(), kAddress, copy.size());
  uint64_t stores = 0;
  for (; !messages.bloated(); ++stores) {
    messages.Stored(&copy[stores % 8 * kPage], 1);
    MessageDma::Outgoing outgoing;
    while (messages.Next(&outgoing)) {
      Message answer;
      answer.header = {.id = outgoing.header.id,
                       .command = outgoing.header.command,
                       .size = sizeof(Header),
                       .flags = kReplyType,
                       .error = 0};
      ASSERT_EQ(messages.Answered(answer), nullptr);
    }
  }
  EXPECT_EQ(stores, MessageDma::kBloatedBytes / kPage + 1) << "a byte takes a page";
  messages.GivenBack();
  EXPECT_FALSE(messages.bloated());
}

}  // namespace
}  // namespace sluice::emulator::vfio_user
