// SPDX-License-Identifier: BSD-3-Clause
//
// An application that sends frames of its choice to a NIC that returns them (--wire=loopback). It
// sends seeds in AtRest. It answers each returned seed once (every fourth time from another
// buffer), and sends three additional replies. It checks the order and bytes of returned answers
// and replies. It has one worker. sender_test.py runs it.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "packet/frame.h"
#include "packet/outbox.h"
#include "runtime/command_line.h"
#include "runtime/session.h"
#include "udp_headers.h"

namespace {

using sluice::packet::Frame;
using sluice::packet::Outbox;
using sluice::packet::Verdict;

constexpr uint32_t kSeeds = 3000;
constexpr uint32_t kUnderWay = 32;
constexpr uint32_t kReplies = 3;

enum Kind : uint8_t { kSeed, kAnswer, kReply };

// The worker writes these counts; the main thread reads them.
struct Totals {
  std::atomic<uint32_t> seeds = 0;
  std::atomic<uint32_t> answers = 0;  // Number of returned answers.
  std::atomic<uint32_t> replies = 0;  // Number of returned replies.
  std::atomic<uint32_t> refused = 0;
};

// Writes the headers, followed by the kind, the number and padding.
uint32_t Build(uint8_t* frame, Kind kind, uint32_t number) {
  const uint32_t length = kind == kSeed ? 60 : kind == kAnswer ? 1000 : 60 + number * 97 % 1400;
  sluice::runtime_test::WriteUdpHeaders(frame, length);
  frame[42] = kind;
  std::memcpy(frame + 43, &number, sizeof(number));
  for (uint32_t i = 47; i < length; ++i) frame[i] = static_cast<uint8_t>(number + i);
  return length;
}

class Sender final : public sluice::packet::Engine {
 public:
  static constexpr std::array<std::string_view, 2> kDropReasons{"out_of_order", "changed"};

  explicit Sender(Totals* totals) : totals_(totals) {}
  void set_outbox(Outbox outbox) override { outbox_ = outbox; }

  void AtRest(uint64_t) override {
    while (totals_->seeds < kSeeds && totals_->seeds - totals_->answers < kUnderWay) {
      Send(kSeed, totals_->seeds++);
    }
  }

  Verdict Process(Frame& frame, uint64_t) {
    uint32_t number = 0;
    if (frame.length < 60) return sluice::packet::Drop(1);
    std::memcpy(&number, frame.data + 43, sizeof(number));
    switch (frame.data[42]) {
      case kSeed:
        for (uint32_t i = 0; i < kReplies; ++i) Send(kReply, number * kReplies + i);
        frame.data[42] = kAnswer;
        if (number % 4 == 0) {
          frame.length = Build(elsewhere_, kAnswer, number);
          frame.data = elsewhere_;
        }
        return sluice::packet::kForward;
      case kAnswer:
        return number == totals_->answers++ ? sluice::packet::kConsume : sluice::packet::Drop(0);
      case kReply: {
        if (number != totals_->replies++) return sluice::packet::Drop(0);
        const uint32_t length = Build(buffer_, kReply, number);
        const bool same = frame.length == length && std::memcmp(frame.data, buffer_, length) == 0;
        return same ? sluice::packet::kConsume : sluice::packet::Drop(1);
      }
      default:
        return sluice::packet::Drop(1);
    }
  }

 private:
  void Send(Kind kind, uint32_t number) {
    const uint32_t length = Build(buffer_, kind, number);
    totals_->refused += !outbox_.Send(buffer_, length);
  }

  Totals* totals_;
  Outbox outbox_;
  uint8_t buffer_[1514];
  uint8_t elsewhere_[1514];
};

}  // namespace

int main(int argc, char** argv) {
  using sluice::runtime::Session;
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine("sender", "sends unsolicited frames", argc, argv,
                                               &exit_code);
  if (!line) return exit_code;
  line->options.promiscuous = true;  // Returned frames have no valid destination address.
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  Totals totals;
  sluice::runtime::AppHooks hooks;
  hooks.report = [&](nlohmann::ordered_json& report) {
    report["seeds"] = totals.seeds.load();
    report["answers"] = totals.answers.load();
    report["replies"] = totals.replies.load();
    report["refused"] = totals.refused.load();
  };
  hooks.line = [&] { return "back: " + std::to_string(totals.answers + totals.replies); };
  return session->Run([&](const sluice::runtime::WorkerInfo&) { return Sender(&totals); },
                      std::move(hooks));
}
