// SPDX-License-Identifier: BSD-3-Clause
//
// Files in the `.x` language.
#pragma once

#include <string_view>

namespace sluice::test {

/// The example in RFC 4506 section 7.
inline constexpr std::string_view kFileX = R"(
const MAXUSERNAME = 32;     /* max length of a user name */
const MAXFILELEN = 65535;   /* max length of a file      */
const MAXNAMELEN = 255;     /* max length of a file name */

/* Types of files: */
enum filekind {
   TEXT = 0,       /* ascii data */
   DATA = 1,       /* raw data   */
   EXEC = 2        /* executable */
};

/* File information, per kind of file: */
union filetype switch (filekind kind) {
case TEXT:
   void;                           /* no extra information */
case DATA:
   string creator<MAXNAMELEN>;     /* data creator         */
case EXEC:
   string interpretor<MAXNAMELEN>; /* program interpretor  */
};

/* A complete file: */
struct file {
   string filename<MAXNAMELEN>; /* name of file    */
   filetype type;               /* info about file */
   string owner<MAXUSERNAME>;   /* owner of file   */
   opaque data<MAXFILELEN>;     /* file data       */
};
)";

/// The example in RFC 5531 section 12.1.
inline constexpr std::string_view kPingX = R"(
program PING_PROG {
   /* Latest and greatest version */
   version PING_VERS_PINGBACK {
      void
      PINGPROC_NULL(void) = 0;
      /*
       * Ping the client, return the round-trip time
       * (in microseconds).  Returns -1 if the operation
       * timed out.
       */
      int
      PINGPROC_PINGBACK(void) = 1;
   } = 2;

   /* Original version */
   version PING_VERS_ORIG {
      void
      PINGPROC_NULL(void) = 0;
   } = 1;
} = 1;

const PING_VERS = 2;      /* latest version */
)";

/// A file that uses every kind of declaration.
inline constexpr std::string_view kEverythingX = R"(
%#include "ours.h"
const SIDE = 0x3;
enum color { RED = 1, GREEN = 4, BLUE };
typedef opaque digest[20];
typedef string word<15>;
struct point { int x; int y; };
typedef point square[4];
struct mixed {
  unsigned hyper big; bool yes; float small; double wide; digest hash; color paint;
  square corners; bool flags[SIDE]; hyper last;
};
struct text { word words<4>; opaque raw<9>; string all<>; };
struct node { int value; node *next; };
struct tree { tree *left; unsigned weight; tree *right; };
union choice switch (color of) {
  case RED: case GREEN: mixed numbers; case BLUE: node *list; default: void;
};
union maybe switch (bool there) { case TRUE: text what; case FALSE: void; };
struct all { choice one; maybe two[2]; choice more<3>; point points<>; };
program EVERYTHING {
  version FIRST {
    all MIRROR(all) = 1;
    point ADD(point, point, int) = 2;
    string NAME(color) = 3;
    tree GROW(tree) = 4;
    node COUNT(node) = 5;
  } = 1;
} = 0x20000001;
)";

}  // namespace sluice::test
