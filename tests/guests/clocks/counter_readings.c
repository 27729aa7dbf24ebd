// Thousands of readings of the time stamp counter in a row, in small functions and in the midst of large ones: what they leave in
// registers, flags and the red zone. Some are also entered in their midst: behind the fence, or behind the reading. Sometimes all signals
// are blocked, or SIGILL is ignored; nobody raises any.
// rounds: 20 1000
#include "guest.h"
#include <signal.h>

struct seen {
    uint64_t low, high, c, before, after, red, kept[4];
};

// Nothing near it is free: compilers leave no gaps in the midst of a function.
#define CROWD "jmp 7f\n\t.fill 150, 1, 0xf4\n7:\n\t"

#define FLAGS_TO(where) "lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop " where "\n\tlea 128(%%rsp), %%rsp\n\t"

#define READER(name, crowd, instructions)                                                                     \
    static void __attribute__((noinline, aligned(16))) name(struct seen *seen, uint64_t seed)                              \
    {                                                                                                         \
        uint64_t low = seed + 1, high = seed + 2, c = seed + 3, before, after, red;                           \
        register uint64_t r8 __asm__("r8") = seed + 4, r9 __asm__("r9") = seed + 5;                           \
        register uint64_t r10 __asm__("r10") = seed + 6, r11 __asm__("r11") = seed + 7;                       \
        __asm__ volatile(crowd "mov %[seed], -16(%%rsp)\n\tcmp $9, %[seed]\n\t" FLAGS_TO("%[before]")         \
                         instructions FLAGS_TO("%[after]") "mov -16(%%rsp), %[red]\n\t" crowd                 \
                         : "+a"(low), "+d"(high), "+c"(c), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11),          \
                           [before] "=&b"(before), [after] "=&r"(after), [red] "=&r"(red)                     \
                         : [seed] "D"(seed)                                                                   \
                         : "cc", "memory");                                                                   \
        *seen = (struct seen){low, high, c, before, after, red, {r8, r9, r10, r11}};                          \
    }

READER(plain, "", "rdtsc\n\t")
READER(with_processor, "", "rdtscp\n\t")
READER(fenced, CROWD, "lfence\n\trdtsc\n\t")
READER(fenced_with_processor, CROWD, "lfence\n\trdtscp\n\t")
READER(alone, CROWD, "rdtsc\n\t")
READER(shifted, CROWD, "rdtscp\n\tshl $32, %%rdx\n\t")
// The flags are those of the comparison: 1 for the fence, and for the reading.
READER(behind_fence, CROWD, "ja 1f\n\tlfence\n1:\trdtsc\n\t")
READER(behind_reading, CROWD, "ja 1f\n\trdtscp\n1:\tshl $32, %%rdx\n\t")

static uint64_t flags_of_shift(uint64_t seed, uint64_t value)
{
    uint64_t flags;
    __asm__ volatile("cmp $9, %[seed]\n\tshl $32, %[value]\n\t" FLAGS_TO("%[flags]")
                     : [flags] "=r"(flags), [value] "+r"(value)
                     : [seed] "D"(seed)
                     : "cc", "memory");
    return flags;
}

static uint64_t last;

static void later(uint64_t low, uint64_t high)
{
    REQUIRE(low >> 32 == 0 && high >> 32 == 0);
    uint64_t now = high << 32 | low;
    REQUIRE(now > last);
    last = now;
}

static uint64_t look(const struct seen *seen, uint64_t seed, int has_processor, int is_shifted)
{
    uint64_t high = is_shifted ? seen->high >> 32 : seen->high;
    later(seen->low, high);
    REQUIRE(!is_shifted || (uint32_t)seen->high == 0);
    uint64_t flags = is_shifted ? flags_of_shift(seed, high) : seen->before;
    REQUIRE(((flags ^ seen->after) & 0x8c5) == 0 && seen->red == seed);
    REQUIRE(has_processor ? seen->c < 0x1000000 : seen->c == seed + 3);
    for (uint64_t i = 0; i < 4; i++)
        REQUIRE(seen->kept[i] == seed + 4 + i);
    return seen->before & 0xcd5;
}

static void unexpected(int signal)
{
    REQUIRE(signal == 0);
}

static void set_signals(long phase)
{
    sigset_t set;
    sigemptyset(&set);
    if (phase == 2)
        sigfillset(&set);
    REQUIRE(sigprocmask(SIG_SETMASK, &set, 0) == 0);
    REQUIRE(signal(SIGILL, phase == 3 ? SIG_IGN : unexpected) != SIG_ERR);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    signal(SIGSEGV, unexpected);
    struct seen seen;
    for (long round = 0; round < rounds(argc, argv); round++) {
        uint64_t seed = round % 19;
        if (round % 70 == 0)
            set_signals(round / 70 % 4);
        plain(&seen, seed);
        sum = mix(sum, look(&seen, seed, 0, 0));
        with_processor(&seen, seed);
        sum = mix(sum, look(&seen, seed, 1, 0));
        fenced(&seen, seed);
        sum = mix(sum, look(&seen, seed, 0, 0));
        fenced_with_processor(&seen, seed);
        sum = mix(sum, look(&seen, seed, 1, 0));
        shifted(&seen, seed);
        sum = mix(sum, look(&seen, seed, 1, 1));
        if (round % 16 == 3) {
            alone(&seen, seed);
            sum = mix(sum, look(&seen, seed, 0, 0));
        }
        // Now and then the other way.
        seed = round % 64 == 5 ? 12 : 3;
        behind_fence(&seen, seed);
        sum = mix(sum, look(&seen, seed, 0, 0));
        behind_reading(&seen, seed);
        if (seed == 3)
            sum = mix(sum, look(&seen, seed, 1, 1));
        else
            REQUIRE(seen.low == seed + 1 && seen.high == (seed + 2) << 32 && seen.c == seed + 3);
    }
    return report("counter", sum);
}
