// The first thread ends before the others, which go on, fault, allocate, handle signals, start threads and end the process.
// build plain: -O1 -pthread
// rounds: 0 100
// totals: vary
// blocks: differ
#define _GNU_SOURCE
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_t first;
static long work;
static sigjmp_buf back;
static volatile sig_atomic_t signals;

static void handler(int signal)
{
    signals++;
    if (signal == SIGSEGV)
        siglongjmp(back, 1);
}

static void *inner(void *value) { return (void *)mix((uintptr_t)value, 3); }

static void *thread(void *unused)
{
    REQUIRE(pthread_join(first, 0) == 0);
    usleep(2000);
    uint64_t sum = 0;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGUSR1, &action, 0);
    for (long i = 0; i < work; i++) {
        pthread_t other;
        void *value;
        REQUIRE(pthread_create(&other, 0, inner, (void *)i) == 0 && pthread_join(other, &value) == 0);
        sum = mix(sum, (uintptr_t)value);
        if (sigsetjmp(back, 1) == 0)
            *(volatile int *)8 = 1;
        kill(getpid(), SIGUSR1);
        // New code, which the translator has to find.
        unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(code, (unsigned char[]){0xb8, i, 0, 0, 0, 0xc3}, 6);
        REQUIRE(((int (*)(void))(uintptr_t)code)() == i % 256);
        munmap(code, 4096);
    }
    REQUIRE(signals == 2 * work);
    REQUIRE(WEXITSTATUS(system("exit 3")) == 3);
    pid_t child = fork();
    if (child == 0)
        _exit(4);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
    report("went on", sum);
    return unused;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    first = pthread_self();
    pthread_t other;
    REQUIRE(pthread_create(&other, 0, thread, 0) == 0);
    pthread_exit(0);
}
