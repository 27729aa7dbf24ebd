// Programs are executed with megabytes of arguments, which takes long, while others want to run; some don't exist.
// build plain: -O1 -pthread
// rounds: 0 5
// totals: vary
#include "guest.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

static atomic_int started;

static void *compute(void *unused)
{
    started++;
    for (volatile uint64_t sum = 0;; sum = mix(sum, 1)) {}
    return unused;
}

int main(int argc, char **argv)
{
    enum { LONG = 131000, MANY = 44 };
    long left = rounds(argc, argv);
    printf("%ld\n", left);
    fflush(stdout);
    if (left == 0)
        return argc == MANY + 2 && strlen(argv[argc - 1]) == LONG ? 17 : 1;
    struct rlimit stack = {64 << 20, RLIM_INFINITY};
    REQUIRE(setrlimit(RLIMIT_STACK, &stack) == 0 || (stack.rlim_max = 64 << 20, setrlimit(RLIMIT_STACK, &stack) == 0));
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&thread, 0, compute, 0) == 0);
    while (started < 2)
        usleep(100);
    char text[24], *arguments[MANY + 3] = {argv[0], text}, *filler = malloc(LONG + 1);
    memset(filler, 'x', LONG);
    filler[LONG] = 0;
    for (int i = 0; i < MANY; i++)
        arguments[2 + i] = filler;
    snprintf(text, sizeof text, "%ld", left - 1);
    for (int i = 0; i < 3; i++)
        REQUIRE(execv("/nonexistent/program", arguments) == -1 && errno == ENOENT);
    execv("/proc/self/exe", arguments);
    return 1;
}
