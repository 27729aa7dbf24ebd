// Readings of the time stamp counter at the very start of a program's code, where nothing before or near them is free: with fences, moves
// and shifts around them, one right behind the other, and sometimes entered behind the first.
// rounds: 8 60
#include "guest.h"

#define FLAGS_TO(where) "lea -128(%%rsp), %%rsp\n\tpushfq\n\tpop " where "\n\tlea 128(%%rsp), %%rsp\n\t"
#define CROWD "jmp 7f\n\t.fill 150, 1, 0xf4\n7:\n\t"

struct seen {
    uint64_t a, d, c, moved, before, after, red;
};

// The linker puts what is unlikely first.
#define READER(name, instructions)                                                                                    \
    static void __attribute__((noinline, section(".text.unlikely"))) name(struct seen *seen, uint64_t seed, uint64_t direct) \
    {                                                                                                                 \
        uint64_t a = seed + 1, d = seed + 2, c = seed + 3, moved = seed + 4, before, after, red, at;                  \
        __asm__ volatile(CROWD "lea 1f(%%rip), %[at]\n\tlea 2f(%%rip), %[after]\n\ttest %[direct], %[direct]\n\t"      \
                               "cmovz %[after], %[at]\n\tmov %[seed], -16(%%rsp)\n\tcmp $9, %[seed]\n\t"              \
                         FLAGS_TO("%[before]") "jmp *%[at]\n\t.fill 150, 1, 0xf4\n" instructions                      \
                         FLAGS_TO("%[after]") "mov -16(%%rsp), %[red]\n\t" CROWD                                      \
                         : "+&a"(a), "+&d"(d), "+&c"(c), [moved] "+&r"(moved), [before] "=&r"(before),                \
                           [after] "=&r"(after), [red] "=&r"(red), [at] "=&r"(at)                                     \
                         : [seed] "r"(seed), [direct] "r"(direct)                                                     \
                         : "cc", "memory");                                                                           \
        *seen = (struct seen){a, d, c, moved, before, after, red};                                                    \
    }

READER(pair, "1:\tlfence\n\trdtsc\n2:\tlfence\n\trdtscp\n\t")
READER(moves, "1:\tlfence\n\trdtsc\n2:\tmov %%rax, %[moved]\n\tlfence\n\trdtscp\n\t")
READER(shifts, "1:\trdtsc\n2:\tshl $32, %%rdx\n\t")
READER(adds, "1:\trdtscp\n2:\tadd $0x1234567, %[moved]\n\t")

static uint64_t last;

static void later(uint64_t low, uint64_t high)
{
    REQUIRE(low >> 32 == 0 && high >> 32 == 0);
    uint64_t now = high << 32 | low;
    REQUIRE(now > last);
    last = now;
}

static uint64_t flags_of_shift(uint64_t seed, uint64_t value)
{
    uint64_t flags;
    __asm__ volatile("cmp $9, %[seed]\n\tshl $32, %[value]\n\t" FLAGS_TO("%[flags]")
                     : [flags] "=r"(flags), [value] "+r"(value)
                     : [seed] "r"(seed)
                     : "cc", "memory");
    return flags;
}

static const uint64_t FLAGS = 0x8c5;

static void look(const struct seen *seen, uint64_t seed)
{
    REQUIRE(seen->red == seed && ((seen->before ^ seen->after) & FLAGS) == 0);
    REQUIRE(seen->c < 0x1000000);
    later(seen->a, seen->d);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    struct seen seen;
    for (long round = 0; round < rounds(argc, argv); round++)
        for (uint64_t seed = 0; seed < 19; seed++) {
            // Now and then behind the first reading.
            uint64_t direct = round % 16 != 5 || seed != 12;
            pair(&seen, seed, direct);
            look(&seen, seed);
            REQUIRE(seen.moved == seed + 4);
            moves(&seen, seed, direct);
            look(&seen, seed);
            // The lower half may have begun anew in between: it takes no other way then.
            REQUIRE(direct ? (uint32_t)(seen.a - seen.moved) >> 31 == 0 : seen.moved == seed + 1);
            shifts(&seen, seed, direct);
            REQUIRE(seen.red == seed && seen.c == seed + 3 && (uint32_t)seen.d == 0);
            uint64_t high = direct ? seen.d >> 32 : seed + 2;
            REQUIRE(((flags_of_shift(seed, high) ^ seen.after) & FLAGS) == 0);
            if (direct)
                later(seen.a, high);
            else
                REQUIRE(seen.a == seed + 1 && seen.d >> 32 == seed + 2);
            adds(&seen, seed, direct);
            REQUIRE(seen.red == seed && seen.moved == seed + 4 + 0x1234567 && (seen.after & (FLAGS & ~4ull)) == 0);
            if (direct)
                later(seen.a, seen.d);
            else
                REQUIRE(seen.a == seed + 1 && seen.d == seed + 2 && seen.c == seed + 3);
            sum = mix(sum, seen.before & FLAGS);
        }
    return report("counter", sum);
}
