/* Commands and callbacks that come late: a thread of the layer's own opens their gates when it is time. */
#include "parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A gate to open, or a callback to call. */
typedef struct late_item {
    struct late_item *next;
    struct timespec due;
    bool held;      /* until DELAY says "release" */
    cl_event event; /* one reference */
    event_callback notify;
    cl_int status;
    void *user;
} late_item;

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static late_item *items;
static unsigned long commands;

static bool is_before(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void finish_item(late_item *item) {
    if (item->notify != NULL) {
        item->notify(item->event, item->status, item->user);
    } else {
        target->clSetUserEventStatus(item->event, CL_COMPLETE);
    }
    target->clReleaseEvent(item->event);
    free(item);
}

static struct timespec after(unsigned long milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += (time_t)(milliseconds / 1000);
    time.tv_nsec += (long)(milliseconds % 1000) * 1000000L;
    if (time.tv_nsec >= 1000000000L) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000L;
    }
    return time;
}

static bool delay_is(const char *word) {
    const char *delay = setting("DELAY");
    return delay != NULL && strcmp(delay, word) == 0;
}

/* Takes the first item that may go out of the list; NULL: none may. */
static late_item *take_item(void) {
    const struct timespec now = after(0);
    for (late_item **place = &items; *place != NULL; place = &(*place)->next) {
        late_item *item = *place;
        if (item->held ? delay_is("release") : !is_before(&now, &item->due)) {
            *place = item->next;
            return item;
        }
    }
    return NULL;
}

static late_item *wait_for_item(void) {
    late_item *item = NULL;
    pthread_mutex_lock(&lock);
    while ((item = take_item()) == NULL) {
        const struct timespec soon = after(1);
        if (items == NULL) {
            pthread_cond_wait(&changed, &lock);
        } else {
            pthread_cond_timedwait(&changed, &lock, &soon);
        }
    }
    pthread_mutex_unlock(&lock);
    return item;
}

static void *serve(void *unused) {
    (void)unused;
    for (;;) {
        finish_item(wait_for_item());
    }
    return NULL;
}

static void begin(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) == 0) {
        pthread_detach(thread);
    }
}

/* Behind the others, so that items of the same time keep their order. */
static void add_item(late_item *item, unsigned long milliseconds) {
    pthread_once(&begun, begin);
    item->held = delay_is("hold");
    item->due = after(milliseconds);
    pthread_mutex_lock(&lock);
    late_item **place = &items;
    while (*place != NULL) {
        place = &(*place)->next;
    }
    *place = item;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* The next number of a list such as "20,1", which begins anew at its end. 0: none. */
static unsigned long next_delay(void) {
    const char *list = setting("DELAY");
    unsigned long delays[16] = {0};
    size_t count = 0;
    while (list != NULL && *list != '\0' && count < sizeof(delays) / sizeof(delays[0])) {
        char *end = NULL;
        delays[count++] = strtoul(list, &end, 0);
        list = *end == ',' ? end + 1 : end + strlen(end);
    }
    if (count == 0) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    const unsigned long number = commands++;
    pthread_mutex_unlock(&lock);
    return delays[number % count];
}

static cl_event new_gate(cl_command_queue queue, cl_int *code) {
    cl_context context = NULL;
    *code = target->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    return *code == CL_SUCCESS ? target->clCreateUserEvent(context, code) : NULL;
}

cl_int late_begin(cl_command_queue queue, cl_uint *count, const cl_event **wait_list, late_start *late) {
    const unsigned long delay = next_delay();
    cl_int code = CL_SUCCESS;
    memset(late, 0, sizeof(*late));
    if (delay == 0 && !delay_is("hold")) {
        return CL_SUCCESS;
    }
    late_item *item = calloc(1, sizeof(*item));
    late->events = calloc(*count + 1, sizeof(cl_event));
    late->gate = item != NULL && late->events != NULL ? new_gate(queue, &code) : NULL;
    if (late->gate == NULL) {
        free(item);
        free(late->events);
        late->events = NULL;
        return code != CL_SUCCESS ? code : CL_OUT_OF_HOST_MEMORY;
    }
    if (*count > 0) {
        memcpy(late->events, *wait_list, *count * sizeof(cl_event));
    }
    late->events[*count] = late->gate;
    ++*count;
    *wait_list = late->events;
    target->clRetainEvent(late->gate);
    item->event = late->gate;
    add_item(item, delay);
    return CL_SUCCESS;
}

void late_end(late_start *late) {
    if (late->gate != NULL) {
        target->clReleaseEvent(late->gate);
    }
    free(late->events);
}

static void CL_CALLBACK be_late(cl_event event, cl_int status, void *user) {
    late_item *item = user;
    item->status = status;
    target->clRetainEvent(event);
    add_item(item, next_delay());
}

cl_int set_late_callback(cl_event event, cl_int type, event_callback notify, void *user) {
    if (setting("DELAY") == NULL || notify == NULL) {
        return target->clSetEventCallback(event, type, notify, user);
    }
    late_item *item = calloc(1, sizeof(*item));
    if (item == NULL) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    item->event = event;
    item->notify = notify;
    item->user = user;
    const cl_int code = target->clSetEventCallback(event, type, be_late, item);
    if (code != CL_SUCCESS) {
        free(item);
    }
    return code;
}
