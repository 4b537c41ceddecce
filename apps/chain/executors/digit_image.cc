// SPDX-License-Identifier: BSD-3-Clause
#include "digit_image.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/workload/random.h"

namespace sluice::chain_app {
namespace {

using engine::workload::Random;

struct Point {
  int x = 0, y = 0;
};
constexpr size_t kStrokePoints = 13;
/// The path of the pen, in one stroke, in a box of 16 by 24. The y axis points down.
struct Stroke {
  size_t points;
  std::array<Point, kStrokePoints> way;
};

constexpr std::array<Stroke, kDigits> kStrokes = {{
    {9, {{{8, 0}, {14, 4}, {15, 12}, {14, 20}, {8, 24}, {2, 20}, {1, 12}, {2, 4}, {8, 0}}}},
    {3, {{{3, 6}, {9, 0}, {9, 24}}}},
    {8, {{{1, 6}, {4, 1}, {8, 0}, {13, 2}, {14, 7}, {11, 13}, {1, 24}, {15, 24}}}},
    {9, {{{1, 2}, {8, 0}, {14, 4}, {12, 9}, {6, 11}, {13, 14}, {15, 19}, {9, 24}, {1, 22}}}},
    {4, {{{15, 16}, {1, 16}, {11, 0}, {11, 24}}}},
    {8, {{{14, 0}, {3, 0}, {2, 10}, {9, 9}, {15, 15}, {12, 22}, {6, 24}, {1, 22}}}},
    {9, {{{12, 0}, {5, 5}, {1, 14}, {2, 20}, {8, 24}, {14, 20}, {14, 14}, {8, 11}, {2, 15}}}},
    {3, {{{1, 0}, {15, 0}, {6, 24}}}},
    {13,
     {{{8, 11},
       {2, 7},
       {3, 2},
       {8, 0},
       {13, 2},
       {14, 7},
       {8, 11},
       {1, 17},
       {3, 23},
       {8, 24},
       {13, 23},
       {15, 17},
       {8, 11}}}},
    {9, {{{14, 9}, {8, 13}, {2, 10}, {2, 4}, {8, 0}, {14, 4}, {14, 9}, {13, 17}, {8, 24}}}},
}};

/// Unit of positions in the image: 64 per pixel.
constexpr int kPixel = 64;

int Between(Random& random, int least, int most) {
  return least + static_cast<int>(random.Below(static_cast<uint64_t>(most - least + 1)));
}

/// Returns a random handwritten variant of a digit's stroke.
std::array<Point, kStrokePoints> Write(const Stroke& stroke, Random& random) {
  const int width = Between(random, 38, 56);
  const int height = Between(random, 44, 56);
  const int slant = Between(random, -14, 14);
  const int tilt = Between(random, -8, 8);
  const int middle_x = 14 * kPixel + Between(random, -110, 110);
  const int middle_y = 14 * kPixel + Between(random, -90, 90);
  std::array<Point, kStrokePoints> written{};
  for (size_t i = 0; i < stroke.points; ++i) {
    const int x = stroke.way[i].x - 8, y = stroke.way[i].y - 12;
    written[i] = {middle_x + x * width - y * slant + Between(random, -28, 28),
                  middle_y + y * height + x * tilt + Between(random, -28, 28)};
  }
  return written;
}

/// Returns the square of the distance from `p` to the line from `a` to `b`.
int64_t DistanceSquared(Point p, Point a, Point b) {
  const int64_t px = p.x - a.x, py = p.y - a.y, bx = b.x - a.x, by = b.y - a.y;
  const int64_t along = px * bx + py * by, length = bx * bx + by * by;
  if (along <= 0 || length == 0) return px * px + py * py;
  if (along >= length) return (px - bx) * (px - bx) + (py - by) * (py - by);
  return px * px + py * py - along * along / length;
}

}  // namespace

uint8_t DrawDigit(uint64_t seed, uint64_t number, std::span<uint8_t, kImageBytes> image) {
  Random random(engine::workload::Mix(seed) ^ number);
  const auto digit = static_cast<uint8_t>(random.Below(kDigits));
  const Stroke& stroke = kStrokes[digit];
  const auto way = Write(stroke, random);
  const int64_t thickness = Between(random, 50, 105);
  const int64_t inside = thickness * thickness;
  const int64_t outside = (thickness + kPixel) * (thickness + kPixel);
  const int brightness = Between(random, 150, 255);
  const int ground = Between(random, 0, 30);
  for (uint32_t at = 0; at < kImageBytes; ++at) {
    const Point pixel{static_cast<int>(at % kImageSide) * kPixel + kPixel / 2,
                      static_cast<int>(at / kImageSide) * kPixel + kPixel / 2};
    int64_t nearest = outside;
    for (size_t i = 1; i < stroke.points; ++i)
      nearest = std::min(nearest, DistanceSquared(pixel, way[i - 1], way[i]));
    const int64_t ink = brightness * (outside - std::max(nearest, inside)) / (outside - inside);
    const int noise = Between(random, -24, 24);
    image[at] = static_cast<uint8_t>(std::clamp(static_cast<int>(ink) + ground + noise, 0, 255));
  }
  return digit;
}

}  // namespace sluice::chain_app
