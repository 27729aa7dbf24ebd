// What each thread has of its own in the processor survives changes of the running thread in loops without system calls.
// build plain: -O1 -pthread -mavx -frounding-math
// rounds: 0 500000
// totals: vary
// needs: avx
#include "guest.h"
#include <immintrin.h>
#include <pthread.h>

static long work;
static __thread uint64_t own = 7;
static __thread uint64_t own_array[64];

static void check(uint64_t number)
{
    uint32_t rounding = (uint32_t)(number & 3) << 13 | 0x1f80;
    uint16_t control = (uint16_t)(0x037f | (number & 3) << 10), status = 0;
    _mm_setcsr(rounding);
    __asm__ volatile("fldcw %0" : : "m"(control));
    double wanted[2] = {number + 0.25, number + 100.5}, left[2];
    uint64_t in[4] = {number, ~number, number * 3, number ^ 0x5555}, out[4], high[4];
    __asm__ volatile("fldl %0\n fldl %1" : : "m"(wanted[0]), "m"(wanted[1]));
    own = number;
    uint64_t seen_flags = 0, count = 0;
    for (long outer = 0; outer < work; outer++) {
        uint64_t flags, rounds = 20;
        // Carry, the vectors and r8 to r15 go through a loop that changes none of them.
        __asm__ volatile("vmovdqu %[in], %%ymm3\n"
                         "vmovdqu %[in], %%ymm15\n"
                         "mov %[number], %%r8\n lea 1(%%r8), %%r9\n lea 2(%%r8), %%r10\n lea 3(%%r8), %%r11\n"
                         "lea 4(%%r8), %%r12\n lea 5(%%r8), %%r13\n lea 6(%%r8), %%r14\n lea 7(%%r8), %%r15\n"
                         "bt $0, %[number]\n"
                         "1: lea -1(%[rounds]), %[rounds]\n"
                         "inc %[count]\n"
                         "xchg %[rounds], %%rcx\n jrcxz 2f\n xchg %[rounds], %%rcx\n jmp 1b\n"
                         "2: xchg %[rounds], %%rcx\n"
                         "setc %b[flags]\n movzbl %b[flags], %k[flags]\n"
                         "add %%r9, %%r8\n add %%r10, %%r8\n add %%r11, %%r8\n add %%r12, %%r8\n add %%r13, %%r8\n"
                         "add %%r14, %%r8\n add %%r15, %%r8\n mov %%r8, %[sum]\n"
                         "vmovdqu %%ymm3, %[out]\n vmovdqu %%ymm15, %[high]\n"
                         : [rounds] "+r"(rounds), [count] "+r"(count), [flags] "=&q"(flags), [sum] "=m"(own_array[1]),
                           [out] "=m"(out), [high] "=m"(high)
                         : [in] "m"(in), [number] "r"(number)
                         : "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm3", "xmm15", "cc", "memory");
        seen_flags += flags;
        REQUIRE(own_array[1] == 8 * number + 28 && own == number);
        REQUIRE(memcmp(in, out, sizeof in) == 0 && memcmp(in, high, sizeof in) == 0);
        REQUIRE((_mm_getcsr() & ~0x3fu) == rounding);
    }
    uint16_t control_after;
    __asm__ volatile("fnstcw %0\n fnstsw %1" : "=m"(control_after), "=m"(status));
    __asm__ volatile("fstpl %1\n fstpl %0" : "=m"(left[0]), "=m"(left[1]));
    REQUIRE(control_after == control && (status >> 11 & 7) == 6 && memcmp(wanted, left, sizeof left) == 0);
    REQUIRE(seen_flags == (number & 1) * (uint64_t)work && count == 20 * (uint64_t)work);
    control = 0x037f;
    __asm__ volatile("fldcw %0" : : "m"(control));
    _mm_setcsr(0x1f80);
}

static void *thread(void *number)
{
    REQUIRE(own == 7);
    check((uintptr_t)number);
    return 0;
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++)
        REQUIRE(pthread_create(&threads[i], 0, thread, (void *)(i + 1)) == 0);
    check(12);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    REQUIRE(own == 12);
    puts("all kept");
    return 0;
}
