// What a trace of one thread meets besides instructions: signals, inside of each other and by a fault, a long jump out of a handler, and the same program executed anew; with the word `thread` a thread.

#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile int handled;
static sigjmp_buf before;
static char from[5000], to[5000];

static void inner(int number) { handled += number; }
static void outer(int number) { raise(SIGUSR2); }
static void fault(int number) { siglongjmp(before, 1); }

static void *other(void *argument) {
    for (int n = 0; n < 1000; n++)
        handled += n & 1;
    return 0;
}

static int threads(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    return pthread_join(thread, 0);
}

int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "thread"))
        return threads();
    signal(SIGUSR1, outer);
    signal(SIGUSR2, inner);
    signal(SIGSEGV, fault);
    for (int n = 0; n < 20; n++) {
        raise(SIGUSR1);
        if (!sigsetjmp(before, 1))
            *(volatile int *)8 = n;
        if (!sigsetjmp(before, 1))
            ((void (*)(void))16)();
        void *source = from, *target = to;
        unsigned long bytes = sizeof to, none = 0, turns = 3;
        __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(bytes) : : "memory");
        __asm__ volatile("rep stosb" : "+D"(target), "+c"(none) : "a"(0) : "memory");
        __asm__ volatile("1: loop 1b\n jrcxz 2f\n nop\n 2:" : "+c"(turns));
        __asm__ volatile("prefetcht0 %0\n prefetchnta %0\n clflush %0" : : "m"(from[64]));
    }
    return count > 1 ? 0 : execl(arguments[0], arguments[0], "again", (char *)0);
}
