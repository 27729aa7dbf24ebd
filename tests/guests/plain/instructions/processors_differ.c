// What the manuals leave to the processor, as this one does it: results and flags of bit scans of zero, of shifts by zero and too far, selectors, and
// of which registers are stored.
// build plain: -O1 -mno-avx
// rounds: 1 300
#include "guest.h"
#include <stdlib.h>
#include <sys/syscall.h>

#define STATUS 0x8d5 // CF PF AF ZF SF OF

static uint64_t sum = 1;

static void take(const char *what, long round, uint64_t value, uint64_t flags)
{
    if (round == 0)
        printf("%s: %lx %lx\n", what, (unsigned long)value, (unsigned long)(flags & STATUS));
    sum = mix(sum, mix(value, flags & STATUS));
}

// The destination of a scan of zero, and of 32 bits its upper half, is left alone or not; flags but ZF are anything.
#define SCAN(name, instruction)                                                                               \
    {                                                                                                         \
        uint64_t to = 0x1122334455667788, from = 0, flags;                                                    \
        __asm__ volatile("xor %%eax, %%eax\n\t" instruction "\n\tpushfq\n\tpopq %1" : "+r"(to), "=r"(flags) : "r"(from) : "cc", "rax"); \
        take(name, round, to, flags);                                                                         \
    }

#define SHIFT(name, instruction, count)                                                                      \
    {                                                                                                         \
        uint64_t to = 0x1122334455667788, flags;                                                              \
        __asm__ volatile("add $1, %%rdx\n\t" instruction "\n\tpushfq\n\tpopq %1"                              \
                         : "+r"(to), "=r"(flags)                                                              \
                         : "c"(count), "d"(0x7fffffffffffffff)                                                \
                         : "cc");                                                                             \
        take(name, round, to, flags);                                                                         \
    }

int main(int argc, char **argv)
{
    for (long round = 0; round < rounds(argc, argv); round++) {
        SCAN("bsf", "bsfq %2, %0")
        SCAN("bsf of 32 bits", "bsfl %k2, %k0")
        SCAN("bsf of 16 bits", "bsfw %w2, %w0")
        SCAN("bsr", "bsrq %2, %0")
        SCAN("bsr of 32 bits", "bsrl %k2, %k0")
        SCAN("bsr of 16 bits", "bsrw %w2, %w0")
        SHIFT("shl by 0", "shlq %%cl, %0", 0L)
        SHIFT("shl by 63", "shlq %%cl, %0", 63L)
        SHIFT("shl of 16 bits by 17", "shlw %%cl, %w0", 17L)
        SHIFT("shld of 16 bits by 20", "shldw %%cl, %w0, %w0", 20L)
        SHIFT("rol by 8", "rolb %%cl, %b0", 8L)
        SHIFT("rcl of 16 bits by 17", "rclw %%cl, %w0", 17L)
        SHIFT("sar of 32 bits by 33", "sarl %%cl, %k0", 33L)
        uint64_t low = 0x123456789abcdef, high = 0x7fffffffffffffff, flags;
        __asm__ volatile("xor %%r8d, %%r8d\n\tmulq %3\n\tpushfq\n\tpopq %2" : "+a"(low), "+d"(high), "=r"(flags) : "r"(0x1234567ul) : "cc", "r8");
        take("mul", round, low ^ high, flags);
        uint64_t product = 0x7fffffff;
        __asm__ volatile("xor %%r8d, %%r8d\n\timulq $0x12345, %0\n\tpushfq\n\tpopq %1" : "+r"(product), "=r"(flags) : : "cc", "r8");
        take("imul", round, product, flags);
        uint32_t bits = 0xf0;
        __asm__ volatile("andl $0x30, %0\n\tpushfq\n\tpopq %1" : "+r"(bits), "=r"(flags) : : "cc");
        take("and", round, bits, flags);
        uint16_t cs, ds, es, fs, gs, ss;
        __asm__ volatile("mov %%cs, %0\n\tmov %%ds, %1\n\tmov %%es, %2\n\tmov %%fs, %3\n\tmov %%gs, %4\n\tmov %%ss, %5"
                         : "=r"(cs), "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs), "=r"(ss));
        take("selectors", round, (uint64_t)cs << 32 | (uint64_t)ss << 16 | ds | es | fs | gs, 0);
        // Null selectors may be loaded, and their bases become 0 or stay.
        uint64_t base;
        __asm__ volatile("mov %1, %%es\n\tmov %%es, %w0" : "=r"(base) : "r"(0));
        take("null selector", round, base & 0xffff, 0);
        uint64_t result, after = 0;
        __asm__ volatile("std\n\tcld\n\tcmp %%rdi, %%rdi\n\tsyscall\n\tmov %%r11, %1"
                         : "=a"(result), "=r"(after)
                         : "a"(SYS_getppid), "D"(0)
                         : "rcx", "r11", "cc", "memory");
        take("flags after a call", round, 0, after);
        __asm__ volatile("pushfq\n\tpopq %0" : "=r"(flags));
        uint32_t mask;
        __asm__ volatile("stmxcsr %0" : "=m"(mask));
        take("mxcsr", round, mask, 0);
    }
    return report("done", sum);
}
