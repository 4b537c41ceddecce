// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the two interfaces of a stage with messages from an honest or hostile switch or CPU. Tests
// of complete chains are in tests/chain_app.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "device/stage/chain_device.h"
#include "device/stage/descriptor_queue.h"
#include "device/stage/link.h"
#include "device/stage/stage.h"

namespace sluice::device::stage {
namespace {

using namespace pcie_switch;  // NOLINT

constexpr PortId kPort = 3;
constexpr uint64_t kRing = kHostMemory, kRecords = kHostMemory + 0x10000;

class Link : public testing::Test {
 protected:
  std::unique_ptr<LinkMemory> memory_ = std::make_unique<LinkMemory>();
  LinkWriter writer_{memory_->to_device};
  LinkReader reader_{memory_->to_device};
  Tlp tlp_;
};

TEST_F(Link, CarriesTlpsInOrderAndNoMoreThanItHolds) {
  for (uint32_t lap = 0; lap < 3; ++lap) {
    uint32_t written = 0;
    for (Tlp* place; (place = writer_.Place()) != nullptr; ++written) {
      *place = {.kind = TlpKind::kWrite, .length = 1, .address = written, .payload = {}};
      place->payload[0] = static_cast<uint8_t>(written);
      writer_.Commit();
    }
    EXPECT_EQ(written, kLinkTlps);
    EXPECT_FALSE(reader_.Next(tlp_)) << "before Publish";
    writer_.Publish();
    for (uint32_t i = 0; i < written; ++i) {
      ASSERT_TRUE(reader_.Next(tlp_));
      EXPECT_EQ(tlp_.address, i);
      EXPECT_EQ(tlp_.payload[0], static_cast<uint8_t>(i));
    }
    EXPECT_EQ(writer_.Place(), nullptr) << "before Release";
    reader_.Release();
  }
}

TEST_F(Link, EndsForAWriterThatClaimsMoreThanTheRingHolds) {
  memory_->to_device.written.value = kLinkTlps + 1;
  EXPECT_FALSE(reader_.Next(tlp_));
  EXPECT_TRUE(reader_.broken());
  memory_->to_device.written.value = 1;
  EXPECT_FALSE(reader_.Next(tlp_));
}

TEST_F(Link, ATlpOfAnyBytesIsOne) {
  std::memset(static_cast<void*>(memory_->to_device.tlps.data()), 0xff,
              sizeof memory_->to_device.tlps);
  memory_->to_device.written.value = 1;
  ASSERT_TRUE(reader_.Next(tlp_));
  EXPECT_EQ(tlp_.length, ~0u);
  EXPECT_TRUE(tlp_.refused);
}

TEST_F(Link, AReaderThatClaimsWhatWasNotWrittenGetsNothingOverwritten) {
  for (uint32_t i = 0; i < kLinkTlps; ++i) writer_.Commit();
  memory_->to_device.read.value = kLinkTlps + 7;
  EXPECT_EQ(writer_.Place(), nullptr);
}

TEST_F(Link, PassesBetweenThreads) {
  constexpr uint32_t kTlps = 50'000;
  std::thread writer([&] {
    for (uint32_t i = 0; i < kTlps;) {
      Tlp* const place = writer_.Place();
      if (place == nullptr) {
        std::this_thread::yield();
        continue;
      }
      place->kind = TlpKind::kWrite;
      place->length = 1 + i % kMaxPayload;
      place->address = i;
      std::memset(place->payload.data(), static_cast<int>(i), place->length);
      writer_.Commit();
      if (++i % 7 == 0 || i == kTlps) writer_.Publish();
    }
  });
  for (uint32_t i = 0; i < kTlps;) {
    if (!reader_.Next(tlp_)) {
      reader_.Release();
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(tlp_.address, i);
    ASSERT_EQ(tlp_.length, 1 + i % kMaxPayload);
    ASSERT_EQ(tlp_.payload[tlp_.length - 1], static_cast<uint8_t>(i));
    ++i;
  }
  writer.join();
}

/// An executor that records its batches and returns each input in reverse.
class Reverse final : public Executor {
 public:
  void Run(std::span<Work> batch) override {
    batches.push_back(static_cast<uint32_t>(batch.size()));
    for (Work& work : batch) {
      commands.push_back(work.command);
      std::reverse_copy(work.input.begin(), work.input.end(), work.output.begin());
      work.length = claim != 0 ? claim : static_cast<uint32_t>(work.input.size());
      work.outcome = Outcome::kDone;
      work.key = {9, 0};
    }
  }
  std::vector<uint32_t> batches, commands;
  uint32_t claim = 0;
};

/// A stage, with its link as seen from the switch.
class Face : public testing::Test {
 protected:
  void Write(uint64_t address, const void* bytes, uint32_t count) {
    Tlp* const place = to_.Place();
    ASSERT_NE(place, nullptr);
    *place = {.kind = TlpKind::kWrite, .length = count, .address = address, .payload = {}};
    std::memcpy(place->payload.data(), bytes, count);
    to_.Commit();
    to_.Publish();
  }
  void SendSetup(const NodeSetup& setup, uint32_t slot = 0) {
    Write(SlotOf(kPort, slot) + kSetupOffset, &setup, sizeof setup);
  }
  void SetUpQueue(uint32_t slots = 64) {
    NodeSetup setup{.ring = kRing,
                    .completions = kRecords,
                    .slots = slots,
                    .max_message = 1000,
                    .action = SetupAction::kOpen};
    SendSetup(setup);
  }
  void Ring(uint32_t posted) { Write(SlotOf(kPort, 0) + kDoorbellOffset, &posted, sizeof posted); }
  /// Returns all TLPs that the stage has sent.
  std::vector<Tlp> Sent() {
    std::vector<Tlp> sent;
    for (Tlp tlp; from_.Next(tlp);) sent.push_back(tlp);
    from_.Release();
    return sent;
  }
  void Complete(const Tlp& read, const void* bytes, uint32_t count, uint32_t at = 0,
                bool refused = false) {
    Tlp* const place = to_.Place();
    ASSERT_NE(place, nullptr);
    *place = {.kind = TlpKind::kCompletion,
              .refused = refused,
              .requester = kPort,
              .tag = read.tag,
              .length = count,
              .address = at,
              .payload = {}};
    std::memcpy(place->payload.data(), bytes, count);
    to_.Commit();
    to_.Publish();
  }
  /// Steps the stage, and completes the only read that it makes with these descriptors.
  void Give(const std::vector<LegacyDescriptor>& descriptors) {
    stage_.Step();
    const std::vector<Tlp> sent = Sent();
    ASSERT_EQ(sent.size(), 1u);
    ASSERT_EQ(sent[0].kind, TlpKind::kRead);
    ASSERT_EQ(sent[0].length, descriptors.size() * sizeof(LegacyDescriptor));
    for (uint32_t at = 0; at < sent[0].length; at += kMaxPayload)
      Complete(sent[0], reinterpret_cast<const uint8_t*>(descriptors.data()) + at,
               std::min(kMaxPayload, sent[0].length - at), at);
    stage_.Step();
  }
  static LegacyDescriptor Descriptor(uint32_t sequence, uint32_t length, uint32_t capacity = 1000) {
    return {.input = kHostMemory + 0x20000,
            .output = kHostMemory + 0x30000 + sequence * 4096,
            .length = length,
            .capacity = capacity,
            .command = 40 + sequence,
            .sequence = sequence};
  }

  std::unique_ptr<LinkMemory> memory_ = std::make_unique<LinkMemory>();
  LinkWriter to_{memory_->to_device};
  LinkReader from_{memory_->to_switch};
  Reverse executor_;
  StageCounters counters_{};
  Stage stage_{*memory_, kPort, executor_, counters_};
};

TEST_F(Face, LegacyFetchesSeveralDescriptorsWorksOnThemAtOnceAndWritesRecordsBehindResults) {
  SetUpQueue();
  Ring(3);
  Give({Descriptor(0, 2), Descriptor(1, 600), Descriptor(2, 1)});
  // The stage reads the data of all three descriptors; 600 bytes need two reads.
  std::vector<Tlp> reads = Sent();
  ASSERT_EQ(reads.size(), 4u);
  EXPECT_EQ(reads[2].length, 600 - kMaxReadRequest);
  EXPECT_EQ(reads[2].address, reads[1].address + kMaxReadRequest);
  const std::vector<uint8_t> data(kMaxReadRequest, 5);
  const std::array<uint8_t, 2> pair = {1, 2};
  // Completions of different reads can arrive in any order.
  Complete(reads[3], data.data(), 1);
  Complete(reads[2], data.data(), 600 - kMaxReadRequest);
  Complete(reads[1], data.data(), kMaxPayload, kMaxPayload);
  Complete(reads[1], data.data(), kMaxPayload);
  stage_.Step();
  EXPECT_TRUE(executor_.batches.empty()) << "the first one comes first";
  Complete(reads[0], pair.data(), 2);
  stage_.Step();
  EXPECT_EQ(executor_.batches, (std::vector<uint32_t>{3}));
  EXPECT_EQ(executor_.commands, (std::vector<uint32_t>{40, 41, 42}));
  const std::vector<Tlp> sent = Sent();
  // The results have 2, 256 + 256 + 88 and 1 bytes. All records follow in one write.
  ASSERT_EQ(sent.size(), 6u);
  EXPECT_EQ(sent[0].address, Descriptor(0, 0).output);
  EXPECT_EQ(sent[0].payload[0], 2);
  EXPECT_EQ(sent[3].address, Descriptor(1, 0).output + 512);
  EXPECT_EQ(sent[3].length, 88u);
  EXPECT_EQ(sent[5].address, kRecords);
  ASSERT_EQ(sent[5].length, 3 * sizeof(LegacyRecord));
  const auto record = LoadFrom<LegacyRecord>(sent[5].payload.data() + sizeof(LegacyRecord));
  EXPECT_EQ(record.sequence, 1u);
  EXPECT_EQ(record.status, kStatusDone);
  EXPECT_EQ(record.length, 600u);
  EXPECT_EQ(record.key, 9u);
}

TEST_F(Face, LegacyDoesNotReadBeyondTheEndOfItsRing) {
  SetUpQueue(/*slots=*/4);
  Ring(3);
  Give({Descriptor(0, 0), Descriptor(1, 0), Descriptor(2, 0)});
  stage_.Step();
  Sent();
  Ring(7);
  stage_.Step();
  const std::vector<Tlp> sent = Sent();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].address, kRing + 3 * sizeof(LegacyDescriptor));
  EXPECT_EQ(sent[0].length, sizeof(LegacyDescriptor));
}

TEST_F(Face, LegacyWritesRecordsWhenTheLinkHasRoomAgain) {
  // The queue contains the maximum number of jobs. Each result has 2000 bytes and needs 8 TLPs.
  constexpr uint32_t kJobs = DescriptorQueue::kDepth;
  static_assert(kJobs * 8 == kLinkTlps);
  SendSetup({.ring = kRing,
             .completions = kRecords,
             .slots = kJobs,
             .max_message = 2000,
             .action = SetupAction::kOpen});
  Ring(kJobs);
  executor_.claim = 2000;
  std::vector<LegacyDescriptor> ring;
  for (uint32_t i = 0; i < kJobs; ++i) ring.push_back(Descriptor(i, 1, 2000));
  std::vector<Tlp> data;
  while (data.size() < kJobs) {
    stage_.Step();
    const std::vector<Tlp> reads = Sent();
    ASSERT_FALSE(reads.empty());
    for (const Tlp& read : reads) {
      if (read.address < kRing || read.address - kRing >= kJobs * sizeof(LegacyDescriptor)) {
        data.push_back(read);
        continue;
      }
      const auto* const bytes = reinterpret_cast<const uint8_t*>(ring.data());
      for (uint32_t at = 0; at < read.length; at += kMaxPayload)
        Complete(read, bytes + (read.address - kRing) + at, std::min(kMaxPayload, read.length - at),
                 at);
    }
  }
  const uint8_t byte = 1;
  for (const Tlp& read : data) Complete(read, &byte, 1);
  EXPECT_TRUE(stage_.Step());
  EXPECT_EQ(Sent().size(), kLinkTlps) << "results alone";
  EXPECT_TRUE(stage_.Step()) << "it did something";
  const std::vector<Tlp> records = Sent();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0].address, kRecords);
  EXPECT_FALSE(stage_.Step());
}

TEST_F(Face, LegacyFailsWhatCannotBe) {
  struct Case {
    const char* what;
    LegacyDescriptor descriptor;
    bool refuse_data;
  };
  for (const Case& each : {Case{"longer than any message", Descriptor(0, 1001), false},
                           Case{"what it may not read", Descriptor(0, 8), true}}) {
    SCOPED_TRACE(each.what);
    SetUpQueue();
    Ring(1);
    Give({each.descriptor});
    for (const Tlp& tlp : Sent())
      if (each.refuse_data && tlp.kind == TlpKind::kRead) Complete(tlp, "", 0, 0, true);
    stage_.Step();
    stage_.Step();
    std::vector<Tlp> sent = Sent();
    if (sent.empty()) {
      stage_.Step();
      sent = Sent();
    }
    ASSERT_FALSE(sent.empty());
    const auto record = LoadFrom<LegacyRecord>(sent.back().payload.data());
    EXPECT_EQ(record.status, kStatusFailed);
    EXPECT_EQ(record.length, 0u);
  }
  EXPECT_TRUE(executor_.batches.empty());
  EXPECT_EQ(counters_.failed, 2u);
}

TEST_F(Face, DoorbellsBeyondTheRingAndCompletionsThatNobodyAskedForAreIgnored) {
  SetUpQueue(/*slots=*/8);
  Ring(9);
  stage_.Step();
  EXPECT_TRUE(Sent().empty());
  Tlp never;
  for (const uint32_t tag : {0u, 63u, 64u, 255u}) {
    never.tag = static_cast<uint8_t>(tag);
    Complete(never, "x", 1);
  }
  Ring(1);
  stage_.Step();
  const std::vector<Tlp> sent = Sent();
  ASSERT_EQ(sent.size(), 1u);
  const std::vector<uint8_t> bytes(kMaxPayload);
  Complete(sent[0], bytes.data(), kMaxPayload);  // More than requested,
  Complete(sent[0], bytes.data(), 8, 60);        // beyond the end,
  Complete(sent[0], bytes.data(), 0);            // and zero bytes.
  stage_.Step();
  EXPECT_TRUE(Sent().empty());
}

TEST_F(Face, ASlotThatIsSetUpAnewForgetsWhatItWaitedFor) {
  SetUpQueue();
  Ring(1);
  stage_.Step();
  const std::vector<Tlp> sent = Sent();
  ASSERT_EQ(sent.size(), 1u);
  SetUpQueue();
  const LegacyDescriptor descriptor = Descriptor(0, 4);
  Complete(sent[0], &descriptor, sizeof descriptor);
  stage_.Step();
  EXPECT_TRUE(Sent().empty());
}

TEST_F(Face, AnExecutorsLengthIsNotBelieved) {
  executor_.claim = 5000;
  SetUpQueue();
  Ring(1);
  Give({Descriptor(0, 0)});
  stage_.Step();
  const std::vector<Tlp> sent = Sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_EQ(LoadFrom<LegacyRecord>(sent.back().payload.data()).status, kStatusFailed);
}

class Streaming : public Face {
 protected:
  void Open(uint32_t granules = 64) {
    SendSetup({.window = kWindows,
               .consumed = kRegisters,
               .window_granules = granules,
               .buffer_bytes = 1024,
               .max_message = 400,
               .action = SetupAction::kOpen});
    stage_.Step();
    const std::vector<Tlp> sent = Sent();
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].kind, TlpKind::kRead);
    EXPECT_EQ(sent[0].address, kWindows);
    report_read_ = sent[0];
  }
  void Report(const WindowReport& report) {
    Complete(report_read_, &report, sizeof report);
    stage_.Step();
  }
  /// Writes a message of `length` bytes at offset `at` of the buffer.
  void Message(uint32_t number, uint32_t length, uint64_t at) {
    std::array<uint8_t, 256> bytes{};
    StoreTo(bytes.data(), MessageHeader{.message = number, .length = length, .command = 7});
    Write(SlotOf(kPort, 0) + at, bytes.data(), 64 + length);
  }
  Tlp report_read_;
};

TEST_F(Streaming, SendsNothingBeforeItKnowsWhatAPredecessorSent) {
  Open(/*granules=*/4);
  Message(1, 10, 0);
  stage_.Step();
  EXPECT_TRUE(Sent().empty()) << "it rejects a message whose answer would not fit";
  // A predecessor had sent 9 granules, 7 of which had left: 2 of the 4 credits are used.
  Report({.messages = 2, .received = 9, .freed = 7});
  stage_.Step();
  std::vector<Tlp> sent = Sent();
  ASSERT_EQ(sent.size(), 2u);
  const auto first = std::ranges::find(sent, kWindows, &Tlp::address);
  ASSERT_NE(first, sent.end());
  const auto header = LoadFrom<MessageHeader>(first->payload.data());
  EXPECT_EQ(header.message, 1u);
  EXPECT_EQ(header.key[0], 9u);
  // The credit return: 128 bytes consumed.
  const auto credits = std::ranges::find(sent, kRegisters, &Tlp::address);
  ASSERT_NE(credits, sent.end());
  EXPECT_EQ(LoadFrom<uint64_t>(credits->payload.data()), 128u);
  Message(2, 10, 128);
  stage_.Step();
  stage_.Step();
  for (const Tlp& tlp : Sent()) EXPECT_NE(tlp.address, kWindows) << "without credits";
  const uint64_t freed = 11;
  Write(SlotOf(kPort, 0) + kControlOffset, &freed, sizeof freed);
  stage_.Step();
  sent = Sent();
  EXPECT_EQ(std::ranges::count(sent, kWindows, &Tlp::address), 1);
}

TEST_F(Streaming, FlushesItsWindowWhenAllIsAnswered) {
  Open();
  Report({});
  Message(1, 10, 0);
  SendSetup({.window = kWindows, .action = SetupAction::kDrain});
  for (uint32_t i = 0; i < 4; ++i) stage_.Step();
  const std::vector<Tlp> sent = Sent();
  ASSERT_EQ(sent.size(), 3u);  // Answer, credits, and then the flush.
  EXPECT_EQ(sent[2].kind, TlpKind::kRead);
  EXPECT_EQ(sent[2].address, kWindows);
  stage_.Step();
  EXPECT_TRUE(Sent().empty()) << "once";
}

TEST_F(Streaming, WritesOutsideOfItsBufferAreIgnored) {
  Open();
  Report({});
  const std::array<uint8_t, 128> bytes{};
  for (const uint64_t at : {uint64_t{1024}, uint64_t{960}, kBarBytes, ~uint64_t{0} - BarOf(kPort)})
    Write(BarOf(kPort) + at, bytes.data(), 128);
  Write(SlotOf(kPort, 5), bytes.data(), 128);  // A slot without a node.
  stage_.Step();
  EXPECT_TRUE(executor_.batches.empty());
  EXPECT_TRUE(Sent().empty());
}

TEST_F(Streaming, WhatNeverCameIsNoMessage) {
  Open();
  Report({});
  // A buffer is zeroed at first, and zeros read as messages without data.
  Message(1, 10, 128);
  stage_.Step();
  EXPECT_TRUE(executor_.batches.empty());
  Message(2, 10, 0);
  Message(3, 10, 128);
  stage_.Step();
  ASSERT_EQ(executor_.batches.size(), 1u);
  EXPECT_EQ(executor_.batches[0], 2u);
}

}  // namespace
}  // namespace sluice::device::stage
