/* An engine whose timing is known: HTTP/1.1, one thread, epoll, absolute nanosecond timers.
 *
 *   server [-1 first_us] [-2 gap_us] [-n tokens] [-a] [-t truth_file] [-w turnaround_file]
 *
 * Listens on a free port of 127.0.0.1 and prints it.  Every POST is answered by a stream of chat completion chunks: a role, then
 * `tokens` tokens (or max_tokens of the request), a finish reason, the usage, [DONE].  Token k is due `first_us` + k * `gap_us`
 * after the request was read; each event is one HTTP chunk and one send(), unless -a sends all events of an answer at once.  Both
 * 0: everything at once.  With -t the times of every token just before its send() are written at SIGTERM, as text:
 * request number, ns at which the request was read, ns of each token.  The number is the first word of the answer: "r17".
 * With -w the time from the last send() of each answer to the next request on its connection is written, ns, one a line: until the
 * kernel had the request's last bytes (SO_TIMESTAMPNS), so that this server's own delay in reading it is not in it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST_TOKENS 4096
#define IN_BYTES (1 << 20)

typedef struct {
    int fd, have, tokens, next, open;
    int64_t read_ns, due_ns, ended_ns, came_ns; /* the last two by the wall clock */
    long number;
    int64_t *truth;
    int heap; /* place in the heap, -1: not there */
    char *in;
} Conn;

static long first_ns, gap_ns, requests;
static int tokens_default = 64, all_at_once, want_truth;
static FILE *truth_file, *turn_file;
static volatile sig_atomic_t stopped;
static Conn *conns[65536];
static Conn *heap[65536];
static int heap_size;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t wall_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* recv(), and when the last bytes came. */
static ssize_t receive(Conn *c) {
    char control[64];
    struct iovec into = {.iov_base = c->in + c->have, .iov_len = IN_BYTES - 1 - c->have};
    struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(c->fd, &message, 0);
    struct cmsghdr *told = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (told && told->cmsg_type == SO_TIMESTAMPNS) {
        struct timespec t;
        memcpy(&t, CMSG_DATA(told), sizeof t);
        c->came_ns = t.tv_sec * 1000000000LL + t.tv_nsec;
    }
    return n;
}

static void on_signal(int sig) { (void)sig; stopped = 1; }

static void put(int i, Conn *c) { heap[i] = c; c->heap = i; }
static void up(int i) {
    Conn *c = heap[i];
    while (i && heap[(i - 1) / 2]->due_ns > c->due_ns) { put(i, heap[(i - 1) / 2]); i = (i - 1) / 2; }
    put(i, c);
}
static void down(int i) {
    Conn *c = heap[i];
    for (;;) {
        int k = 2 * i + 1;
        if (k >= heap_size) break;
        if (k + 1 < heap_size && heap[k + 1]->due_ns < heap[k]->due_ns) k++;
        if (heap[k]->due_ns >= c->due_ns) break;
        put(i, heap[k]);
        i = k;
    }
    put(i, c);
}
static void heap_add(Conn *c) { put(heap_size, c); up(heap_size++); }
static void heap_drop(Conn *c) {
    int i = c->heap;
    c->heap = -1;
    Conn *last = heap[--heap_size];
    if (last == c) return;
    put(i, last);
    up(i);
    down(last->heap);
}

static const char HEAD[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char BEFORE[] = "data: {\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":";

static int chunk(char *out, const char *data, int size) {
    int n = sprintf(out, "%x\r\n", size);
    memcpy(out + n, data, size);
    memcpy(out + n + size, "\r\n", 2);
    return n + size + 2;
}

static int event(char *out, Conn *c, int k) { /* -1: role; tokens: finish; tokens + 1: usage and end */
    char data[512];
    int n = 0;
    if (k <= c->tokens) n = sprintf(data, BEFORE, c->number);
    if (k < 0) n += sprintf(data + n, "{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    else if (k == 0) n += sprintf(data + n, "{\"content\":\"r%ld \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", c->number);
    else if (k < c->tokens) n += sprintf(data + n, "{\"content\":\"word%d \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", k % 100);
    else if (k == c->tokens) n += sprintf(data + n, "{},\"logprobs\":null,\"finish_reason\":\"length\"}]}\n\n");
    else {
        n = sprintf(data, "data: {\"id\":\"chatcmpl-%ld\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\"model\":\"m\",\"choices\":[],"
            "\"usage\":{\"prompt_tokens\":16,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", c->number, c->tokens, c->tokens + 16);
        n = chunk(out, data, n);
        memcpy(out + n, "0\r\n\r\n", 5);
        return n + 5;
    }
    return chunk(out, data, n);
}

static void drop(Conn *c) {
    if (c->heap >= 0) heap_drop(c);
    conns[c->fd] = NULL;
    close(c->fd);
    free(c->truth);
    free(c->in);
    free(c);
}

static int put_out(Conn *c, const char *data, int size) {
    while (size) {
        ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EAGAIN) { usleep(50); continue; } /* the client does not read: rare, and then nothing else matters */
            return -1;
        }
        data += n;
        size -= n;
    }
    return 0;
}

static void end_answer(Conn *c) {
    c->open = 0;
    if (!want_truth) return;
    fprintf(truth_file, "%ld %lld", c->number, (long long)c->read_ns);
    for (int k = 0; k < c->tokens; k++) fprintf(truth_file, " %lld", (long long)c->truth[k]);
    fputc('\n', truth_file);
}

static int say(Conn *c) { /* whatever is due of this answer; -1: the client has gone */
    static char out[MOST_TOKENS * 320];
    if (!first_ns && !gap_ns && all_at_once) {
        int n = 0;
        memcpy(out, HEAD, n = sizeof HEAD - 1);
        for (int k = -1; k <= c->tokens + 1; k++) {
            if (want_truth && k >= 0 && k < c->tokens) c->truth[k] = now_ns();
            n += event(out + n, c, k);
        }
        if (turn_file) c->ended_ns = wall_ns();
        if (put_out(c, out, n)) return -1;
        end_answer(c);
        return 0;
    }
    for (;;) {
        int n = 0, k = c->next;
        if (k < 0) memcpy(out, HEAD, n = sizeof HEAD - 1);
        n += event(out + n, c, k);
        if (want_truth && k >= 0 && k < c->tokens) c->truth[k] = now_ns();
        if (turn_file && k == c->tokens + 1) c->ended_ns = wall_ns();
        if (put_out(c, out, n)) return -1;
        c->next++;
        if (c->next > c->tokens + 1) { end_answer(c); return 0; }
        if (c->next >= c->tokens || (!gap_ns && (c->next > 0 || !first_ns))) continue;
        c->due_ns = c->read_ns + first_ns + c->next * gap_ns;
        if (c->due_ns > now_ns()) { heap_add(c); return 0; }
    }
}

static void take(Conn *c) {
    for (;;) {
        ssize_t n = turn_file ? receive(c) : recv(c->fd, c->in + c->have, IN_BYTES - 1 - c->have, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) { drop(c); return; }
        if (n < 0) return;
        c->have += n;
        c->in[c->have] = 0;
        if (c->open) continue;
        char *stop = strstr(c->in, "\r\n\r\n");
        if (!stop) continue;
        char *length = strcasestr(c->in, "content-length:");
        int body = length && length < stop ? atoi(length + 15) : 0;
        if (c->have < stop + 4 - c->in + body) continue;
        if (!strncmp(c->in, "GET ", 4)) {
            static const char models[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 56\r\n\r\n"
                                         "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\"}]}\n\n";
            put_out(c, models, sizeof models - 1);
            c->have = 0;
            continue;
        }
        char *most = strstr(stop, "\"max_tokens\":");
        c->tokens = most ? atoi(most + 13) : tokens_default;
        if (c->tokens < 1 || c->tokens > MOST_TOKENS) c->tokens = tokens_default;
        c->have = 0;
        if (turn_file && c->ended_ns) fprintf(turn_file, "%lld\n", (long long)(c->came_ns - c->ended_ns));
        c->read_ns = now_ns();
        c->number = requests++;
        c->next = -1;
        c->open = 1;
        if (want_truth) c->truth = realloc(c->truth, c->tokens * sizeof *c->truth);
        if (say(c)) { drop(c); return; }
    }
}

int main(int argc, char **argv) {
    int opt;
    while ((opt = getopt(argc, argv, "1:2:n:at:w:")) != -1) {
        if (opt == '1') first_ns = atol(optarg) * 1000;
        else if (opt == '2') gap_ns = atol(optarg) * 1000;
        else if (opt == 'n') tokens_default = atoi(optarg);
        else if (opt == 'a') all_at_once = 1;
        else if (opt == 't') { truth_file = fopen(optarg, "w"); want_truth = truth_file != NULL; }
        else if (opt == 'w') turn_file = fopen(optarg, "w");
        else return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGPIPE, SIG_IGN);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096)) { perror("listen"); return 1; }
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    int poll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = listener}, found[256];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &e);
    e.data.fd = timer;
    epoll_ctl(poll, EPOLL_CTL_ADD, timer, &e);
    int64_t armed = 0;
    while (!stopped) {
        if (heap_size && heap[0]->due_ns != armed) {
            armed = heap[0]->due_ns;
            struct itimerspec at = {.it_value = {armed / 1000000000, armed % 1000000000}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
        }
        int n = epoll_wait(poll, found, 256, -1);
        for (int i = 0; i < n; i++) {
            int fd = found[i].data.fd;
            if (fd == timer) {
                uint64_t ticks;
                if (read(timer, &ticks, 8) != 8) continue;
            } else if (fd == listener) {
                int got;
                while ((got = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    if (got >= 65536) { close(got); continue; }
                    setsockopt(got, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    if (turn_file) setsockopt(got, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
                    Conn *c = calloc(1, sizeof *c);
                    c->fd = got;
                    c->heap = -1;
                    c->in = malloc(IN_BYTES);
                    conns[got] = c;
                    e.data.fd = got;
                    epoll_ctl(poll, EPOLL_CTL_ADD, got, &e);
                }
            } else if (conns[fd]) take(conns[fd]);
        }
        int64_t now = now_ns();
        while (heap_size && heap[0]->due_ns <= now) {
            Conn *c = heap[0];
            heap_drop(c);
            if (say(c)) drop(c);
        }
    }
    if (truth_file) fclose(truth_file);
    if (turn_file) fclose(turn_file);
    return 0;
}
