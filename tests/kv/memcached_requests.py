# SPDX-License-Identifier: BSD-3-Clause
"""The requests of memcached_oracle_test.py: single requests, conversations, the binary protocol;
and the known differences."""

import struct


def binary(opcode, key=b"", extras=b"", value=b"", unique=0, opaque=0x01020304, **lies):
    """Returns a request; `lies` replace lengths in its header."""
    lengths = {"key": len(key), "extras": len(extras),
               "body": len(key) + len(extras) + len(value), **lies}
    return struct.pack(">BBHBBHIIQ", 0x80, opcode, lengths["key"], lengths["extras"], 0, 0,
                       lengths["body"], opaque, unique) + extras + key + value


def response(opcode, status, value, opaque=0x01020304):
    return struct.pack(">BBHBBHIIQ", 0x81, opcode, 0, 0, 0, status, len(value), opaque, 0) + value


# Request, memcached's response, our response, and the reason. If memcached's response is `None`,
# memcached waits for more data or closes the connection; the reason states which. {version} is
# memcached's version.
DIFFERENCES = [
    (b"set d 0 0 4294967297\r\nq\r\n", b"STORED\r\n",
     b"CLIENT_ERROR bad command line format\r\nERROR\r\n",
     "memcached takes the lower half of a length that does not fit into 32 bits"),
    (b"ms d 1 T4294967297\r\nq\r\nmg d s\r\n", b"HD\r\nHD s1\r\n", b"HD\r\nHD s1\r\n",
     "the same of an expiry: in memcached it is one second, here it is in the year 2106"),
    (b"set d 0 3000000000 1\r\nq\r\nget d\r\n", b"STORED\r\nEND\r\n",
     b"STORED\r\nVALUE d 0 1\r\nq\r\nEND\r\n",
     "the same: the year 2065 is negative as a signed number"),
    (b"set d 0 0 1\r\nq\r\nmg d h l\r\n", b"STORED\r\nHD h0 l0\r\n",
     b"STORED\r\nCLIENT_ERROR invalid flag\r\n", "the store keeps no time of the last access"),
    (b"mg e N30 v\r\nmd e\r\n", b"VA 0 W\r\n\r\nHD\r\n", b"CLIENT_ERROR invalid flag\r\nNF\r\n",
     "the store keeps no mark for who may recache an item"),
    (b"mg d R30\r\n", b"HD\r\n", b"CLIENT_ERROR invalid flag\r\n", "the same"),
    (b"ms d 1 I\r\nq\r\n", b"HD\r\n", b"CLIENT_ERROR invalid flag\r\n",
     "the store keeps no mark for stale items"),
    (b"md d I\r\n", b"HD\r\n", b"CLIENT_ERROR invalid or duplicate flag\r\n", "the same"),
    (b"md d\r\nms d 1\r\nq\r\nmg ZA== b k\r\n", b"HD\r\nHD\r\nHD kd\r\n",
     b"HD\r\nHD\r\nHD kZA== b\r\n", "memcached notes how a key was written when it was stored"),
    (b"set d 0 0 1\r\n5\r\nma d O" + b"o" * 32 + b"\r\nget d\r\n",
     b"STORED\r\nCLIENT_ERROR opaque token too long\r\nVALUE d 0 1\r\n6\r\nEND\r\n",
     b"STORED\r\nCLIENT_ERROR opaque token too long\r\nVALUE d 0 1\r\n5\r\nEND\r\n",
     "memcached has done what it then refuses"),
    (b"version\r\nget " + b"k" * 251 + b"\r\n", b"CLIENT_ERROR bad command line format\r\n",
     b"VERSION {version}\r\nCLIENT_ERROR bad command line format\r\n",
     "memcached takes all answers back that it did not send yet, not only those of this get"),
    (b"bget none\r\n", b"END\r\n", b"ERROR\r\n", "not in memcached's protocol.txt"),
    (b"stats detail off\r\n", b"OK\r\n", b"ERROR\r\n", "statistics of memcached's insides"),
    (b"cache_memlimit 10\r\n", b"OK\r\n", b"ERROR\r\n", "administration from the network"),
    (b"shutdown\r\n", b"ERROR: shutdown not enabled\r\n", b"ERROR\r\n", "the same"),
    (b"me nothing\r\n", b"EN\r\n", b"ERROR\r\n", "memcached's insides, for people who debug it"),
    (b"flush_all 1000\r\n", b"OK\r\n", b"CLIENT_ERROR flush_all with a delay not allowed\r\n",
     "a flush that is to come would have to be kept with every partition"),
    (binary(0x1c, b"d", bytes(4), b"x"), None, response(0x1c, 4, b"Invalid arguments"),
     "memcached takes the value for the beginning of the next request"),
    (binary(0x1d, b"d", bytes(4), b"x"), None, response(0x1d, 4, b"Invalid arguments"),
     "the same"),
    (binary(0x10, value=b"x"), None, response(0x10, 4, b"Invalid arguments"), "the same"),
    (binary(0x08, b"", struct.pack(">I", 9)), None, response(0x08, 4, b"Invalid arguments"),
     "a flush that is to come, as above"),
    (binary(0x1b, b"", bytes(4)), None, response(0x1b, 0x81, b"Unknown command"),
     "the same answer, but memcached's ends the connection; it knows no verbosity either"),
]

# Only for datagrams.
DATAGRAM_DIFFERENCES = [
    (b"set d 0 0 10\r\nq\r\n", None, b"CLIENT_ERROR bad data chunk\r\n",
     "memcached waits for the rest of the data, on UDP in vain"),
]

# Only for byte streams. The README of sluice-kv lists these and those that depend on the division of
# the bytes.
STREAM_DIFFERENCES = [
    (b"set d 0 0 1048576\r\n" + b"v" * 1048576 + b"\r\n",
     b"SERVER_ERROR object too large for cache\r\n", b"STORED\r\n",
     "memcached's limit of 1 MiB includes key and header"),
    (b"set d 0 0 600000\r\n" + b"v" * 600000 + b"\r\nappend d 0 0 600000\r\n" + b"v" * 600000 +
     b"\r\n", b"STORED\r\nNOT_STORED\r\n", b"STORED\r\nSTORED\r\n",
     "in cache mode a value may grow beyond 1 MiB"),
    (binary(0x50, b"abc", value=b"de") + b"xyz", response(0x50, 0x81, b"Unknown command"),
     response(0x50, 0x81, b"Unknown command"),
     "memcached skips the key of an unknown command twice; here the next request is not one"),
]

# Sent one at a time and compared exactly, including padding and times: no other client holds a
# reference to the items, and memcached's clock has whole seconds.
NUMBERS = [
    b"set n 0 0 2\r\n10\r\n", b"decr n 1\r\n", b"mg n s v\r\n", b"get n\r\n", b"incr n 90\r\n",
    b"incr n 1\r\n", b"get n\r\n", b"decr n 99\r\n", b"get n\r\n",
    b"set n 7 0 100\r\n1" + b" " * 99 + b"\r\n", b"incr n 1\r\n", b"mg n s f\r\n", b"get n\r\n",
    b"set n 0 0 4\r\n5 x \r\n", b"incr n 1\r\n", b"get n\r\n", b"set n 0 0 0\r\n\r\n",
    b"incr n 1\r\n", b"set n 0 0 20\r\n09999999999999999999\r\n", b"incr n 1\r\n", b"get n\r\n",
    b"set n 0 0 3\r\n007\r\n", b"decr n 8\r\n", b"get n\r\n", b"ma n D5 v\r\n", b"get n\r\n",
    b"set n 0 0 2\r\n10\r\n", b"ma n t T100\r\n", b"ma n T200 t\r\n", b"ma n t\r\n",
    b"ma n q T300 t\r\n", b"mg n t\r\n", b"ma n T0 t v\r\n", b"ma n T100 T200\r\n",
    b"ma v N30 t T50\r\n", b"mg v t\r\n", b"md v\r\n", b"ma v t N30 v\r\n", b"mg v t\r\n",
    b"ma v N90 t\r\n", b"md v\r\n", b"ma v T50 N30 t\r\n", b"mg v t\r\n", b"md v\r\n",
    b"ma v N30 J7 q\r\n", b"ma v N30 J7 q v\r\n", b"ma v T-1\r\n", b"mg v\r\n",
    b"set g 5 0 1\r\n1\r\n", b"gat 100 g g\r\n", b"mg g t\r\n", b"gat 0 g none\r\n", b"mg g t\r\n",
    b"touch g 300\r\n", b"mg g T200 t\r\n", b"mg g t T0 v\r\n", b"mg g t\r\n", b"gat -1 g\r\n",
    b"get g\r\n",
]

# After each of these requests, both servers' statistics must have grown equally.
COUNTED = [
    b"get a\r\n", b"set a 0 0 1\r\n5\r\n", b"set a 0 0 1\r\n5\r\n", b"get a b\r\n", b"gets a\r\n",
    b"gat 0 a\r\n", b"gat 0 none\r\n", b"gats 0 a none\r\n", b"touch a 0\r\n", b"touch none 0\r\n",
    b"add a 0 0 1\r\n5\r\n", b"add q 0 0 1\r\n5\r\n", b"replace a 0 0 1\r\n6\r\n",
    b"replace none 0 0 1\r\n6\r\n", b"append q 0 0 1\r\n6\r\n", b"append none 0 0 1\r\n6\r\n",
    b"prepend q 0 0 1\r\n6\r\n", b"cas a 0 0 1 999999\r\n6\r\n", b"cas none 0 0 1 1\r\n6\r\n",
    b"set n 0 0 1\r\n8\r\n", b"incr n 1\r\n", b"incr n 1\r\n", b"incr none 1\r\n", b"decr n 1\r\n",
    b"decr none 1\r\n", b"set t 0 0 1\r\nx\r\n", b"incr t 1\r\n", b"incr a x\r\n", b"delete a\r\n",
    b"delete a\r\n", b"mg q\r\n", b"mg none v\r\n", b"mg q T0 v\r\n", b"mg none T0\r\n",
    b"ms m 1\r\n5\r\n", b"ms m 1 ME\r\n5\r\n", b"ms m 1 C99999\r\n5\r\n",
    b"ms none 1 C5\r\n5\r\n", b"ms m 1 MA\r\n5\r\n", b"md m C99999\r\n", b"md m\r\n", b"md m\r\n",
    b"ma n\r\n", b"ma n T0 t\r\n", b"ma none\r\n", b"ma n2 N0\r\n", b"ma n MD\r\n",
    b"ma none MD\r\n", b"mn\r\n", b"set e 0 -1 1\r\nx\r\n", b"get e\r\n", b"flush_all\r\n",
    b"get q\r\n", b"get " + b"k" * 251 + b"\r\n", b"set x 0 0 x\r\n",
    b"set big 0 0 2000000\r\n" + b"x" * 2000000 + b"\r\n", b"get q q\r\n", b"foo\r\n",
    b"verbosity 1\r\n", b"version\r\n", b"set r 0 0 1\r\n1\r\n", b"stats reset\r\n", b"get r\r\n",
    binary(0x01, b"bb", bytes(8), b"1"), binary(0x00, b"bb"), binary(0x00, b"none"),
    binary(0x1c, b"bb", bytes(4)), binary(0x1c, b"none", bytes(4)), binary(0x1d, b"bb", bytes(4)),
    binary(0x1d, b"none", bytes(4)), binary(0x05, b"bb", struct.pack(">QQI", 1, 0, 0)),
    binary(0x05, b"none", struct.pack(">QQI", 1, 0, 0xffffffff)),
    binary(0x06, b"new", struct.pack(">QQI", 1, 5, 0)), binary(0x04, b"bb"), binary(0x04, b"bb"),
    binary(0x02, b"bc", bytes(8), b"1"), binary(0x02, b"bc", bytes(8), b"1"),
    binary(0x01, b"bc", bytes(8), b"1", 999999), binary(0x0e, b"bc", value=b"2"),
    binary(0x10, b"reset"),
]

LONG = b"k" * 251
OPAQUE = b"O" + b"o" * 31

# Single requests.
REQUESTS = [
    # Unknown commands, and too few or too many words.
    b"\r\n", b"\n", b"foo\r\n", b"GET a\r\n", b" \r\n", b"get\r\n", b"get \r\n", b"gets\r\n",
    b"set\r\n", b"set a\r\n", b"set a 0 0\r\n", b"add a 0\r\n", b"cas a 0 0 1\r\n", b"incr\r\n",
    b"incr a\r\n", b"incr a 1 2 3\r\n", b"delete\r\n", b"delete a b c d\r\n", b"touch\r\n",
    b"touch a\r\n", b"touch a 0 0 0\r\n", b"gat\r\n", b"gat 0\r\n", b"m\r\n", b"mx\r\n",
    b"mgg\r\n", b"mg\r\n", b"ms\r\n", b"md\r\n", b"ma\r\n", b"verbosity\r\n",
    b"verbosity 1 2 3\r\n", b"flush_all 1 2 3\r\n", b"stats foo\r\n", b"stats a b\r\n",
    b"stats reset\r\n", b"stats reset x\r\n", b"stats Reset\r\n",
    b"foo noreply\r\n", b"stats noreply\r\n", b"lru\r\n", b"slabs\r\n",
    # Commands without keys.
    b"version\r\n", b"version x\r\n", b"version noreply\r\n", b"version\n", b"mn\r\n",
    b"mn x\r\n", b"verbosity 1\r\n", b"verbosity 0 noreply\r\n", b"verbosity noreply\r\n",
    b"verbosity x\r\n", b"verbosity -1\r\n", b"verbosity 0 0\r\n", b"flush_all\r\n",
    b"flush_all 0\r\n", b"flush_all -1\r\n", b"flush_all x\r\n", b"flush_all noreply\r\n",
    b"flush_all 0 noreply\r\n", b"flush_all x noreply\r\n",
    # memcached treats a NUL as the end of a line.
    b"set a\0b 0 0 1\r\nx\r\n", b"set a 0 0 1\0z\r\nx\r\n", b"get a\0b\r\n", b"get a\0b c\r\n",
    b"get\0 a\r\n", b"gets a\0b\r\n", b"delete a\0b\r\n", b"incr a\0 1\r\n", b"touch a\0b 1\r\n",
    b"\0\r\n", b"version\0x\r\n", b"mg a\0b v k\r\n", b"mg a v k\0c\r\n", b"mn\0\r\n",
    # Base64 whose last character has unused bits.
    b"mg AB== b k v\r\n", b"md AB== b k\r\n", b"mg AAB= b k\r\n", b"ma AB== b k\r\n",
    b"ms YR== 1 b k\r\nx\r\nmg YR== b k v O1\r\nmg YQ== b k v\r\nmd YS== b k\r\n",
    # Keys.
    b"get a\r\n", b"get a\n", b" get a\r\n", b"get  a \r\n", b"get a\r\r\n",
    b"set a 5 0 3\r\nabc\r\n", b"get a\r\n", b"gets a\r\n", b"set \x01\x7f\xff\t 0 0 1\r\nx\r\n",
    b"get \x01\x7f\xff\t\r\n", b"set " + b"k" * 250 + b" 0 0 1\r\nx\r\n",
    b"get " + b"k" * 250 + b"\r\n", b"get " + LONG + b"\r\n", b"delete " + LONG + b"\r\n",
    b"delete " + LONG + b" noreply\r\n", b"incr " + LONG + b" 1\r\n",
    b"touch " + LONG + b" 1\r\n", b"gat 0 " + LONG + b"\r\n", b"mg " + LONG + b" v\r\n",
    b"md " + LONG + b"\r\n", b"ma " + LONG + b"\r\n", b"ms " + LONG + b" 0\r\n",
    b"get noreply\r\n", b"incr noreply 1\r\n",
    # Storage.
    b"set a 0 0 0\r\n\r\n", b"get a\r\n", b"set a 0 0 2\nxy\r\n", b"get a\r\n",
    b"set a 4294967295 0 1\r\nq\r\n", b"get a\r\n", b"set a 4294967301 0 1\r\nq\r\n",
    b"get a\r\n", b"set a +1 0 1\r\nq\r\n", b"get a\r\n", b"set a 0 0 -1\r\n",
    b"set a 0 0 x\r\n", b"set a 0 0 2147483647\r\n", b"set a 0 0 x noreply\r\n",
    b"set a 0 0 noreply\r\n", b"set a 0 0 1 noreply\r\nn\r\n", b"get a\r\n",
    b"set a 0 0 1 noreplyx\r\nz\r\n", b"set a 0 -1 1\r\nq\r\n", b"get a\r\n",
    b"add a 0 0 1\r\n1\r\n", b"add a 0 0 1\r\n2\r\n", b"replace a 7 0 1\r\n3\r\n",
    b"replace none 0 0 1\r\n3\r\n", b"append a 9 9 1\r\n4\r\n", b"prepend a 9 9 1\r\n5\r\n",
    b"append none 0 0 1\r\n4\r\n", b"prepend none 0 0 1\r\n4\r\n", b"append a 0 0 0\r\n\r\n",
    b"gets a\r\n", b"cas a 0 0 1 {a}\r\nc\r\n", b"cas a 0 0 1 {a}\r\nd\r\n", b"gets a\r\n",
    b"cas none 0 0 1 5\r\nd\r\n", b"cas a 0 0 1 0\r\nd\r\n", b"cas none 0 0 1 0\r\nd\r\n",
    b"cas a 0 0 1 {a} noreply\r\ne\r\n", b"gets a\r\n",
    # Numbers.
    b"incr none 1\r\n", b"set n 3 0 2\r\n10\r\n", b"incr n 5\r\n", b"decr n 10\r\n",
    b"gets n\r\n", b"decr n 100\r\n", b"incr n 18446744073709551615\r\n", b"incr n 1\r\n",
    b"gets n\r\n", b"incr n 18446744073709551616\r\n", b"incr n x\r\n", b"incr n -1\r\n",
    b"incr n -0\r\n", b"incr n +2\r\n", b"incr n -18446744073709551615\r\n", b"incr n 1\t\r\n",
    b"incr n 1x\r\n", b"incr n \r\n", b"decr n -\r\n", b"incr n 1 noreply\r\n", b"get n\r\n",
    b"incr n x noreply\r\n", b"incr n 1 foo\r\n", b"incr n 1 foo noreply\r\n",
    # Times.
    b"touch none 0\r\n", b"touch n 0\r\n", b"touch n x\r\n", b"touch n x noreply\r\n",
    b"touch n 0 noreply\r\n", b"gat 0 n\r\n", b"gats 0 n\r\n", b"gat x n\r\n", b"gat 1x n\r\n",
    b"gat 0 none\r\n", b"touch n -1\r\n", b"get n\r\n", b"set n 0 0 1\r\n1\r\n",
    b"gat -1 n\r\n", b"get n\r\n", b"set n 0 1000000000 1\r\n1\r\n", b"get n\r\n",
    b"set n 0 2592001 1\r\n1\r\n", b"get n\r\n", b"set n 0 9223372036854775808 1 noreply\r\n",
    b"ms n 1 T1000000\r\n1\r\n", b"touch n 0\r\n", b"mg n t\r\n",
    # Deletion.
    b"delete n\r\n", b"delete n\r\n", b"delete a 0\r\n", b"delete a 1\r\n", b"delete a 00\r\n",
    b"delete a 0 x\r\n", b"delete a noreply x\r\n", b"delete a x noreply\r\n",
    b"delete a 0 noreply\r\n", b"delete a noreply\r\n",
    # Meta get.
    b"set a 5 0 3\r\nabc\r\n", b"mg a\r\n", b"mg a v\r\n", b"mg a v f t s k c Oxyz q\r\n",
    b"mg none v k Oxyz\r\n", b"mg none v q k\r\n", b"mg a q\r\n", b"mg a k q O1\r\n",
    b"mg a v v\r\n", b"mg a 1\r\n", b"mg a z\r\n", b"mg a \xff\r\n", b"mg a vfoo sbar\r\n",
    b"mg a Pfoo Lbar u v\r\n", b"mg a F5 C5 J1 D1 MX\r\n", b"mg a S5\r\n", b"mg a Tx\r\n",
    b"mg a T\r\n", b"mg a O\r\n", b"mg a " + OPAQUE + b"\r\n", b"mg a " + OPAQUE + b"o\r\n",
    b"mg none " + OPAQUE + b"o\r\n", b"mg a M\r\n", b"mg a MXX\r\n", b"mg a D\r\n",
    b"mg a Dx z\r\n", b"mg a Dx Tx\r\n", b"mg a Fx Tx\r\n", b"mg a Tx Fx\r\n", b"mg a Fx\r\n",
    b"mg a Jx\r\n", b"mg a Jx Dx\r\n", b"mg a Tx v v\r\n", b"mg a T0 t\r\n", b"mg a T-1 v\r\n",
    b"mg a v\r\n", b"mg Y b\r\n", b"mg YWI b\r\n", b"mg =Q== b\r\n", b"mg Y!== b\r\n",
    b"mg c f k s t v u O P L q F1 C1 MX D1 J1 T0\r\n",
    b"mg c c f k s t v u O P L q F1 C1 MX D1 J1 T0 b\r\n", b"mg a f t f t f t f t f t\r\n",
    # Meta set.
    b"ms a\r\n", b"ms a x\r\n", b"ms a -1\r\n", b"ms a x z\r\n", b"ms a 2\r\nhi\r\n",
    b"ms a 2 k Oq c\r\nhi\r\n", b"mg a c v\r\n", b"ms a 2 q\r\nhi\r\n", b"ms a 2 q ME\r\nhi\r\n",
    b"ms e 2 ME\r\nhi\r\n", b"ms a 2 MA\r\nhi\r\n", b"ms a 2 MP c\r\nho\r\n",
    b"ms none 2 MA\r\nhi\r\n", b"ms none 2 MP k O1\r\nhi\r\n", b"ms none 2 MR k c\r\nhi\r\n",
    b"ms a 2 MS\r\nhi\r\n", b"ms a 2 MR\r\nhi\r\n", b"ms a 2 MX\r\nhi\r\n",
    b"ms a 2 Ma\r\nhi\r\n", b"ms a 2 MEE\r\nhi\r\n", b"ms a 2 M\r\nhi\r\n",
    b"ms a 2 C9999 c k O1\r\nhi\r\n", b"ms none 2 C9999 c k O1\r\nhi\r\n", b"mg a c\r\n",
    b"ms a 2 C{a} c\r\nhi\r\n", b"ms a 2 C{a} c\r\nhi\r\n", b"ms a 1 C0\r\n5\r\n",
    b"ms a 1 C0 MA\r\n5\r\n", b"ms a 1 C9 MA\r\n5\r\n", b"ms none 1 C9 MA\r\n5\r\n",
    b"ms a 1 C0 ME\r\n5\r\n", b"ms e2 1 C99 ME\r\n5\r\n", b"ms a 1 C99 MR\r\n5\r\n",
    b"ms none 1 C99 MR\r\n5\r\n", b"ms a 2 q C1\r\nhi\r\n", b"ms none 2 q C1\r\nhi\r\n",
    b"ms a 2 F77 T0\r\nhi\r\n", b"mg a f t v\r\n", b"ms a 2 Fx\r\nhi\r\n",
    b"ms a 2 Cx\r\nhi\r\n", b"ms a 2 Tx\r\nhi\r\n", b"ms a 2 z\r\nhi\r\n",
    b"ms a 2 k k\r\nhi\r\n", b"ms a 2 S2\r\nhi\r\n", b"ms a 2 " + OPAQUE + b"o\r\nhi\r\n",
    b"ms a 1 MQ " + OPAQUE + b"o\r\nh\r\n", b"ms a 1 " + OPAQUE + b"o MQQ\r\nh\r\n",
    b"ms a 2 v s f t l h N1 R1\r\nhi\r\n", b"ms a 2 T-1\r\nhi\r\n", b"mg a v\r\n",
    b"ms  a  0 \r\n\r\n", b"mg a v\r\n", b"ms YmluYXJ5 2 b k c\r\nhi\r\n",
    b"mg YmluYXJ5 b k v O1\r\n", b"get binary\r\n",
    b"ms a 1 c f k s t v u O P L q F1 MS D1 J1 T0\r\n1\r\n",
    # Meta arithmetic.
    b"ma none\r\n", b"ma none q k\r\n", b"ma none k O1\r\n", b"set n 3 0 1\r\n5\r\n", b"ma n\r\n",
    b"ma n v\r\n", b"ma n v D10 t c k Oq\r\n", b"ma n MD v\r\n", b"ma n M- D100 v\r\n",
    b"ma n M+ v\r\n", b"ma n MI v\r\n", b"ma n MI MD\r\n", b"ma n MQ\r\n", b"ma n Md\r\n",
    b"ma n M\r\n", b"ma n MII\r\n", b"ma n Dx\r\n", b"ma n Jx\r\n", b"ma n Nx\r\n",
    b"ma n MQ " + OPAQUE + b"o\r\n", b"ma m N0 J13 v t c k\r\n",
    b"ma m N0 v t\r\n", b"ma m2 N0\r\n", b"mg m2 v f t\r\n", b"ma n T0 t\r\n", b"gets n\r\n",
    b"ma n C1 v k O1\r\n", b"ma n C0 v\r\n", b"ma n q\r\n", b"ma n q v\r\n", b"ma n q C1\r\n",
    b"set s 0 0 1\r\nx\r\n", b"ma s\r\n", b"ma s q\r\n", b"ma n v v\r\n", b"ma n z\r\n",
    b"ma n D18446744073709551615 v\r\n", b"ma n D18446744073709551616 v\r\n", b"mg n c\r\n",
    b"ma n C{n} c v\r\n", b"ma bQ== b k v\r\n",
    # Meta delete.
    b"md none\r\n", b"md none k Oxx q\r\n", b"md a C1 k Oxx\r\n", b"md a C0\r\n", b"md a q C1\r\n",
    b"md a z\r\n", b"md a M\r\n", b"md a Cx\r\n", b"md a k k\r\n", b"md a " + OPAQUE + b"o\r\n",
    b"mg a c\r\n", b"md a v T5 C{a}\r\n", b"md a\r\n", b"ms a 2\r\nhi\r\n", b"md a q k\r\n",
    b"md bQ== b k\r\n",
    b"md zz c f k s t v u O P L q F1 C1 MX D1 J1 T1 N1\r\n",
    b"ma zz c f k s t v u O P L q F1 C1 MI D1 J1 T1 N1\r\n",
    b"mg zz c f k s t v u O P L q F1 C1 MX D1 J1 T1 b u\r\n",
]
for text in (b"18446744073709551615", b"018446744073709551615", b"18446744073709551616", b"5  ",
             b" 5 ", b"+5 ", b"-5 ", b"-0", b"5x ", b"5 x", b"", b"   ", b"5\t3", b"5\x003",
             b"0x5", b"0000000005", b"1" * 60, b"9", b"- 5", b"+-5", b"\n7", b"7\n"):
    REQUESTS += [b"set i 7 0 %d\r\n%s\r\n" % (len(text), text), b"incr i 1\r\n", b"gets i\r\n",
                 b"decr i 3\r\n", b"get i\r\n"]

# Several requests or several keys each.
CONVERSATIONS = [
    b"set a 1 0 1\r\nA\r\nset b 2 0 2\r\nBB\r\nset c 0 0 0\r\n\r\n", b"get a b c d\r\n",
    b"gets d c b a a\r\n", b"get a\r\n\r\nget b\r\n", b"get a\r\nget d\r\nget c\r\n",
    b"gat 0 a d b\r\ngats 0 c a\r\n", b"get a " + LONG + b" b\r\nget b\r\n",
    b"get " + b" ".join([b"a", b"d"] * 40) + b"\r\n", b"get  a   b \r\n", b"get a noreply\r\n",
    b"set a x 0 1\r\nq\r\n", b"set a 0 x 1\r\nq\r\n", b"set a -1 0 1\r\nq\r\n",
    b"set a 18446744073709551616 0 1\r\nq\r\n", b"set a 1x 0 1\r\nq\r\n",
    b"set a 0 9223372036854775808 1\r\nq\r\n", b"set a 0 0 3\r\nabcd\r\n",
    b"set a 0 0 3\r\nab\r\nx\r\n", b"set a 0 0 1\r\nx\n\n", b"set a 0 0 3 noreply\r\nabcde\r\n",
    b"set " + LONG + b" 0 0 1\r\na\r\n", b"set a 0 0 1 x noreply\r\nz\r\n",
    b"set a 0 0 1 noreply noreply\r\nx\r\n", b"cas a 0 0 1\r\nu\r\n", b"cas a 0 0 1 x\r\nu\r\n",
    b"cas a 0 0 1 -1\r\nu\r\n", b"ms a S2\r\nhi\r\n", b"ms a 2\r\nhix\r\n",
    b"ms a 2 q\r\nhix\r\n", b"ms a 2 k k\r\nhi\r\nmg a k\r\n", b"ms " + LONG + b" 2\r\nhi\r\n",
    b"ms a 1 c f k s t v u O P L q F1 C1 MS D1 J1 T1\r\n1\r\n",
    b"mg a v q\r\nmg none v q\r\nmg b v q k\r\nmn\r\n", b"ms a 1 q\r\n1\r\nma a q\r\nmg a v\r\n",
    b"set a 0 0 1 noreply\r\n1\r\nincr a 1 noreply\r\ntouch a 0 noreply\r\nget a\r\n"
    b"delete a noreply\r\nget a\r\n",
    b"version\r\nquit\r\nversion\r\n", b"quit x\r\nversion\r\n",
    b"set a 0 0 1\r\nx\r\nset a 0 0 2000000\r\n" + bytes(2000000) + b"\r\nget a\r\n",
    b"add a 0 0 2000000 noreply\r\n" + bytes(2000000) + b"\r\nget a\r\n",
    b"ms a 2000000 q\r\n" + bytes(2000000) + b"\r\nget a\r\n",
    b"set a 0 0 1\r\nx\r\nget a b\r\nflush_all\r\nget a b\r\n",
]

SET = struct.pack(">II", 0xdeadbeef, 0)
TTL = struct.pack(">I", 0)


def delta(amount, initial, expiry):
    return struct.pack(">QQI", amount, initial, expiry)


BINARY = [
    binary(0x00, b"a"), binary(0x0c, b"a"), binary(0x09, b"a"), binary(0x0d, b"a"),
    binary(0x01, b"a", SET, b"val"), binary(0x11, b"a", SET, b"val2"), binary(0x00, b"a"),
    binary(0x09, b"a"), binary(0x0c, b"a"), binary(0x0d, b"a"),
    binary(0x01, b"a", SET, b"v", 999), binary(0x01, b"no", SET, b"v", 999),
    binary(0x11, b"a", SET, b"v", 999), binary(0x02, b"a", SET, b"v"),
    binary(0x12, b"a", SET, b"v"), binary(0x02, b"b", SET, b"v"), binary(0x12, b"c", SET, b"v"),
    binary(0x02, b"no", SET, b"v", 5), binary(0x02, b"a", SET, b"v", 5),
    binary(0x03, b"no", SET, b"v"), binary(0x03, b"a", SET, b"w"), binary(0x13, b"a", SET, b"w"),
    binary(0x13, b"no", SET, b"w"), binary(0x03, b"no", SET, b"v", 77),
    binary(0x0e, b"a", value=b"++"), binary(0x19, b"a", value=b"++"),
    binary(0x0e, b"no", value=b"++"), binary(0x19, b"no", value=b"++"),
    binary(0x0f, b"a", value=b"--"), binary(0x1a, b"a", value=b"--"),
    binary(0x0e, b"a", value=b"+", unique=1), binary(0x0e, b"no", value=b"+", unique=1),
    binary(0x0e, b"a", SET, b"+"), binary(0x0e, b"a"), binary(0x00, b"a"),
    binary(0x05, b"n", delta(1, 0, 0xffffffff)), binary(0x05, b"n", delta(1, 10, 0)),
    binary(0x05, b"n", delta(5, 10, 0)), binary(0x00, b"n"), binary(0x06, b"n", delta(100, 0, 0)),
    binary(0x00, b"n"), binary(0x15, b"n", delta(5, 10, 0)), binary(0x00, b"n"),
    binary(0x05, b"a", delta(5, 10, 0)), binary(0x05, b"n", delta(5, 10, 0), unique=1),
    binary(0x05, b"n", delta(5, 10, 0), b"x"), binary(0x05, b"n", delta(5, 10, 0)[:19]),
    binary(0x16, b"nn", delta(5, 10, 0xffffffff)), binary(0x05, b"n", delta(2**64 - 1, 0, 0)),
    binary(0x05, b"mc", delta(1, 5, 0), unique=9), binary(0x05, b"", delta(1, 1, 1)),
    binary(0x16, b"n", delta(1, 0, 0)), binary(0x00, b"n"),
    binary(0x04, b"b"), binary(0x04, b"b"), binary(0x14, b"b"), binary(0x04, b"a", unique=1),
    binary(0x04, b"a", b"1234"), binary(0x04, b"a", value=b"x"), binary(0x14, b"a"),
    binary(0x04), binary(0x00), binary(0x00, b"a", b"1234"), binary(0x00, b"a", value=b"x"),
    binary(0x01, b"", SET, b"x"), binary(0x01, b"a", b"", b"x"), binary(0x01, LONG, SET, b"x"),
    binary(0x00, LONG), binary(0x04, LONG), binary(0x1c, LONG, TTL), binary(0x0a),
    binary(0x0a, b"k"), binary(0x0a, b"", b"x"), binary(0x0b), binary(0x0b, b"k"),
    binary(0x0b, b"", b"1"), binary(0x08), binary(0x08, b"", TTL), binary(0x18),
    binary(0x08, b"k"), binary(0x08, b"", b"xxx"), binary(0x1c, b"a", TTL),
    binary(0x01, b"a", SET, b"val"), binary(0x1c, b"a", TTL),
    binary(0x1d, b"a", TTL), binary(0x1e, b"a", TTL), binary(0x23, b"a", TTL),
    binary(0x24, b"a", TTL), binary(0x1d, b"no", TTL), binary(0x1e, b"no", TTL),
    binary(0x23, b"no", TTL), binary(0x24, b"no", TTL), binary(0x1c, b"a"),
    binary(0x1d, b"a", b"1" * 8),
    binary(0x1c, b"a", b"\xff" * 4), binary(0x00, b"a"),
    binary(0x1c, b"a", struct.pack(">I", 2592001)), binary(0x00, b"a"),
    binary(0x50), binary(0x1f), binary(0x20), binary(0x10, b"foo"), binary(0x10, b"", b"1"),
    binary(0x10, b"reset"),
    binary(0x01, b"a", SET, b"v", 0) + binary(0x11, b"p", SET, b"1") + binary(0x09, b"a") +
    binary(0x09, b"no") + binary(0x0d, b"p") + binary(0x0a),
    binary(0x0a) + binary(0x0a) + binary(0x00, b"a"), binary(0x50) + binary(0x0a),
    binary(0x00, b"a", b"1234") + binary(0x0a), binary(0x00, LONG) + binary(0x0a),
    binary(0x00, b"no") + binary(0x0a), binary(0x17), binary(0x07), binary(0x07) + binary(0x0a),
    binary(0x17) + binary(0x0a), binary(0x07, b"k") + binary(0x0a),
    binary(0x07, value=b"1"), binary(0x0a) + b"\x81" + bytes(23),
    binary(0x00, b"abc", body=2)[:26], binary(0x01, b"a", SET, b"xyz", body=5)[:29],
    binary(0x01, b"a", SET, b"1") + binary(0x01, b"a", SET, bytes(2000000)) + binary(0, b"a"),
    binary(0x12, b"a", SET, bytes(2000000)) + binary(0x0a),
]

# Requests over byte streams whose answers depend on that.
STREAMS = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"POST a b HTTP/1.0\r\n", b"HTTP/1.1\r\n",
    b"mfoo HTTP/1.1\r\n", b"mx HTTP/1.1\r\n", b"G HTTP/1.1\r\n", b"gfoo HTTP/1.1\r\n",
    b"slab HTTP/1.1\r\n", b"vfoo HTTP/\r\n", b"GET a http/1.1\r\n", b"GET HTTP/1.1 x\r\n",
    b"GET " + b"x " * 20 + b"HTTP/1.1\r\n", b"GET " + b"x " * 21 + b"HTTP/1.1\r\n",
    b"GET " + b"x " * 22 + b"HTTP/1.1\r\n", b"version HTTP/1.1\r\n", b"quit HTTP/1.1\r\n",
    b"VALUE a 0 1\r\n1\r\nEND\r\n", b"mn\r\n" + binary(0x0a) + b"\r\nmn\r\n",
    b"set big 0 0 200000\r\n" + b"v" * 200000 + b"\r\nget big\r\n", b"mg big v\r\n",
    b"get big big a big\r\nmn\r\n", b"get big\r\nquit\r\n", b"ms big 1\r\nx\r\n",
    b"set big 0 0 1048000\r\n" + b"v" * 1048000 + b"\r\nget big big\r\n",
    b"get " + b"a none " * 4000 + b"\r\n",
    b"set c 0 0 200000\r\n" + b"v" * 200001 + b"\r\nmn\r\n",
    b"ms c 200000 z\r\n" + b"v" * 200000 + b"\r\nmn\r\n",
    b"ms c 2000000 MA O1\r\n" + b"v" * 2000000 + b"\r\nmg c v\r\n",
    b"ms c 1\r\nx\r\nms c 2000000 k O1\r\n" + b"v" * 2000000 + b"\r\nmg c v\r\n",
    b"ms c 1\r\nx\r\nms c 2000000 ME\r\n" + b"v" * 2000000 + b"\r\nmg c v\r\n",
    b"set c 0 0 1\r\nx\r\nadd c 0 0 2000000\r\n" + b"v" * 2000000 + b"\r\nget c\r\n",
    b"set c 0 0 1\r\nx\r\ncas c 0 0 2000000 1\r\n" + b"v" * 2000000 + b"\r\nget c\r\n",
    b"set c 0 0 1\r\nx\r\nappend c 0 0 2000000\r\n" + b"v" * 2000000 + b"\r\nget c\r\n",
    b"set c 0 0 2000000 noreply\r\n" + b"v" * 2000000 + b"xyget c\r\n",
    binary(0x01, b"big", SET, b"w" * 300000) + binary(0x00, b"big") + binary(0x0d, b"big"),
    binary(0x0e, b"big", value=b"x" * 300000) + binary(0x00, b"big"),
    binary(0x0e, b"big", value=b"x" * 2000000) + binary(0x0a),
    binary(0x13, b"big", SET, b"x" * 2000000) + binary(0x0a),
    binary(0x11, b"big", SET, b"x" * 2000000) + binary(0x00, b"big"),
    binary(0x00, b"big", body=2**32 - 1), binary(0x00, b"abc", body=2), binary(0x01, LONG, SET,
                                                                              body=10**6),
    binary(0x01, b"a", b"", body=10**6), binary(0x0a) + bytes(24),
]
