#define _GNU_SOURCE /* strsignal, sigabbrev_np where it is */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "device/text.h"
#include "measure/clock.h"

enum { MOST_ANSWER_BYTES = 64 << 20, MOST_PRINTED_BYTES = 32768, BLOCKS_AT_ONCE = 64 };
/* Tells a job that came to its end from a driver that calls exit. */
enum { EXIT_OF_JOB = 113 };
/* For a process that was killed to go; one that hangs within the kernel stays. */
#define LAST_WAIT_S 2.0

typedef struct stream {
    int descriptor; /* -1: at its end */
    char *bytes;
    size_t length, capacity, heard, most;
} stream;

/* Makes room for a block and the final 0. */
static bool grow(stream *s, size_t more) {
    if (s->length + more < s->capacity) {
        return true;
    }
    const size_t capacity = 2 * (s->length + more) + 1;
    char *bytes = capacity <= s->most ? realloc(s->bytes, capacity) : NULL;
    if (!bytes) {
        return false;
    }
    s->bytes = bytes;
    s->capacity = capacity;
    return true;
}

/* Not more than some blocks, since a driver can print faster than this reads. */
static void read_available(stream *s) {
    char block[4096];
    for (int i = 0; i < BLOCKS_AT_ONCE && s->descriptor >= 0; i++) {
        const ssize_t got = read(s->descriptor, block, sizeof block);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0) {
            close(s->descriptor);
            s->descriptor = -1;
        } else if (grow(s, (size_t)got)) {
            memcpy(s->bytes + s->length, block, (size_t)got);
            s->length += (size_t)got;
            s->bytes[s->length] = '\0';
        }
    }
}

static void tell_lines(stream *s, child_listener listener, void *user) {
    while (listener && s->heard < s->length) {
        char *line = s->bytes + s->heard;
        char *end = memchr(line, '\n', s->length - s->heard);
        if (!end) {
            return;
        }
        *end = '\0';
        listener(line, user);
        *end = '\n';
        s->heard = (size_t)(end - s->bytes) + 1;
    }
}

/* A driver's helpers and threads go with the child, a crash leaves no core file, and nothing that it prints mixes with
 * the tool's own output. */
static void prepare_child(int printed) {
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct rlimit no_core = {0, 0};
    const int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    setrlimit(RLIMIT_CORE, &no_core);
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        signal(crashes[i], SIG_DFL);
    }
    dup2(printed, STDOUT_FILENO);
    dup2(printed, STDERR_FILENO);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
    }
}

/* _exit: what a driver does at exit, such as waiting for its threads, is not asked for. */
static void run_job(child_job job, void *data, int answer) {
    FILE *to = fdopen(answer, "w");
    if (!to) {
        _exit(1);
    }
    setvbuf(to, NULL, _IOLBF, 0);
    job(to, data);
    _exit(fclose(to) == 0 ? EXIT_OF_JOB : 1);
}

static void describe_end(int status, child_result *result) {
    if (WIFSIGNALED(status)) {
        const int number = WTERMSIG(status);
        const char *name = number == SIGSEGV   ? "SIGSEGV"
                           : number == SIGABRT ? "SIGABRT"
                           : number == SIGILL  ? "SIGILL"
                           : number == SIGBUS  ? "SIGBUS"
                           : number == SIGFPE  ? "SIGFPE"
                                               : strsignal(number);
        snprintf(result->trouble, sizeof result->trouble, "crashed (%s)", name);
    } else if (WEXITSTATUS(status) != EXIT_OF_JOB) {
        snprintf(result->trouble, sizeof result->trouble, "ended the process with exit code %d", WEXITSTATUS(status));
    }
}

static void kill_all(pid_t pid) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

static void wait_for_last(pid_t pid) {
    const double end = now_s() + LAST_WAIT_S;
    const struct timespec moment = {.tv_nsec = 10000000};
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0 && now_s() < end) {
        nanosleep(&moment, NULL);
    }
}

/* Until the child ends, or its time does. */
static void follow(pid_t pid, double limit_s, stream streams[2], child_listener listener, void *user,
                   child_result *result) {
    const double deadline = now_s() + limit_s;
    int status = 0;
    for (;;) {
        struct pollfd polled[2] = {{streams[0].descriptor, POLLIN, 0}, {streams[1].descriptor, POLLIN, 0}};
        poll(polled, 2, 20);
        read_available(&streams[0]);
        read_available(&streams[1]);
        tell_lines(&streams[0], listener, user);
        if (waitpid(pid, &status, WNOHANG) == pid) {
            describe_end(status, result);
            break;
        }
        if (now_s() > deadline) {
            snprintf(result->trouble, sizeof result->trouble, "gave no answer within %g s", limit_s);
            kill_all(pid);
            wait_for_last(pid);
            break;
        }
    }
    kill_all(pid);
    read_available(&streams[0]);
    read_available(&streams[1]);
    tell_lines(&streams[0], listener, user);
}

static void close_pair(const int pair[2]) {
    close(pair[0]);
    close(pair[1]);
}

static bool start(child_job job, void *data, stream streams[2], pid_t *pid) {
    int answer[2], printed[2];
    if (pipe(answer) != 0) {
        return false;
    }
    if (pipe(printed) != 0) {
        close_pair(answer);
        return false;
    }
    fflush(NULL);
    *pid = fork();
    if (*pid == 0) {
        close(answer[0]);
        close(printed[0]);
        prepare_child(printed[1]);
        run_job(job, data, answer[1]);
    }
    close(answer[1]);
    close(printed[1]);
    streams[0] = (stream){.descriptor = answer[0], .most = MOST_ANSWER_BYTES};
    streams[1] = (stream){.descriptor = printed[0], .most = MOST_PRINTED_BYTES};
    fcntl(answer[0], F_SETFL, O_NONBLOCK);
    fcntl(printed[0], F_SETFL, O_NONBLOCK);
    return *pid > 0;
}

bool child_run(child_job job, void *data, double limit_s, child_listener listener, void *user, child_result *result) {
    stream streams[2] = {{.descriptor = -1}, {.descriptor = -1}};
    pid_t pid = -1;
    memset(result, 0, sizeof *result);
    if (start(job, data, streams, &pid)) {
        follow(pid, limit_s, streams, listener, user, result);
    } else {
        snprintf(result->trouble, sizeof result->trouble, "could not be asked: %s", strerror(errno));
    }
    if (streams[1].length > 0) {
        text_clean(result->said, sizeof result->said, streams[1].bytes, streams[1].length);
    }
    for (int i = 0; i < 2; i++) {
        if (streams[i].descriptor >= 0) {
            close(streams[i].descriptor);
        }
    }
    free(streams[1].bytes);
    result->answer = streams[0].bytes;
    return result->trouble[0] == '\0';
}

void child_clear(child_result *result) {
    free(result->answer);
    memset(result, 0, sizeof *result);
}
