/* How are requests sent on time and answers timestamped, whatever the interpreter is doing?
 *
 * By one thread without Python: it sends due requests, reads incoming data with kernel timestamps (SO_TIMESTAMPNS), detects the end
 * of an answer, and sends its follower on the same connection.  Python parses the answer's content after its end.
 *
 * Two threads, no lock.  Commands go in through one list, finished exchanges come out through another; each is a stack whose head
 * is swapped, and the side that makes it non-empty wakes the other through an eventfd.  Everything else belongs to one thread: an
 * exchange to the core from `send` or `arm` until `take` returns it, connections and pools to the core alone.
 *
 * Every read carries the uncertainty of its time.  The timestamp of a read with several packets is the last one's; the others came
 * after the last time at which the socket was known to be empty: the previous poll, which did not report it, or the read that
 * drained it.  The thread polls every `tick_ns` while anything is in flight, so that time is recent unless the thread was
 * descheduled.
 *
 * HTTP/1.1 as in `fireassay.traffic.wire.connection`, which replaces this client where it cannot be built.
 * Source: RFC 9112; socket(7), epoll_wait(2); Documentation/networking/timestamping.rst of Linux.
 */
#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define READ_BYTES (1 << 16)
#define MOST_EVENTS 1024
#define HEAD_BYTES (1 << 16)   /* longest head of an answer, all interim heads included */
#define LINE_BYTES (1 << 16)   /* longest line of chunked framing */
#define READ_COST 128          /* memory cost of a read beyond its data */
#define FRESH_NS 10000000      /* connections idle for less are reused without a check */
#define MOVED_NS 10000         /* clock divergence beyond the error of reading the clocks */
#define DELAYED_NS 1000000     /* a timestamp this much older than an empty poll: the packet was held up */
#define LOOK_NS 5000           /* maximum time to read both clocks; beyond it, the thread was interrupted */
#define AGO_NS 10000000000LL   /* an older timestamp must come from another clock */
#define AWAKE_ONE_IN 20        /* at most this fraction of the time is spent busy-waiting */
#define BETWEEN_READS 8        /* reads before due requests take precedence */
#define MANY 32                /* streams from which on polls are delayed to batch reads */
#define GATHER_NS 100000       /* that delay */
#define SLICE_NS 100000        /* requested scheduler slice: a thread with a short slice is scheduled soon */
#define NO_LENGTH (-2)
#define NEVER INT64_MAX

enum { QUEUED, WAITING, FLYING, DONE };                                /* state of an exchange */
enum { COMPLETE, CLOSED, TOO_LARGE, MALFORMED, GIVEN_UP, UNSTARTED };  /* how it ended */
enum { NONE, CHUNKED, LENGTH, UNTIL_CLOSE };                           /* how its answer ends */
enum { SEND, ARM, ADOPT, CANCEL, FAIL, STOP, SYNC, QUIT };             /* commands from Python */
enum { SIZE_LINE, DATA, DATA_END, TRAILER };                           /* within chunked framing */

typedef struct Ex Ex;
typedef struct Link Link;
typedef struct Pool Pool;

struct Ex {
    int64_t handle, number;
    Pool *pool;
    PyObject *payload; /* keeps its bytes alive */
    const char *out;
    size_t out_size;
    int64_t due_ns, pause_ns, sent_ns, seen_ns, done_ns, connect_ns;
    char *data; /* the answer as received */
    size_t size, room_size;
    int64_t *reads; /* three per read: time, uncertainty, end */
    size_t n_reads, room_reads;
    int64_t room; /* bytes left for the answer */
    int ended, error, exact, tag;
    atomic_int state, pins;
    int framing, status, keep, part, line_empty;
    size_t head_at, looked, line; /* begin of the head; searched up to here for its end; bytes of the current line */
    int64_t left;
    char size_text[16];
    int size_chars, size_over; /* 1: the size has ended (an extension follows), 2: not a size */
    Link *link;
    Ex *next; /* sent when this has ended successfully */
    Ex *below; /* next in the list of finished or waiting exchanges */
    size_t place; /* index in the heap */
};

struct Link {
    int fd;
    Pool *pool;
    Ex *ex;
    int used, dead, behind; /* behind: the last read did not drain the socket */
    size_t unsent;
    int64_t connect_ns, idle_ns, empty_ns, last_ns;
    Link *below;
};

struct Pool {
    int number;
    Link *idle; /* most recently used first */
    Ex *first, *last; /* exchanges waiting for a connection */
    atomic_int open, waiting;
};

typedef struct Cmd {
    int kind, fd, tag;
    int64_t ns;
    Ex *ex, *next_ex;
    Pool *pool;
    struct Cmd *below;
} Cmd;

typedef struct {
    PyObject_HEAD
    pthread_t thread;
    int running, poll, wake, told;
    int64_t tick_ns, awake_ns;
    _Atomic(Cmd *) commands;
    _Atomic(Ex *) done;
    atomic_llong end_ns;
    atomic_int synced, held;
    /* used by the thread only */
    Ex **heap;
    size_t heap_size, heap_room;
    Link *graves;
    long flying;
    int stopped, tell;
    int64_t looked_ns, ahead_ns, awake_again_ns;
    char *in;
    /* used by Python only */
    Pool **pools;
    int n_pools;
    Ex **slots;
    int64_t *uses;
    size_t n_slots, n_free;
    size_t *free_slots;
    Ex *zombies; /* returned, but still referenced by a command */
    Py_buffer noted;
    int has_noted;
} Core;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Wall-clock minus monotonic time; 0 if every attempt was interrupted. */
static int64_t ahead(void) {
    for (int i = 0; i < 5; i++) {
        struct timespec t;
        int64_t before = now();
        clock_gettime(CLOCK_REALTIME, &t);
        int64_t after = now();
        if (after - before < LOOK_NS) return t.tv_sec * 1000000000LL + t.tv_nsec - (before + after) / 2;
    }
    return 0;
}

static void ring(int fd) {
    uint64_t one = 1;
    while (write(fd, &one, 8) < 0 && errno == EINTR) {}
}

/* ---- due exchanges: a heap by time ---- */

static void put(Core *c, size_t i, Ex *ex) { c->heap[i] = ex; ex->place = i; }

static void rise(Core *c, size_t i) {
    Ex *ex = c->heap[i];
    while (i && c->heap[(i - 1) / 2]->due_ns > ex->due_ns) { put(c, i, c->heap[(i - 1) / 2]); i = (i - 1) / 2; }
    put(c, i, ex);
}

static void sink(Core *c, size_t i) {
    Ex *ex = c->heap[i];
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= c->heap_size) break;
        if (k + 1 < c->heap_size && c->heap[k + 1]->due_ns < c->heap[k]->due_ns) k++;
        if (c->heap[k]->due_ns >= ex->due_ns) break;
        put(c, i, c->heap[k]);
        i = k;
    }
    put(c, i, ex);
}

static int queue(Core *c, Ex *ex) {
    if (c->heap_size == c->heap_room) {
        size_t room = c->heap_room ? 2 * c->heap_room : 256;
        Ex **grown = realloc(c->heap, room * sizeof *grown);
        if (!grown) return 0;
        c->heap = grown;
        c->heap_room = room;
    }
    put(c, c->heap_size, ex);
    rise(c, c->heap_size++);
    return 1;
}

static void unqueue(Core *c, Ex *ex) {
    size_t i = ex->place;
    Ex *last = c->heap[--c->heap_size];
    if (last == ex) return;
    put(c, i, last);
    rise(c, i);
    sink(c, last->place);
}

/* ---- returning exchanges ---- */

static void give_back(Core *c, Ex *ex) {
    atomic_store(&ex->state, DONE);
    ex->below = atomic_load(&c->done);
    while (!atomic_compare_exchange_weak(&c->done, &ex->below, ex)) {}
    c->tell = 1;
}

static void unstarted(Core *c, Ex *ex) { /* and its followers, which are reported first */
    if (ex->next) { unstarted(c, ex->next); ex->next = NULL; }
    ex->ended = UNSTARTED;
    give_back(c, ex);
}

/* ---- connections ---- */

static void start(Core *c, Ex *ex, Link *link);
static void finish(Core *c, Ex *ex, int ended, int error);

static void bury(Core *c, Link *link) {
    if (link->dead) return;
    link->dead = 1;
    Link **at = &link->pool->idle;
    while (*at && *at != link) at = &(*at)->below;
    if (*at) *at = link->below;
    close(link->fd);
    atomic_fetch_sub(&link->pool->open, 1);
    link->below = c->graves;
    c->graves = link;
    c->tell = 1; /* Python may have to open another one */
}

static Ex *first_waiting(Pool *pool) {
    Ex *ex = pool->first;
    if (ex) {
        pool->first = ex->below;
        if (!pool->first) pool->last = NULL;
        ex->below = NULL;
        atomic_fetch_sub(&pool->waiting, 1);
    }
    return ex;
}

static void wait_for_a_connection(Core *c, Ex *ex, int in_front) {
    Pool *pool = ex->pool;
    atomic_store(&ex->state, WAITING);
    ex->below = in_front ? pool->first : NULL;
    if (in_front) { pool->first = ex; if (!pool->last) pool->last = ex; }
    else { if (pool->last) pool->last->below = ex; else pool->first = ex; pool->last = ex; }
    atomic_fetch_add(&pool->waiting, 1);
    c->tell = 1;
}

static void leave_waiting(Ex *ex) {
    Pool *pool = ex->pool;
    Ex **at = &pool->first, *before = NULL;
    while (*at && *at != ex) { before = *at; at = &(*at)->below; }
    if (!*at) return;
    *at = ex->below;
    if (pool->last == ex) pool->last = before;
    atomic_fetch_sub(&pool->waiting, 1);
}

static void release(Core *c, Link *link) {
    Ex *ex = first_waiting(link->pool);
    if (ex) { start(c, ex, link); return; }
    link->idle_ns = now();
    link->below = link->pool->idle;
    link->pool->idle = link;
}

static int usable(Link *link) {
    if (link->dead) return 0;
    if (now() - link->idle_ns < FRESH_NS) return 1;
    struct pollfd look = {.fd = link->fd, .events = POLLRDHUP};
    return poll(&look, 1, 0) == 0;
}

static void want_room(Core *c, Link *link, int room) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | (room ? EPOLLOUT : 0), .data.ptr = link};
    epoll_ctl(c->poll, EPOLL_CTL_MOD, link->fd, &e);
}

/* 0: none of it was sent, because the server had closed this connection. */
static int begin(Core *c, Link *link, Ex *ex) {
    link->ex = ex;
    ex->link = link;
    ex->connect_ns = link->connect_ns;
    link->connect_ns = -1;
    ex->framing = NONE;
    ex->part = SIZE_LINE;
    ex->sent_ns = now();
    atomic_store(&ex->state, FLYING);
    ssize_t n = send(link->fd, ex->out, ex->out_size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) n = 0;
    if (n < 0) {
        int error = errno;
        ex->link = NULL;
        link->ex = NULL;
        bury(c, link);
        if (link->used) { ex->sent_ns = 0; return 0; }
        c->flying++;
        finish(c, ex, CLOSED, error);
        return 1;
    }
    c->flying++;
    link->unsent = ex->out_size - n;
    if (link->unsent) want_room(c, link, 1);
    return 1;
}

static void start(Core *c, Ex *ex, Link *link) {
    if (c->has_noted && ex->number >= 0 && ex->number < c->noted.len / 8) ((int64_t *)c->noted.buf)[ex->number] = ex->due_ns;
    for (;;) {
        if (!link) {
            link = ex->pool->idle;
            if (!link) { wait_for_a_connection(c, ex, 0); return; }
            ex->pool->idle = link->below;
            link->below = NULL;
            if (!usable(link)) { bury(c, link); link = NULL; continue; }
        }
        if (begin(c, link, ex)) return;
        link = NULL;
    }
}

static void write_left(Core *c, Link *link) {
    Ex *ex = link->ex;
    if (!ex || !link->unsent) { want_room(c, link, 0); link->unsent = 0; return; }
    ssize_t n = send(link->fd, ex->out + ex->out_size - link->unsent, link->unsent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) want_room(c, link, 0); /* reading will report the reason, after any answer */
        return;
    }
    link->unsent -= n;
    if (!link->unsent) want_room(c, link, 0);
}

/* ---- the end of an exchange ---- */

static int may_follow(Core *c, Ex *ex) {
    return ex->ended == COMPLETE && ex->status >= 200 && ex->status < 300 && !c->stopped
        && !atomic_load(&c->held) && ex->done_ns + ex->next->pause_ns < atomic_load(&c->end_ns);
}

static void follow(Core *c, Ex *ex, Link *link) {
    Ex *next = ex->next;
    ex->next = NULL;
    if (link && link->pool->first) { release(c, link); link = NULL; } /* longest waiting first */
    next->due_ns = ex->done_ns + next->pause_ns;
    if (link && (link->pool != next->pool || next->due_ns > now())) { release(c, link); link = NULL; }
    if (next->due_ns > now()) { if (!queue(c, next)) unstarted(c, next); }
    else start(c, next, link);
}

/* `link`, if reusable, is already detached from it. */
static void end(Core *c, Ex *ex, int ended, int error, Link *link) {
    ex->seen_ns = now();
    if (!ex->done_ns) ex->done_ns = ex->seen_ns;
    ex->ended = ended;
    ex->error = error;
    c->flying--;
    if (ex->next && !may_follow(c, ex)) { unstarted(c, ex->next); ex->next = NULL; }
    if (ex->next) follow(c, ex, link);
    else if (link) release(c, link);
    give_back(c, ex);
}

/* Also closes its connection, if it still has one. */
static void finish(Core *c, Ex *ex, int ended, int error) {
    Link *link = ex->link;
    ex->link = NULL;
    if (link) { link->ex = NULL; bury(c, link); }
    end(c, ex, ended, error, NULL);
}

static void complete(Core *c, Ex *ex, int exact) {
    Link *link = ex->link;
    ex->exact = exact;
    ex->done_ns = ex->reads[3 * (ex->n_reads - 1)];
    link->used = 1;
    if (!exact || !ex->keep || link->unsent) { finish(c, ex, COMPLETE, 0); return; }
    ex->link = NULL;
    link->ex = NULL;
    end(c, ex, COMPLETE, 0, link);
}

/* The connection was closed. `error`: an errno; 0: the server sent a FIN. */
static void lost(Core *c, Link *link, int error) {
    Ex *ex = link->ex;
    int untaken = 0;
    if (ex && !error && !ex->n_reads && link->used && !ioctl(link->fd, TIOCOUTQ, &untaken) && (size_t)untaken >= ex->out_size) {
        /* A FIN acknowledges what had arrived when it was sent: none of the request was taken, so another connection may send it. */
        link->ex = NULL;
        ex->link = NULL;
        ex->sent_ns = 0;
        c->flying--;
        bury(c, link);
        start(c, ex, NULL);
        return;
    }
    if (!ex) { bury(c, link); return; }
    finish(c, ex, !error && ex->framing == UNTIL_CLOSE ? COMPLETE : CLOSED, error);
}

/* ---- receiving an answer ---- */

static int same(const char *a, size_t size, const char *word) { return size == strlen(word) && !strncasecmp(a, word, size); }

static int holds(const char *a, size_t size, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= size; i++) if (!strncasecmp(a + i, word, n)) return 1;
    return 0;
}

/* NUL ends the set and is no member of it, though strchr finds it. */
static int blank(char c) { return c && strchr(" \t\v\f\r\n", c); }

static void trim(const char **a, size_t *size) {
    while (*size && blank(**a)) { (*a)++; (*size)--; }
    while (*size && blank((*a)[*size - 1])) (*size)--;
}

/* Parse a head, without its empty line, for what determines where the answer ends. 0: invalid. */
static int read_head(Ex *ex, const char *head, size_t size) {
    const char *stop = head + size, *at;
    int old = size >= 9 && !memcmp(head, "HTTP/1.0 ", 9), codings = 0, coded = 0, chunked = 0, close = 0, alive = 0;
    int64_t length = -1;
    if (!old && (size < 9 || memcmp(head, "HTTP/1.1 ", 9))) return 0;
    if (size < 12) return 0;
    ex->status = 0;
    for (int i = 9; i < 12; i++) {
        if (head[i] < '0' || head[i] > '9') return 0;
        ex->status = 10 * ex->status + head[i] - '0';
    }
    at = memmem(head, size, "\r\n", 2);
    while (at) {
        at += 2;
        const char *line_end = memmem(at, stop - at, "\r\n", 2);
        if (!line_end) line_end = stop;
        const char *colon = memchr(at, ':', line_end - at), *name = at, *value;
        if (!colon) return 0;
        size_t n_name = colon - at, n_value = line_end - colon - 1;
        value = colon + 1;
        trim(&name, &n_name);
        trim(&value, &n_value);
        if (!n_name) return 0;
        if (same(name, n_name, "content-length")) {
            int64_t found = n_value && n_value < 19 ? 0 : NO_LENGTH;
            for (size_t i = 0; i < n_value && found >= 0; i++) found = value[i] < '0' || value[i] > '9' ? NO_LENGTH : 10 * found + value[i] - '0';
            if (length != -1 && length != found) return 0;
            length = found;
        } else if (same(name, n_name, "transfer-encoding")) {
            if (codings++) return 0;
            coded = n_value > 0;
            chunked = same(value, n_value, "chunked");
        } else if (same(name, n_name, "connection")) {
            close |= holds(value, n_value, "close");
            alive |= holds(value, n_value, "keep-alive");
        }
        at = line_end < stop ? line_end : NULL;
    }
    ex->keep = old ? alive : !close;
    if (ex->status == 204 || ex->status == 304 || (ex->status >= 100 && ex->status < 200)) { ex->framing = LENGTH; ex->left = 0; }
    else if (coded) {
        if (!chunked) return 0;
        ex->framing = CHUNKED;
        ex->keep = ex->keep && length == -1;
    } else if (length == NO_LENGTH) return 0;
    else if (length >= 0) { ex->framing = LENGTH; ex->left = length; }
    else { ex->framing = UNTIL_CLOSE; ex->keep = 0; }
    return 1;
}

static int line_over(Ex *ex) { /* the line of a chunk's size has ended; 0: invalid */
    char *stop;
    ex->size_text[ex->size_chars] = 0;
    if (ex->size_over == 2 || !ex->size_chars) return 0;
    ex->left = strtoll(ex->size_text, &stop, 16);
    ex->part = ex->left ? DATA : TRAILER;
    ex->size_chars = ex->size_over = 0;
    ex->line_empty = 1;
    return 1;
}

static void size_char(Ex *ex, char ch) {
    int hex = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'f') || (ch >= 'A' && ch <= 'F');
    if (ex->size_over) return;
    if (ch == ';') ex->size_over = 1;
    else if (ch == ' ' || ch == '\t' || ch == '\r') { if (ex->size_chars) ex->size_over = 3; }
    else if (!hex || ex->size_chars == 12) ex->size_over = 2;
    else ex->size_text[ex->size_chars++] = ch;
}

/* Process new bytes of a chunked body. Returns the bytes after its end; -1: not ended; -2: not chunked framing. */
static int64_t chunks(Ex *ex, const char *at, size_t size) {
    const char *stop = at + size;
    while (at < stop) {
        if (ex->part == DATA) {
            int64_t n = stop - at < ex->left ? stop - at : ex->left;
            at += n;
            ex->left -= n;
            if (!ex->left) { ex->part = DATA_END; ex->line_empty = 1; }
            continue;
        }
        const char ch = *at++;
        if (ch != '\n') {
            if (++ex->line > LINE_BYTES) return -2;
            if (ex->part == SIZE_LINE) {
                if (ex->size_over == 3 && ch != ' ' && ch != '\t' && ch != '\r') ex->size_over = ch == ';' ? 1 : 2;
                size_char(ex, ch);
            } else if (ch != '\r') ex->line_empty = 0;
            continue;
        }
        ex->line = 0;
        if (ex->part == SIZE_LINE) { if (!line_over(ex)) return -2; }
        else if (ex->part == DATA_END) { if (!ex->line_empty) return -2; ex->part = SIZE_LINE; }
        else if (ex->line_empty) return stop - at;
        else ex->line_empty = 1;
    }
    return -1;
}

static void body(Core *c, Ex *ex, const char *fresh, size_t size) {
    if (ex->framing == CHUNKED) {
        int64_t beyond = chunks(ex, fresh, size);
        if (beyond == -2) finish(c, ex, MALFORMED, 0);
        else if (beyond >= 0) complete(c, ex, !beyond);
    } else if (ex->framing == LENGTH) {
        ex->left -= size;
        if (ex->left <= 0) complete(c, ex, !ex->left);
    }
}

static void look_for_the_head(Core *c, Ex *ex) {
    for (;;) {
        size_t from = ex->looked > ex->head_at ? ex->looked : ex->head_at;
        char *stop = memmem(ex->data + from, ex->size - from, "\r\n\r\n", 4);
        if (!stop) {
            ex->looked = ex->size > 3 ? ex->size - 3 : 0;
            if (ex->size > HEAD_BYTES) finish(c, ex, MALFORMED, 0);
            return;
        }
        if (!read_head(ex, ex->data + ex->head_at, stop - ex->data - ex->head_at)) { finish(c, ex, MALFORMED, 0); return; }
        ex->head_at = stop + 4 - ex->data;
        if (ex->status >= 200) { body(c, ex, ex->data + ex->head_at, ex->size - ex->head_at); return; }
        ex->framing = NONE; /* an interim head: the final one follows */
    }
}

static int keep(Ex *ex, const char *data, size_t size, int64_t ns, int64_t unsure) {
    if (ex->size + size > ex->room_size) {
        size_t room = ex->room_size ? ex->room_size : 4096;
        while (room < ex->size + size) room *= 2;
        char *grown = realloc(ex->data, room);
        if (!grown) return 0;
        ex->data = grown;
        ex->room_size = room;
    }
    if (ex->n_reads == ex->room_reads) {
        size_t room = ex->room_reads ? 2 * ex->room_reads : 48;
        int64_t *grown = realloc(ex->reads, 3 * room * sizeof *grown);
        if (!grown) return 0;
        ex->reads = grown;
        ex->room_reads = room;
    }
    memcpy(ex->data + ex->size, data, size);
    ex->size += size;
    int64_t *read = ex->reads + 3 * ex->n_reads++;
    read[0] = ns;
    read[1] = unsure;
    read[2] = ex->size;
    return 1;
}

/* When the last byte of a read arrived, by the kernel; 0: no plausible timestamp. */
static int64_t stamp_of(Core *c, struct msghdr *message, int64_t read_ns) {
    if (!c->ahead_ns) return 0;
    for (struct cmsghdr *told = CMSG_FIRSTHDR(message); told; told = CMSG_NXTHDR(message, told)) {
        if (told->cmsg_level != SOL_SOCKET || told->cmsg_type != SO_TIMESTAMPNS) continue;
        struct timespec t;
        memcpy(&t, CMSG_DATA(told), sizeof t);
        int64_t ns = t.tv_sec * 1000000000LL + t.tv_nsec - c->ahead_ns;
        if (read_ns - AGO_NS < ns && ns < read_ns) return ns;
    }
    return 0;
}

/* A read's time and uncertainty, as in `fireassay.traffic.wire.sockets.judged`: 0 or more, its last byte arrived then, each other byte at
 * most that much earlier; below 0, so may the last byte.  `ns`: in, when it was read; out, its time.  `stamp`: the kernel's; 0: none. */
static int64_t judged(int64_t *ns, int64_t stamp, int64_t since, int64_t last_ns, int emptied) {
    int64_t read_ns = *ns, from = since;
    if (stamp && stamp < since - DELAYED_NS) return stamp - read_ns; /* timestamped but not delivered yet: it arrived in between */
    if (stamp) {
        *ns = stamp > last_ns ? stamp : last_ns;
        if (emptied && *ns == stamp) return stamp > since ? stamp - since : 0;
        if (stamp < from) from = stamp;
    }
    return from < *ns ? from - *ns : -1;
}

/* `looked_ns`: the previous poll; sockets that it did not report were empty then. */
static void ready(Core *c, Link *link, uint32_t events, int64_t looked_ns) {
    if (link->dead) return;
    if (events & EPOLLOUT) write_left(c, link);
    if (!(events & ~EPOLLOUT)) return;
    char control[CMSG_SPACE(sizeof(struct timespec))];
    struct iovec into = {.iov_base = c->in, .iov_len = READ_BYTES};
    struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int64_t before = now();
    ssize_t n = recvmsg(link->fd, &message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) { lost(c, link, n ? errno : 0); return; }
    Ex *ex = link->ex;
    if (!ex) { bury(c, link); return; } /* unsolicited: a closing message, or the rest of an aborted answer */
    int64_t ns = now(), stamp = stamp_of(c, &message, ns), since = link->empty_ns;
    int emptied = n < READ_BYTES;
    if (!link->behind && looked_ns > since) since = looked_ns;
    if (ex->sent_ns > since) since = ex->sent_ns; /* no answer precedes its request */
    int64_t unsure = judged(&ns, stamp, since, link->last_ns, emptied);
    if (emptied) link->empty_ns = before;
    link->behind = !emptied;
    link->last_ns = ns;
    ex->room -= n + READ_COST;
    if (!keep(ex, c->in, n, ns, unsure) || ex->room < 0) { finish(c, ex, TOO_LARGE, 0); return; }
    if (ex->framing == NONE) look_for_the_head(c, ex);
    else body(c, ex, c->in, n);
}

/* ---- commands from Python ---- */

static void put_away(Core *c, Ex *ex, int ended) { /* an exchange without a connection */
    ex->seen_ns = ex->done_ns = now();
    ex->ended = ended;
    if (ex->next) { unstarted(c, ex->next); ex->next = NULL; }
    give_back(c, ex);
}

static void take_up(Core *c, Ex *ex) {
    if (c->stopped) unstarted(c, ex);
    else if (ex->due_ns <= now()) start(c, ex, NULL);
    else if (!queue(c, ex)) unstarted(c, ex);
}

static void arm(Core *c, Ex *ex, Ex *next) {
    ex->next = next;
    if (atomic_load(&ex->state) != DONE) return;
    if (may_follow(c, ex)) follow(c, ex, NULL);
    else { ex->next = NULL; unstarted(c, next); }
}

static void adopt(Core *c, Cmd *cmd) {
    Link *link = calloc(1, sizeof *link);
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = link};
    if (!link || epoll_ctl(c->poll, EPOLL_CTL_ADD, cmd->fd, &e)) {
        close(cmd->fd);
        atomic_fetch_sub(&cmd->pool->open, 1);
        free(link);
        return;
    }
    link->fd = cmd->fd;
    link->pool = cmd->pool;
    link->connect_ns = cmd->ns;
    link->empty_ns = now();
    release(c, link);
}

static void cancel(Core *c, Ex *ex, int tag) {
    int state = atomic_load(&ex->state);
    if (state == DONE) return;
    ex->tag = tag;
    if (state == FLYING) { finish(c, ex, GIVEN_UP, 0); return; }
    if (state == QUEUED) unqueue(c, ex);
    else leave_waiting(ex);
    put_away(c, ex, GIVEN_UP);
}

static void stop(Core *c) {
    c->stopped = 1;
    while (c->heap_size) unstarted(c, c->heap[--c->heap_size]);
}

static void obey(Core *c, Cmd *cmd, int *quit) {
    Ex *ex;
    switch (cmd->kind) {
        case SEND: take_up(c, cmd->ex); break;
        case ARM: arm(c, cmd->ex, cmd->next_ex); break;
        case ADOPT: adopt(c, cmd); break;
        case CANCEL: cancel(c, cmd->ex, cmd->tag); break;
        case FAIL:
            if ((ex = first_waiting(cmd->pool))) { ex->tag = cmd->tag; put_away(c, ex, GIVEN_UP); }
            break;
        case STOP: stop(c); break;
        case SYNC: atomic_store(&c->synced, 1); break;
        case QUIT: *quit = 1; break;
    }
    if (cmd->kind == ARM || cmd->kind == CANCEL) atomic_fetch_sub(&cmd->ex->pins, 1);
}

static int commands(Core *c) { /* in the order of submission; 1: quit */
    Cmd *cmd = atomic_exchange(&c->commands, NULL), *ordered = NULL;
    int quit = 0;
    while (cmd) { Cmd *below = cmd->below; cmd->below = ordered; ordered = cmd; cmd = below; }
    while (ordered) {
        Cmd *below = ordered->below;
        obey(c, ordered, &quit);
        free(ordered);
        ordered = below;
    }
    return quit;
}

/* ---- the thread ---- */

static void send_due(Core *c) {
    while (c->heap_size && c->heap[0]->due_ns <= now()) {
        Ex *ex = c->heap[0];
        unqueue(c, ex);
        c->awake_again_ns = ex->due_ns + AWAKE_ONE_IN * c->awake_ns;
        start(c, ex, NULL);
    }
}

/* Time until something is due; -1: wait for events. */
static int64_t free_ns(Core *c) {
    int64_t free = c->flying ? c->tick_ns : -1;
    if (!c->heap_size) return free;
    int64_t at = now(), due = c->heap[0]->due_ns, left = due - at;
    if (due >= c->awake_again_ns) left = left <= c->awake_ns ? 0 : left - c->awake_ns; /* busy-wait at the end */
    if (left < 0) left = 0;
    return free < 0 || left < free ? left : free;
}

static int look(Core *c, struct epoll_event *found) {
    int64_t free = free_ns(c);
    struct timespec t = {free / 1000000000, free % 1000000000};
#ifdef SYS_epoll_pwait2
    static int lacks;
    if (!lacks) {
        int n = syscall(SYS_epoll_pwait2, c->poll, found, MOST_EVENTS, free < 0 ? NULL : &t, NULL, 0);
        if (n >= 0 || errno != ENOSYS) return n;
        lacks = 1;
    }
#endif
    (void)t;
    return epoll_wait(c->poll, found, MOST_EVENTS, free < 0 ? -1 : (int)(free / 1000000)); /* may wake up early, never late */
}

static void know_ahead(Core *c, int64_t *known) { /* clocks that diverged since the last reading give no timestamp */
    int64_t found = ahead();
    int64_t moved = found - *known;
    c->ahead_ns = found && *known && moved < MOVED_NS && -moved < MOVED_NS ? *known : 0;
    if (found && !c->ahead_ns) *known = found;
}

static void prepare(void) { /* scheduled soon, woken exactly; optional */
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; uint32_t least, most; }
        asked = {.size = 56, .runtime = SLICE_NS};
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "assay-core");
#ifdef SYS_sched_setattr
    syscall(SYS_sched_setattr, 0, &asked, 0);
#endif
}

/* With many streams: let more data arrive before the next poll. It saves wake-ups, and no timestamp depends on it. */
static void gather(Core *c) {
    int64_t until = now() + GATHER_NS;
    if (c->heap_size && c->heap[0]->due_ns < until) until = c->heap[0]->due_ns;
    struct timespec t = {until / 1000000000, until % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *run(void *given) {
    Core *c = given;
    struct epoll_event found[MOST_EVENTS];
    int64_t known = ahead();
    prepare();
    for (;;) {
        if (commands(c)) break;
        send_due(c);
        if (c->tell) { c->tell = 0; ring(c->told); }
        int64_t before = now(), looked_ns = c->looked_ns;
        int n = look(c, found);
        if (n < 0) continue; /* interrupted: this poll proves nothing */
        if (n) know_ahead(c, &known);
        for (int i = 0; i < n; i++) {
            if (i % BETWEEN_READS == BETWEEN_READS - 1) {
                send_due(c);
                if (atomic_load(&c->commands) && commands(c)) return NULL;
            }
            if (found[i].data.ptr) ready(c, found[i].data.ptr, found[i].events, looked_ns);
            else { uint64_t rung; if (read(c->wake, &rung, 8) < 0) {} }
        }
        if (n < MOST_EVENTS) c->looked_ns = before;
        if (n && c->flying >= MANY) gather(c);
        while (c->graves) { Link *below = c->graves->below; free(c->graves); c->graves = below; }
    }
    return NULL;
}

/* ---- Python's side ---- */

static void command(Core *c, Cmd asked) {
    Cmd *cmd = malloc(sizeof *cmd);
    if (!cmd) Py_FatalError("out of memory");
    *cmd = asked;
    Cmd *top = atomic_load(&c->commands);
    do cmd->below = top; while (!atomic_compare_exchange_weak(&c->commands, &top, cmd));
    if (!top) ring(c->wake);
}

static void free_ex(Ex *ex) {
    Py_XDECREF(ex->payload);
    free(ex->data);
    free(ex->reads);
    free(ex);
}

static Ex *ex_of(Core *c, long long handle) {
    size_t i = handle & 0xffffffff;
    if (i < c->n_slots && c->slots[i] && c->slots[i]->handle == handle) return c->slots[i];
    PyErr_SetString(PyExc_KeyError, "no such exchange");
    return NULL;
}

static Pool *pool_of(Core *c, int number) {
    if (number >= 0 && number < c->n_pools) return c->pools[number];
    PyErr_SetString(PyExc_IndexError, "no such pool");
    return NULL;
}

static int closed(Core *c) {
    if (!c->running) PyErr_SetString(PyExc_RuntimeError, "the core is closed");
    return !c->running;
}

static Ex *new_ex(Core *c, Pool *pool, long long number, PyObject *payload, long long room) {
    char *out;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(payload, &out, &size)) return NULL;
    if (!c->n_free) {
        size_t more = c->n_slots ? c->n_slots : 64;
        Ex **slots = realloc(c->slots, (c->n_slots + more) * sizeof *slots);
        if (slots) c->slots = slots;
        int64_t *uses = realloc(c->uses, (c->n_slots + more) * sizeof *uses);
        if (uses) c->uses = uses;
        size_t *unused = realloc(c->free_slots, (c->n_slots + more) * sizeof *unused);
        if (unused) c->free_slots = unused;
        if (!slots || !uses || !unused) { PyErr_NoMemory(); return NULL; }
        for (size_t i = 0; i < more; i++) {
            c->slots[c->n_slots + i] = NULL;
            c->uses[c->n_slots + i] = 0;
            c->free_slots[c->n_free++] = c->n_slots + more - 1 - i;
        }
        c->n_slots += more;
    }
    Ex *ex = calloc(1, sizeof *ex);
    if (!ex) { PyErr_NoMemory(); return NULL; }
    size_t i = c->free_slots[--c->n_free];
    c->slots[i] = ex;
    ex->handle = (int64_t)i | (++c->uses[i] & 0x3fffffff) << 32;
    ex->number = number;
    ex->pool = pool;
    Py_INCREF(payload);
    ex->payload = payload;
    ex->out = out;
    ex->out_size = size;
    ex->room = room;
    ex->connect_ns = -1;
    return ex;
}

static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"tick_ns", "awake_ns", "noted", NULL};
    long long tick, awake;
    PyObject *noted = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "LL|O", names, &tick, &awake, &noted)) return NULL;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Core *c = (Core *)make(type, 0);
    if (!c) return NULL;
    c->tick_ns = tick;
    c->awake_ns = awake;
    c->poll = c->wake = c->told = -1;
    atomic_store(&c->end_ns, NEVER);
    if (noted && noted != Py_None) {
        if (PyObject_GetBuffer(noted, &c->noted, PyBUF_WRITABLE)) { Py_DECREF(c); return NULL; }
        c->has_noted = 1;
    }
    c->in = malloc(READ_BYTES);
    c->poll = epoll_create1(EPOLL_CLOEXEC);
    c->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    c->told = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    sigset_t all, own;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &own); /* Python handles signals */
    int failed = !c->in || c->poll < 0 || c->wake < 0 || c->told < 0 || epoll_ctl(c->poll, EPOLL_CTL_ADD, c->wake, &e)
        || (errno = pthread_create(&c->thread, NULL, run, c));
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    if (failed) { PyErr_SetFromErrno(PyExc_OSError); Py_DECREF(c); return NULL; }
    c->running = 1;
    return (PyObject *)c;
}

static void shut(Core *c) {
    if (c->running) {
        command(c, (Cmd){.kind = QUIT});
        c->running = 0;
        Py_BEGIN_ALLOW_THREADS
        pthread_join(c->thread, NULL);
        Py_END_ALLOW_THREADS
    }
    for (Cmd *cmd = atomic_exchange(&c->commands, NULL); cmd;) { /* connections not adopted yet */
        Cmd *below = cmd->below;
        if (cmd->kind == ADOPT) close(cmd->fd);
        free(cmd);
        cmd = below;
    }
    for (size_t i = 0; i < c->n_slots; i++) {
        Ex *ex = c->slots[i];
        if (!ex) continue;
        if (ex->link && !ex->link->dead) { close(ex->link->fd); free(ex->link); }
        free_ex(ex);
        c->slots[i] = NULL;
    }
    while (c->zombies) { Ex *below = c->zombies->below; free_ex(c->zombies); c->zombies = below; }
    for (int i = 0; i < c->n_pools; i++) {
        for (Link *link = c->pools[i]->idle; link;) { Link *below = link->below; close(link->fd); free(link); link = below; }
        free(c->pools[i]);
    }
    while (c->graves) { Link *below = c->graves->below; free(c->graves); c->graves = below; }
    c->n_pools = 0;
    c->n_slots = c->n_free = 0;
    if (c->has_noted) { PyBuffer_Release(&c->noted); c->has_noted = 0; }
    if (c->poll >= 0) close(c->poll);
    if (c->wake >= 0) close(c->wake);
    if (c->told >= 0) close(c->told);
    c->poll = c->wake = c->told = -1;
    free(c->pools); free(c->slots); free(c->uses); free(c->free_slots); free(c->heap); free(c->in);
    c->pools = NULL; c->slots = NULL; c->uses = NULL; c->free_slots = NULL; c->heap = NULL; c->in = NULL;
}

static void core_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    shut((Core *)self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *core_close(PyObject *self, PyObject *args) {
    (void)args;
    shut((Core *)self);
    Py_RETURN_NONE;
}

static PyObject *core_fileno(PyObject *self, PyObject *args) {
    (void)args;
    return PyLong_FromLong(((Core *)self)->told);
}

static PyObject *core_pool(PyObject *self, PyObject *args) {
    (void)args;
    Core *c = (Core *)self;
    if (closed(c)) return NULL;
    Pool **pools = realloc(c->pools, (c->n_pools + 1) * sizeof *pools);
    Pool *pool = calloc(1, sizeof *pool);
    if (pools) c->pools = pools;
    if (!pools || !pool) { free(pool); return PyErr_NoMemory(); }
    pool->number = c->n_pools;
    c->pools[c->n_pools] = pool;
    return PyLong_FromLong(c->n_pools++);
}

static PyObject *core_counts(PyObject *self, PyObject *args) {
    int number;
    Pool *pool;
    if (!PyArg_ParseTuple(args, "i", &number) || !(pool = pool_of((Core *)self, number))) return NULL;
    return Py_BuildValue("ii", atomic_load(&pool->open), atomic_load(&pool->waiting));
}

static PyObject *core_adopt(PyObject *self, PyObject *args) {
    int number, fd;
    long long connect_ns;
    Core *c = (Core *)self;
    Pool *pool;
    if (!PyArg_ParseTuple(args, "iiL", &number, &fd, &connect_ns) || closed(c) || !(pool = pool_of(c, number))) return NULL;
    atomic_fetch_add(&pool->open, 1);
    command(c, (Cmd){.kind = ADOPT, .pool = pool, .fd = fd, .ns = connect_ns});
    Py_RETURN_NONE;
}

static PyObject *core_send(PyObject *self, PyObject *args) {
    int number;
    long long request, room, due;
    PyObject *payload;
    Core *c = (Core *)self;
    Pool *pool;
    Ex *ex;
    if (!PyArg_ParseTuple(args, "iLO!LL", &number, &request, &PyBytes_Type, &payload, &room, &due) || closed(c)) return NULL;
    if (!(pool = pool_of(c, number)) || !(ex = new_ex(c, pool, request, payload, room))) return NULL;
    ex->due_ns = due;
    int64_t handle = ex->handle;
    command(c, (Cmd){.kind = SEND, .ex = ex});
    return PyLong_FromLongLong(handle);
}

static PyObject *core_arm(PyObject *self, PyObject *args) {
    int number;
    long long before, request, room, pause;
    PyObject *payload;
    Core *c = (Core *)self;
    Pool *pool;
    Ex *ex, *next;
    if (!PyArg_ParseTuple(args, "LiLO!LL", &before, &number, &request, &PyBytes_Type, &payload, &room, &pause) || closed(c)) return NULL;
    if (!(ex = ex_of(c, before)) || !(pool = pool_of(c, number)) || !(next = new_ex(c, pool, request, payload, room))) return NULL;
    next->pause_ns = pause;
    int64_t handle = next->handle;
    atomic_fetch_add(&ex->pins, 1);
    command(c, (Cmd){.kind = ARM, .ex = ex, .next_ex = next});
    return PyLong_FromLongLong(handle);
}

static PyObject *core_cancel(PyObject *self, PyObject *args) {
    long long handle;
    int tag;
    Core *c = (Core *)self;
    Ex *ex;
    if (!PyArg_ParseTuple(args, "Li", &handle, &tag) || closed(c) || !(ex = ex_of(c, handle))) return NULL;
    atomic_fetch_add(&ex->pins, 1);
    command(c, (Cmd){.kind = CANCEL, .ex = ex, .tag = tag});
    Py_RETURN_NONE;
}

static PyObject *core_fail(PyObject *self, PyObject *args) {
    int number, tag;
    Core *c = (Core *)self;
    Pool *pool;
    if (!PyArg_ParseTuple(args, "ii", &number, &tag) || closed(c) || !(pool = pool_of(c, number))) return NULL;
    command(c, (Cmd){.kind = FAIL, .pool = pool, .tag = tag});
    Py_RETURN_NONE;
}

static PyObject *core_limit(PyObject *self, PyObject *args) {
    long long end;
    if (!PyArg_ParseTuple(args, "L", &end)) return NULL;
    atomic_store(&((Core *)self)->end_ns, end);
    Py_RETURN_NONE;
}

static PyObject *core_hold(PyObject *self, PyObject *args) {
    int held;
    if (!PyArg_ParseTuple(args, "p", &held)) return NULL;
    atomic_store(&((Core *)self)->held, held);
    Py_RETURN_NONE;
}

static PyObject *core_stop(PyObject *self, PyObject *args) {
    (void)args;
    if (closed((Core *)self)) return NULL;
    command((Core *)self, (Cmd){.kind = STOP});
    Py_RETURN_NONE;
}

static PyObject *core_sync(PyObject *self, PyObject *args) {
    (void)args;
    Core *c = (Core *)self;
    if (closed(c)) return NULL;
    atomic_store(&c->synced, 0);
    command(c, (Cmd){.kind = SYNC});
    Py_BEGIN_ALLOW_THREADS
    while (!atomic_load(&c->synced)) nanosleep(&(struct timespec){0, 20000}, NULL);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *core_look(PyObject *self, PyObject *args) {
    long long handle;
    Core *c = (Core *)self;
    Ex *ex;
    if (!PyArg_ParseTuple(args, "L", &handle) || !(ex = ex_of(c, handle))) return NULL;
    int state = atomic_load(&ex->state);
    return Py_BuildValue("iLn", state, (long long)(state == FLYING || state == DONE ? ex->sent_ns : 0), (Py_ssize_t)ex->n_reads);
}

static PyObject *column(Ex *ex, int which) {
    PyObject *list = PyList_New(ex->n_reads);
    for (size_t i = 0; list && i < ex->n_reads; i++) {
        PyObject *value = PyLong_FromLongLong(ex->reads[3 * i + which]);
        if (!value) { Py_DECREF(list); return NULL; }
        PyList_SetItem(list, i, value);
    }
    return list;
}

static PyObject *told_of(Ex *ex) {
    PyObject *ns = column(ex, 0), *unsure = column(ex, 1), *ends = column(ex, 2);
    if (!ns || !unsure || !ends) { Py_XDECREF(ns); Py_XDECREF(unsure); Py_XDECREF(ends); return NULL; }
    return Py_BuildValue(
        "LiiiiLLLLLy#NNN", (long long)ex->handle, ex->ended, ex->error, ex->tag, ex->exact, (long long)ex->due_ns, (long long)ex->sent_ns,
        (long long)ex->seen_ns, (long long)ex->done_ns, (long long)ex->connect_ns, ex->data ? ex->data : "", (Py_ssize_t)ex->size, ns, unsure, ends);
}

static void bury_zombies(Core *c) {
    Ex **at = &c->zombies;
    while (*at) {
        Ex *ex = *at;
        if (atomic_load(&ex->pins)) { at = &ex->below; continue; }
        *at = ex->below;
        free_ex(ex);
    }
}

static PyObject *core_take(PyObject *self, PyObject *args) {
    (void)args;
    Core *c = (Core *)self;
    uint64_t rung;
    if (closed(c)) return NULL;
    if (read(c->told, &rung, 8) < 0) {} /* before the list: later items ring again */
    Ex *ex = atomic_exchange(&c->done, NULL), *ordered = NULL;
    while (ex) { Ex *below = ex->below; ex->below = ordered; ordered = ex; ex = below; }
    PyObject *list = PyList_New(0);
    while (ordered) {
        Ex *below = ordered->below;
        PyObject *told = list ? told_of(ordered) : NULL;
        if (told && PyList_Append(list, told)) { Py_CLEAR(list); }
        if (!told) Py_CLEAR(list);
        Py_XDECREF(told);
        size_t i = ordered->handle & 0xffffffff;
        c->slots[i] = NULL;
        c->free_slots[c->n_free++] = i;
        if (atomic_load(&ordered->pins)) { ordered->below = c->zombies; c->zombies = ordered; }
        else free_ex(ordered);
        ordered = below;
    }
    if (c->zombies) bury_zombies(c);
    return list;
}

static PyMethodDef methods[] = {
    {"close", core_close, METH_NOARGS, "End the thread, and close every connection."},
    {"fileno", core_fileno, METH_NOARGS, "A descriptor that can be read when there is something to `take`."},
    {"pool", core_pool, METH_NOARGS, "A new pool of connections; its number."},
    {"counts", core_counts, METH_VARARGS, "(pool) -> its open connections, and how many requests wait for one."},
    {"adopt", core_adopt, METH_VARARGS, "(pool, descriptor, connect_ns): a connected socket, from now on the core's own."},
    {"send", core_send, METH_VARARGS, "(pool, number, payload, room, due_ns) -> handle."},
    {"arm", core_arm, METH_VARARGS, "(handle, pool, number, payload, room, pause_ns) -> handle of what is sent when the former has ended well."},
    {"cancel", core_cancel, METH_VARARGS, "(handle, tag): give it up, whatever has come of it."},
    {"fail", core_fail, METH_VARARGS, "(pool, tag): give up the request that has waited longest for a connection."},
    {"limit", core_limit, METH_VARARGS, "(end_ns): nothing follows at or after this time."},
    {"hold", core_hold, METH_VARARGS, "(held): while it is true nothing follows by itself."},
    {"stop", core_stop, METH_NOARGS, "Send nothing more; what was not due yet is given back."},
    {"sync", core_sync, METH_NOARGS, "Wait until everything that was asked for has been done."},
    {"look", core_look, METH_VARARGS, "(handle) -> state, sent_ns (0: not yet), reads so far."},
    {"take", core_take, METH_NOARGS, "What has ended since the last time, in order: handle, ended, error, tag, exact, due_ns, sent_ns, seen_ns, "
        "done_ns, connect_ns (-1: none), data, and per read when it came, how unsure that is, and how much had come by then."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, core_new}, {Py_tp_dealloc, core_dealloc}, {Py_tp_methods, methods},
    {Py_tp_doc, "A thread that sends requests and stamps their answers. (tick_ns, awake_ns, noted=None)"}, {0, NULL},
};
static PyType_Spec spec = {"fireassay.traffic.wire._core.Core", sizeof(Core), 0, Py_TPFLAGS_DEFAULT, slots};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", "assay's load client below the interpreter.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *made = PyModule_Create(&module), *type = made ? PyType_FromSpec(&spec) : NULL;
    if (!type || PyModule_AddObjectRef(made, "Core", type)) { Py_XDECREF(type); Py_XDECREF(made); return NULL; }
    Py_DECREF(type);
    return made;
}
