// Eight threads that make and change code, load and unload a library, start threads and processes, send each other signals and meet faults, all at the same time.
// build plain: -O1 -pthread -ldl
// rounds: 0 60
// totals: vary
#include "guest.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 8, PAGE = 4096 };

static pthread_t threads[THREADS];
static pthread_barrier_t all_there, all_done;
static atomic_ulong sent, got;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t expects_fault;
static long work;

static void on_signal(int signal)
{
    (void)signal;
    got++;
}

static void on_fault(int signal)
{
    (void)signal;
    REQUIRE(expects_fault);
    expects_fault = 0;
    siglongjmp(back, 1);
}

static void code(uint64_t random)
{
    unsigned char *at = mmap(0, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    for (uint32_t n = 0; n < 20; n++) {
        uint32_t value = random + n;
        unsigned char *function = at + n % 3 * 64;
        function[0] = 0xb8;
        memcpy(function + 1, &value, 4);
        function[5] = 0xc3;
        REQUIRE(((uint32_t(*)(void))(uintptr_t)function)() == value);
    }
    REQUIRE(munmap(at, PAGE) == 0);
}

static void library(void)
{
    void *loaded = dlopen("libm.so.6", RTLD_NOW);
    REQUIRE(loaded);
    double (*down)(double) = (double (*)(double))dlsym(loaded, "floor");
    REQUIRE(down && down(2.5) == 2);
    REQUIRE(dlclose(loaded) == 0);
}

static void *short_lived(void *argument)
{
    return (void *)mix((uintptr_t)argument, 3);
}

static void starts(uint64_t random)
{
    pthread_t other;
    void *result;
    REQUIRE(pthread_create(&other, 0, short_lived, (void *)random) == 0);
    REQUIRE(pthread_join(other, &result) == 0 && result == (void *)mix(random, 3));
}

static void forks(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    int status;
    REQUIRE(child > 0);
    while (waitpid(child, &status, 0) != child)
        REQUIRE(errno == EINTR);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void faults(void)
{
    expects_fault = 1;
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)8 = 1;
    REQUIRE(!expects_fault);
}

static uint64_t computes(uint64_t random)
{
    for (int i = 0; i < 20000; i++)
        random = mix(random, i);
    return random;
}

static void *thread(void *argument)
{
    uint64_t random = mix((uintptr_t)argument, 77), sum = 0;
    pthread_barrier_wait(&all_there);
    for (long i = 0; i < work; i++) {
        random = mix(random, i);
        switch (random >> 33 & 7) {
        case 0: code(random); break;
        case 1: library(); break;
        case 2: starts(random); break;
        case 3: if (i % 4 == 0) forks(); break;
        case 4: faults(); break;
        case 5:
            if (pthread_kill(threads[random >> 40 & (THREADS - 1)], SIGUSR1) == 0)
                sent++;
            break;
        default: sum = computes(sum); break;
        }
    }
    // A signal must not be for one that is joined.
    pthread_barrier_wait(&all_done);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    REQUIRE(pthread_barrier_init(&all_there, 0, THREADS) == 0 && pthread_barrier_init(&all_done, 0, THREADS) == 0);
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    REQUIRE(sigaction(SIGUSR1, &action, 0) == 0);
    action.sa_handler = on_fault;
    action.sa_flags = SA_NODEFER;
    REQUIRE(sigaction(SIGSEGV, &action, 0) == 0);
    for (uintptr_t i = 1; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)i) == 0);
    threads[0] = pthread_self();
    uint64_t sum = (uintptr_t)thread((void *)0);
    for (int i = 1; i < THREADS; i++) {
        void *other;
        REQUIRE(pthread_join(threads[i], &other) == 0);
        sum = mix(sum, (uintptr_t)other);
    }
    REQUIRE(got <= sent);
    return report("stressed", sum);
}
