// SPDX-License-Identifier: BSD-3-Clause
#include "classify.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aes_gcm.h"
#include "digit_image.h"
#include "digit_network.h"
#include "encrypted_images.h"
#include "stage.h"

namespace sluice::chain_app {
namespace {

Bytes Drawn(uint64_t seed, uint64_t number) {
  Bytes image(kImageBytes);
  DrawDigit(seed, number, std::span<uint8_t, kImageBytes>(image.data(), kImageBytes));
  return image;
}
Scores PlainScores(const Bytes& image) {
  return ScoreDigit(std::span<const uint8_t, kImageBytes>(image.data(), kImageBytes));
}

TEST(Classify, ScoresAsTheNetworkInPlainInBatchesOfEverySize) {
  Stage stage(kClassifyStage, "");
  ASSERT_TRUE(stage.made()) << stage.error();
  uint64_t number = 0;
  for (size_t count = 1; count <= kMaxBatch; ++count) {
    std::vector<Stage::Message> batch;
    for (size_t i = 0; i < count; ++i)
      batch.push_back({.input = Drawn(2, number++), .command = 7, .room = kAnswerBytes});
    const auto ended = stage.Run(batch);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(ended[i].how, "done");
      const auto answer = ReadAnswer(ended[i].result);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->scores, PlainScores(batch[i].input));
      EXPECT_EQ(*answer, AnswerOf(answer->scores, 7));
      EXPECT_EQ(ended[i].key[0], KeyOf(*answer));
    }
  }
}

TEST(Classify, ScoresTheExtremesExactly) {
  Stage stage(kClassifyStage, "");
  ASSERT_TRUE(stage.made()) << stage.error();
  Bytes checkered(kImageBytes), striped(kImageBytes);
  for (uint32_t at = 0; at < kImageBytes; ++at) {
    checkered[at] = (at / kImageSide / 2 + at % kImageSide / 2) % 2 == 0 ? 255 : 0;
    striped[at] = at % kImageSide % 4 < 2 ? 255 : 0;
  }
  for (const Bytes& image : {Bytes(kImageBytes), Bytes(kImageBytes, 255), checkered, striped}) {
    const auto answer = ReadAnswer(stage.Run({.input = image}).result);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->scores, PlainScores(image));
  }
}

TEST(Classify, IsSureOfLessTheMoreIsAsked) {
  Stage stage(kClassifyStage, "");
  ASSERT_TRUE(stage.made()) << stage.error();
  std::array<uint32_t, 3> sure{};
  const std::array<uint32_t, 3> percent = {0, 20, 100};
  for (size_t i = 0; i < sure.size(); ++i)
    for (uint64_t number = 0; number < 100; ++number)
      sure[i] += stage.Run({.input = Drawn(4, number), .command = percent[i]}).key[0] & 1;
  EXPECT_EQ(sure[0], 100u);
  EXPECT_LE(sure[1], sure[0]);
  EXPECT_LT(sure[2], sure[1]);
}

TEST(Classify, RefusesWhatIsNoImageAndLeavesItsNeighboursAlone) {
  Stage stage(kClassifyStage, "");
  ASSERT_TRUE(stage.made()) << stage.error();
  const Bytes image = Drawn(1, 1);
  std::vector<Stage::Message> batch(12, Stage::Message{.input = image});
  batch[1].input.pop_back();
  batch[3].input.push_back(0);
  batch[5].input.clear();
  batch[7].room = kAnswerBytes - 1;
  batch[9].command = 101;
  batch[11].command = ~0u;
  const std::array<const char*, 12> expected = {"done", "bad_image",   "done", "bad_image",
                                                "done", "bad_image",   "done", "too_long",
                                                "done", "bad_command", "done", "bad_command"};
  const auto ended = stage.Run(batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    EXPECT_EQ(ended[i].how, expected[i]) << i;
    if (ended[i].how != "done") continue;
    EXPECT_EQ(ReadAnswer(ended[i].result)->scores, PlainScores(image));
  }
  EXPECT_EQ(Stage(kClassifyStage, "level=3").error(), "unknown option level: omit it");
}

class Example : public testing::Test {
 protected:
  std::unique_ptr<Traffic> Make(const char* options, uint32_t max_message = 4096) {
    return kImagesTraffic.make({options, 9, max_message}, &error_);
  }
  /// Returns the answer of the example's chain to message `number`.
  Ended Through(Traffic& traffic, uint64_t number) {
    Bytes message(4096);
    message.resize(traffic.Write(number, message));
    const Ended plain = decrypt_.Run({.input = message, .command = kGcmDecrypt});
    if (plain.how != "done") return plain;
    return classify_.Run({.input = plain.result, .command = 7});
  }
  std::string error_;
  Stage decrypt_{kAesGcmStage, std::string("key0=") + kExampleKey};
  Stage classify_{kClassifyStage, ""};
};

TEST_F(Example, AnswersAreRightAndNoOthersAre) {
  const auto traffic = Make("images=40");
  ASSERT_NE(traffic, nullptr) << error_;
  for (uint64_t number = 0; number < 100; ++number) {
    const Ended answer = Through(*traffic, number);
    ASSERT_EQ(answer.how, "done");
    EXPECT_TRUE(traffic->Right(number, answer.result, answer.key));
    // Wrong answers: the answer for another image, a different key word, a changed result and a
    // truncated one.
    EXPECT_FALSE(traffic->Right(number + 1, answer.result, answer.key));
    EXPECT_FALSE(traffic->Right(number, answer.result, {answer.key[0] ^ 0x100, 0}));
    Bytes bent = answer.result;
    bent[4 + number % 40] ^= 1;
    EXPECT_FALSE(traffic->Right(number, bent, answer.key));
    bent.pop_back();
    EXPECT_FALSE(traffic->Right(number, bent, answer.key));
  }
}

TEST_F(Example, ForgedImagesAreRefusedAndNoAnswerToThemIsRight) {
  const auto traffic = Make("images=3,forged=4");
  ASSERT_NE(traffic, nullptr) << error_;
  for (uint64_t number = 0; number < 24; ++number) {
    const Ended answer = Through(*traffic, number);
    EXPECT_EQ(traffic->Answered(number), number % 4 != 3);
    EXPECT_EQ(answer.how, number % 4 != 3 ? "done" : "forged");
    EXPECT_EQ(traffic->Right(number, answer.result, answer.key), number % 4 != 3);
  }
}

TEST_F(Example, SaysWhatIsWrongWithOptions) {
  EXPECT_EQ(Make("images=0"), nullptr);
  EXPECT_EQ(error_, "images: give 1 to 1048576");
  EXPECT_EQ(Make("forged=-1"), nullptr);
  EXPECT_EQ(error_, "forged: give 0 to 18446744073709551615");
  EXPECT_EQ(Make("key=12"), nullptr);
  EXPECT_EQ(error_, "key0: give 32, 48 or 64 hexadecimal digits");
  EXPECT_EQ(Make("", 811), nullptr);
  EXPECT_EQ(error_, "an encrypted image needs 812 bytes: set a larger max_message in the graph");
}

}  // namespace
}  // namespace sluice::chain_app
