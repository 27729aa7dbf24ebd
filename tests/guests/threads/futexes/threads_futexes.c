// All that can be done with a futex: waiting with and without bits, time and expectations, waking, moving waiters, waking with an operation.
// build plain: -O1 -pthread
// rounds: 0 30
// totals: vary
#include "threads.h"
#include <errno.h>
#include <time.h>

enum { WAITERS = 4 };

static uint32_t word, other, unused, told[WAITERS];
static pthread_t threads[WAITERS];

static long futex(uint32_t *at, int operation, uint64_t value, uint64_t timeout, uint32_t *second, uint64_t third)
{
    return call(SYS_futex, (long)at, operation | FUTEX_PRIVATE_FLAG, value, timeout, (long)second, third);
}

static void *wait_with_bits(void *number)
{
    uintptr_t self = (uintptr_t)number;
    long result = futex(&word, FUTEX_WAIT_BITSET, 0, 0, 0, 1 << self);
    __atomic_store_n(&told[self], result == 0 ? 1 : 2, __ATOMIC_SEQ_CST);
    return 0;
}

static void *wait_plainly(void *number)
{
    uintptr_t self = (uintptr_t)number;
    long result = futex(&word, FUTEX_WAIT, 0, 0, 0, 0);
    __atomic_store_n(&told[self], result == 0 ? 1 : 2, __ATOMIC_SEQ_CST);
    return 0;
}

static void begin(void *(*function)(void *))
{
    word = other = 0;
    for (uintptr_t i = 0; i < WAITERS; i++) {
        told[i] = 0;
        REQUIRE(pthread_create(&threads[i], 0, function, (void *)i) == 0);
    }
}

// Until the operation has done it to so many.
static void until(long wanted, int operation, uint64_t value, uint64_t limit, uint32_t *second, uint64_t third)
{
    for (long done = 0; done < wanted;) {
        long result = futex(&word, operation, value, limit, second, third);
        REQUIRE(result >= 0);
        done += result;
        if (result == 0)
            usleep(200);
    }
}

static void end(void)
{
    for (int i = 0; i < WAITERS; i++) {
        REQUIRE(pthread_join(threads[i], 0) == 0);
        REQUIRE(told[i] == 1);
    }
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = rounds(argc, argv); round > 0; round--) {
        // What isn't as expected isn't waited for; and time passes.
        struct timespec soon = {.tv_nsec = 300000}, now;
        REQUIRE(futex(&word, FUTEX_WAIT, word + 1, 0, 0, 0) == -EAGAIN);
        REQUIRE(futex(&word, FUTEX_WAIT, word, (uintptr_t)&soon, 0, 0) == -ETIMEDOUT);
        clock_gettime(CLOCK_MONOTONIC, &now);
        REQUIRE(futex(&word, FUTEX_WAIT_BITSET, word, (uintptr_t)&now, 0, ~0u) == -ETIMEDOUT);
        REQUIRE(futex(&word, FUTEX_WAIT_BITSET, word, 0, 0, 0) == -EINVAL);

        begin(wait_with_bits);
        for (int i = WAITERS - 1; i >= 0; i--) {
            until(1, FUTEX_WAKE_BITSET, 100, 0, 0, 1 << i);
            REQUIRE(pthread_join(threads[i], 0) == 0 && told[i] == 1);
            sum = mix(sum, i);
        }

        // One is woken, the others wait for another word then; and are woken there.
        begin(wait_plainly);
        REQUIRE(futex(&word, FUTEX_CMP_REQUEUE, 1, 1, &other, 77) == -EAGAIN);
        until(WAITERS, FUTEX_CMP_REQUEUE, 1, 100, &other, 0);
        long left = 0;
        for (int i = 0; i < WAITERS; i++)
            left += futex(&other, FUTEX_WAKE, 1, 0, 0, 0);
        sum = mix(sum, left < WAITERS);
        end();

        begin(wait_plainly);
        until(WAITERS, FUTEX_REQUEUE, 0, 100, &other, 0);
        REQUIRE(futex(&other, FUTEX_WAKE, 2, 0, 0, 0) == 2 && futex(&other, FUTEX_WAKE, 100, 0, 0, 0) == WAITERS - 2);
        end();

        // The second word is changed in one with the look at it.
        begin(wait_plainly);
        other = 5;
        for (long woken = 0; woken < WAITERS;) {
            uint32_t before = other;
            long result = futex(&other, FUTEX_WAKE_OP, 0, 100, &word, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0));
            REQUIRE(result >= 0);
            woken += result;
            result = futex(&unused, FUTEX_WAKE_OP, 0, 0, &other, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_GT, 100));
            REQUIRE(result == 0 && other == before + 3);
            usleep(200);
        }
        end();
    }
    report("futexes", sum);
    return 0;
}
