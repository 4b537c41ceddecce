/* SPDX-License-Identifier: BSD-3-Clause
 *
 * odd_client ADDRESS PORT CALLS: calls the service of odd.x through what rpcgen made of it, with
 * libtirpc over UDP, and checks every answer; asks the port mapper at the end. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odd.h"

static int turns_well(CLIENT *client, unsigned seed) {
  shape sent, *got;
  u_int sides[4], i;
  char name[21];
  int good = 0;
  memset(&sent, 0, sizeof(sent));
  sent.kind = seed % 3 == 0 ? RED : seed % 3 == 1 ? BLUE : 9;
  if (sent.kind == RED) {
    for (i = 0; i < 1 + seed % 20; ++i) name[i] = 'a' + (seed + i) % 26;
    name[i] = '\0';
    sent.shape_u.name = name;
  } else if (sent.kind == BLUE) {
    sent.shape_u.sides.sides_len = seed % 5;
    sent.shape_u.sides.sides_val = sides;
    for (i = 0; i < 4; ++i) sides[i] = seed * 2654435761u + i;
  }
  got = turn_1(&sent, client);
  if (got == NULL || got->kind != sent.kind) return 0;
  if (sent.kind == RED) {
    good = strcmp(got->shape_u.name, name + 1) == 0;
  } else if (sent.kind == BLUE) {
    good = got->shape_u.sides.sides_len == seed % 5;
    for (i = 0; good && i < seed % 5; ++i) good = got->shape_u.sides.sides_val[i] == 2 * sides[i];
  } else {
    good = 1;
  }
  clnt_freeres(client, (xdrproc_t)xdr_shape, (char *)got);
  return good;
}

int main(int argc, char **argv) {
  struct sockaddr_in server = {0};
  struct timeval patience = {2, 0};
  int socket = RPC_ANYSOCK;
  unsigned calls, good = 0, i;
  CLIENT *client;
  if (argc != 4) return 2;
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = inet_addr(argv[1]);
  server.sin_port = htons((unsigned short)atoi(argv[2]));
  calls = (unsigned)atoi(argv[3]);
  client = clntudp_create(&server, ODD_PROGRAM, ODD_VERSION, patience, &socket);
  if (client == NULL) return 1;
  for (i = 0; i < calls; ++i) good += turns_well(client, i);
  /* A handler that fails, and a version that there is not. */
  printf("good %u\n", good);
  printf("fail: %s\n", fail_1(NULL, client) == NULL ? clnt_sperror(client, "") : "nothing");
  clnt_destroy(client);
  socket = RPC_ANYSOCK;
  client = clntudp_create(&server, ODD_PROGRAM, 7, patience, &socket);
  printf("version: %s\n", fine_1(NULL, client) == NULL ? clnt_sperror(client, "") : "nothing");
  clnt_destroy(client);
  client = clnt_create(argv[1], ODD_PROGRAM, ODD_VERSION, "udp");
  if (client == NULL) {
    printf("portmap: %s\n", clnt_spcreateerror(""));
    return 1;
  }
  printf("portmap: %s\n", fine_1(NULL, client) != NULL ? "fine" : clnt_sperror(client, ""));
  clnt_destroy(client);
  return good == calls ? 0 : 1;
}
