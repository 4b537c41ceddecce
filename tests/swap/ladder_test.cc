// SPDX-License-Identifier: BSD-3-Clause
//
// Loses, repeats and delays each message of each variant once. Then checks which ends know the
// outcome, wait or are in doubt, and whether the transaction resolves. An end is in doubt if it
// neither knows the outcome nor may decide it. The expected cells were derived by hand from the
// knowledge ladder. The ends are the production code. docs/swap.md contains the same table.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "swap/initiator.h"
#include "swap/responder.h"

namespace sluice::swap {
namespace {

enum Play : uint8_t { kTwo, kFourCommits, kFourAborts };
enum Fault : uint8_t { kLost, kRepeated, kDelayed };

struct Row {
  Play play;
  const char* message;
  Fault fault;
  const char* knows;  ///< The ends that know the outcome of n. "R*" also knows that the initiator
                      ///< knows the outcome.
  const char* waits;
  const char* in_doubt;
};

constexpr Row kRowsOfTheTable[] = {
    // A lost offer does not affect the responder R, but the initiator I cannot distinguish it from
    // a lost outcome.
    {kTwo, "OFFER n", kLost, "-", "I", "I"},
    {kTwo, "OFFER n", kRepeated, "R", "I", "I"},
    {kTwo, "OFFER n", kDelayed, "-", "I", "I"},
    {kTwo, "OUTCOME n", kLost, "R", "I", "I"},
    {kTwo, "OUTCOME n", kRepeated, "R I", "-", "-"},
    {kTwo, "OUTCOME n", kDelayed, "R", "I", "I"},
    // The next offer informs R that I knows the outcome. I now waits for n + 1 and is in doubt
    // about n + 1.
    {kTwo, "OFFER n+1", kLost, "R I", "I", "I"},
    {kTwo, "OFFER n+1", kRepeated, "R* I", "I", "I"},
    {kTwo, "OFFER n+1", kDelayed, "R I", "I", "I"},
    // The initiator I may decide until it commits, so it is never in doubt. R is in doubt while it
    // holds n.
    {kFourCommits, "OFFER n", kLost, "-", "I", "-"},
    {kFourCommits, "OFFER n", kRepeated, "-", "R I", "R"},
    {kFourCommits, "OFFER n", kDelayed, "-", "I", "-"},
    {kFourCommits, "REFLECT n", kLost, "-", "R I", "R"},
    {kFourCommits, "REFLECT n", kRepeated, "I", "R I", "R"},
    {kFourCommits, "REFLECT n", kDelayed, "-", "R I", "R"},
    {kFourCommits, "COMMIT n", kLost, "I", "R I", "R"},
    {kFourCommits, "COMMIT n", kRepeated, "R* I", "I", "-"},
    {kFourCommits, "COMMIT n", kDelayed, "I", "R I", "R"},
    {kFourCommits, "ACK n", kLost, "R* I", "I", "-"},
    {kFourCommits, "ACK n", kRepeated, "R* I", "-", "-"},
    {kFourCommits, "ACK n", kDelayed, "R* I", "I", "-"},
    {kFourAborts, "ABORT n", kLost, "I", "R I", "R"},
    {kFourAborts, "ABORT n", kRepeated, "R* I", "I", "-"},
    {kFourAborts, "ABORT n", kDelayed, "I", "R I", "R"},
    {kFourAborts, "ACK n", kLost, "R* I", "I", "-"},
    {kFourAborts, "ACK n", kRepeated, "R* I", "-", "-"},
    {kFourAborts, "ACK n", kDelayed, "R* I", "I", "-"},
};

/// Returns the messages in order; those with even indices are the initiator's.
std::vector<std::string> MessagesOf(Play play) {
  switch (play) {
    case kTwo:
      return {"OFFER n", "OUTCOME n", "OFFER n+1", "OUTCOME n+1"};
    case kFourCommits:
      return {"OFFER n", "REFLECT n", "COMMIT n", "ACK n"};
    default:
      return {"OFFER n", "REFLECT n", "ABORT n", "ACK n"};
  }
}

class Link {
 public:
  explicit Link(Play play)
      : play_(play),
        initiator_(play == kTwo ? kTwoMessage : kFourMessage, 1, 1),
        responder_(play == kTwo ? kTwoMessage : kFourMessage, 1, 1) {
    while (!initiator_.CanOffer()) {
      responder_.Hear(initiator_.line(), *this);
      initiator_.Hear(responder_.line());
    }
    initiator_.MakeOffer({});
  }

  Answer Evaluate(const Message&, Reply&) const { return Answer::kTrue; }

  Message Line(size_t turn) {
    if (play_ == kTwo && turn == 2 && initiator_.CanOffer()) initiator_.MakeOffer({});
    return turn % 2 == 0 ? initiator_.line() : responder_.line();
  }

  void Deliver(size_t turn, const Message& line) {
    if (turn % 2 == 0) {
      const Event event = responder_.Hear(line, *this);
      outcomes_ += event != Event::kNothing && event != Event::kHeld;
      return;
    }
    results_ += initiator_.Hear(line).has_value();
    if (initiator_.state() == State::kValidate) {
      if (play_ == kFourCommits) results_ += initiator_.Commit().has_value();
      if (play_ == kFourAborts) initiator_.Abort();
    }
  }

  std::string Knows() const {
    const bool initiator = results_ != 0 || initiator_.state() == State::kAbort;
    const bool known_to_be_known =
        play_ == kTwo ? responder_.txid() == 2 : responder_.line().phase >= Phase::kCommitted;
    std::string knows = outcomes_ == 0 ? "" : known_to_be_known ? "R*" : "R";
    if (initiator) knows += knows.empty() ? "I" : " I";
    return knows.empty() ? "-" : knows;
  }
  std::string Waits() const {
    const bool responder = responder_.state() == State::kTentative;
    if (!initiator_.Unresolved()) return responder ? "R" : "-";
    return responder ? "R I" : "I";
  }
  std::string InDoubt() const {
    if (play_ == kTwo) return initiator_.Unresolved() ? "I" : "-";
    return responder_.state() == State::kTentative ? "R" : "-";
  }

  /// Expires the windows of both ends, which must not affect any transaction.
  void ExpireBoth() {
    const State initiator = initiator_.state(), responder = responder_.state();
    initiator_.Expire();
    responder_.Expire();
    EXPECT_EQ(initiator_.state(), initiator);
    EXPECT_EQ(responder_.state(), responder);
  }

  void ExpectResolvedOnce() const {
    const int transactions = play_ == kTwo ? 2 : 1;
    EXPECT_EQ(results_, transactions);
    EXPECT_EQ(outcomes_, transactions);
    EXPECT_FALSE(initiator_.Unresolved());
    EXPECT_EQ(responder_.state(), State::kReady);
  }

 private:
  Play play_;
  Initiator initiator_;
  Responder responder_;
  int results_ = 0;   ///< Number of results at the initiator.
  int outcomes_ = 0;  ///< Number of outcomes at the responder.
};

TEST(KnowledgeLadder, EachMessageLostRepeatedDelayed) {
  constexpr const char* kPlays[] = {"2 messages", "4, commits", "4, aborts"};
  constexpr const char* kFaults[] = {"lost", "repeated", "delayed"};
  std::printf("| variant    | message   | once     | knows | waits | in doubt | resolves by |\n");
  for (const Row& row : kRowsOfTheTable) {
    SCOPED_TRACE(std::string(kPlays[row.play]) + ": " + row.message + " " + kFaults[row.fault]);
    const std::vector<std::string> messages = MessagesOf(row.play);
    Link link(row.play);
    size_t turn = 0;
    for (; messages[turn] != row.message; ++turn) link.Deliver(turn, link.Line(turn));
    const Message line = link.Line(turn);
    if (row.fault == kRepeated) {
      link.Deliver(turn, line);
      link.Deliver(turn, line);
      ++turn;
    }
    EXPECT_EQ(link.Knows(), row.knows);
    EXPECT_EQ(link.Waits(), row.waits);
    EXPECT_EQ(link.InDoubt(), row.in_doubt);
    std::printf("| %-10s | %-9s | %-8s | %-5s | %-5s | %-8s | %s |\n", kPlays[row.play],
                row.message, kFaults[row.fault], link.Knows().c_str(), link.Waits().c_str(),
                link.InDoubt().c_str(),
                row.fault == kRepeated ? "the second is ignored"
                : row.fault == kLost   ? "posted again"
                                       : "posted again; the late one is ignored");
    link.ExpireBoth();
    // Posts the lost or delayed line again, and then the remaining lines.
    for (; turn < messages.size(); ++turn) link.Deliver(turn, link.Line(turn));
    size_t late = 0;
    while (messages[late] != row.message) ++late;
    if (row.fault == kDelayed) link.Deliver(late, line);
    link.ExpectResolvedOnce();
  }
}

}  // namespace
}  // namespace sluice::swap
