/* The clock on the wall, moved for one process: preloaded, adds the nanoseconds in the file CLOCK_SHIFT to what it reads.
 * The clock that only counts on is left alone, as a clock that is set leaves it alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*original)(clockid_t, struct timespec *);
static const volatile int64_t *shift;

__attribute__((constructor)) static void prepare(void) {
    const char *path = getenv("CLOCK_SHIFT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (file >= 0) {
        void *seen = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
        if (seen != MAP_FAILED) shift = seen;
        close(file);
    }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!original) prepare();
    int result = original(clock, time);
    if (result == 0 && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t moved = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *shift;
        time->tv_sec = moved / 1000000000;
        time->tv_nsec = moved % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
