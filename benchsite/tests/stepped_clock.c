#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Adds the milliseconds in the file CLOCK_STEP to the wall clock. The monotonic clock is left alone. */
static long stepped_ms(void) {
    char text[32] = "";
    int file = open(getenv("CLOCK_STEP"), O_RDONLY);
    if (file >= 0) { (void)!read(file, text, sizeof text - 1); close(file); }
    return atol(text);
}
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, at);
    if (id != CLOCK_REALTIME) return result;
    long ns = at->tv_nsec + stepped_ms() % 1000 * 1000000;
    at->tv_sec += stepped_ms() / 1000 + (ns >= 1000000000) - (ns < 0);
    at->tv_nsec = (ns + 1000000000) % 1000000000;
    return result;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return result;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
