/* The floor: what the least that a closed-loop client can do costs.  One thread, epoll; an answer's end is found, nothing is kept.
 *
 *   client port connections requests tokens
 *
 * Prints requests, chunks (a guess by events: tokens + 4 per answer), seconds and processor seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char request[4096], in[1 << 18];
static int request_size;

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    int port = atoi(argv[1]), connections = atoi(argv[2]);
    long wanted = atol(argv[3]), sent = 0, done = 0;
    char body[2048];
    int size = sprintf(body, "{\"model\":\"m\",\"stream\":true,\"max_tokens\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"%0512d\"}]}", argv[4], 0);
    request_size = sprintf(request, "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", size, body);
    int poll = epoll_create1(0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event e = {.events = EPOLLIN}, found[256];
    double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < connections; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address)) { perror("connect"); return 1; }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        e.data.fd = fd;
        epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e);
        if (send(fd, request, request_size, 0) != request_size) return 1;
        sent++;
    }
    while (done < wanted) {
        int n = epoll_wait(poll, found, 256, -1);
        for (int i = 0; i < n; i++) {
            int fd = found[i].data.fd;
            ssize_t got = recv(fd, in, sizeof in, MSG_DONTWAIT);
            if (got == 0) return 1;
            if (got < 5 || memcmp(in + got - 5, "0\r\n\r\n", 5)) continue;
            done++;
            if (sent < wanted) {
                if (send(fd, request, request_size, 0) != request_size) return 1;
                sent++;
            }
        }
    }
    double seconds = now(CLOCK_MONOTONIC) - begin;
    printf("%ld %ld %.6f %.6f\n", done, done * (atol(argv[4]) + 4), seconds, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    return 0;
}
