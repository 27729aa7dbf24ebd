// FS and GS: thread-local variables, GS base set by arch_prctl and by wrgsbase, memory operands through both.
// build plain: -O1
// build fsgsbase: -O1 -mfsgsbase -DINSTRUCTIONS
// needs: fsgsbase
// rounds: 20 100
#define _GNU_SOURCE
#include "guest.h"
#include <asm/prctl.h>
#include <sys/syscall.h>

static __thread uint64_t local = 5;

int main(int argc, char **argv)
{
    static uint64_t a[16], b[16];
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t value, base = 0;
        uint64_t *area = round & 1 ? a : b;
#ifdef INSTRUCTIONS
        __builtin_ia32_wrgsbase64((uintptr_t)area);
        base = __builtin_ia32_rdgsbase64();
#else
        REQUIRE(syscall(SYS_arch_prctl, ARCH_SET_GS, area) == 0);
        REQUIRE(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
#endif
        REQUIRE(base == (uintptr_t)area);
        __asm__ volatile("addq %1, %%gs:24\n\tmovq %%gs:24, %0" : "=r"(value) : "r"(round) : "memory", "cc");
        for (int i = 0; i < 200; i++)
            local = mix(local, value + i);
        sum = mix(sum, local + area[3]);
    }
    return report("segments", sum);
}
