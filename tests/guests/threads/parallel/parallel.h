// Threads that all begin at the same time. What they do before that takes the same number of instructions whether they have to wait or not.
#pragma once
#include "threads.h"

enum { MOST_THREADS = 8 };

static struct {
    int alive[MOST_THREADS];
    int begun[2], go[2];
    void (*work)(long me);
} together;

static void *one(void *argument)
{
    long me = (long)argument;
    live(&together.alive[me]);
    give(together.begun, me);
    take(together.go);
    together.work(me);
    return end_thread(0);
}

static void work_together(int threads, void (*work)(long me))
{
    together.work = work;
    REQUIRE(pipe(together.begun) == 0 && pipe(together.go) == 0);
    for (long i = 0; i < threads; i++)
        start(one, i);
    for (int i = 0; i < threads; i++)
        take(together.begun);
    for (int i = 0; i < threads; i++)
        give(together.go, i);
    for (int i = 0; i < threads; i++)
        wait_for_end(&together.alive[i]);
}
