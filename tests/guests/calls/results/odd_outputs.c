// System calls that write to memory where one doesn't expect it: with an error, or into what they were given to read.
// rounds: 2 40
#define _GNU_SOURCE
#include "guest.h"
#include <errno.h>
#include <sys/syscall.h>

static uint64_t outcome(uint64_t sum, long result, const uint32_t *words)
{
    sum = mix(sum, result < 0 ? errno : result);
    // How much is computed depends on what was written.
    for (int i = 0; i < 8; i++)
        for (uint32_t n = words[i] % 64; n > 0; n--)
            sum = mix(sum, words[i] + i);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint32_t words[64] = {0x123};
        sum = outcome(sum, syscall(SYS_capset, words, words + 8), words); // the version that the kernel wants
        memset(words, 0, sizeof words);
        words[0] = 4;
        sum = outcome(sum, syscall(SYS_sched_setattr, 0, words, 0), words); // the size that it wants
        memset(words, 0, sizeof words);
        words[0] = 0x20080522;
        sum = outcome(sum, syscall(SYS_capget, words, 0), words);
        memset(words, 0, sizeof words);
        words[0] = 12;
        sum = outcome(sum, syscall(SYS_get_thread_area, words), words);
        void *page = (void *)((uintptr_t)words & -4096);
        sum = outcome(sum, syscall(SYS_move_pages, 0, 1, &page, 0, words + 2, 0), words);
        words[0] = 1;
        sum = outcome(sum, syscall(SYS_sched_rr_get_interval, 0, words + 2), words);
    }
    return report("odd", sum);
}
