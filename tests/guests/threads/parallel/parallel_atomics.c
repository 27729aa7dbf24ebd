// All forms of instructions that read a word, change it and write it back at once, on words that four threads change at the same time.
// build plain: -O1 -pthread -mcx16
// rounds: 0 200000
// order: varies
#include "parallel.h"

enum { THREADS = 4 };

static volatile uint64_t added, subtracted, counted, uncounted, exchanged_added, bits, flipped, negated, inverted, swapped, anded, carried;
static volatile uint32_t ored;
static volatile uint8_t byte;
static volatile uint16_t half;
static volatile __int128 wide __attribute__((aligned(16)));
static volatile uint64_t pair[1];
static uint64_t won[THREADS], won_wide[THREADS], won_pair[THREADS], drawn[THREADS], set[THREADS];
static volatile uint64_t word;
static long work;

static void change(long me)
{
    for (long i = 0; i < work; i++) {
        uint64_t one = 1, old;
        __asm__ volatile("lock addq $3, %0" : "+m"(added)::"cc");
        __asm__ volatile("lock subq %1, %0" : "+m"(subtracted) : "r"(one) : "cc");
        __asm__ volatile("lock incq %0" : "+m"(counted)::"cc");
        __asm__ volatile("lock decq %0" : "+m"(uncounted)::"cc");
        __asm__ volatile("lock xaddq %1, %0" : "+m"(exchanged_added), "+r"(one)::"cc");
        __asm__ volatile("lock orl %1, %0" : "+m"(ored) : "r"(1u << (me * 8 + i % 8)) : "cc");
        __asm__ volatile("lock andq %1, %0" : "+m"(anded) : "r"(~(1ul << (me * 8 + i % 8))) : "cc");
        __asm__ volatile("lock xorq %1, %0" : "+m"(flipped) : "r"(1ul << me) : "cc");
        __asm__ volatile("lock btcq %1, %0" : "+m"(bits) : "r"(8 + me) : "cc");
        __asm__ volatile("lock btsq %1, %0" : "+m"(bits) : "r"(16 + me) : "cc");
        __asm__ volatile("lock btrq %2, %0; adcq $0, %1" : "+m"(bits), "+r"(set[me]) : "r"(16 + me) : "cc");
        __asm__ volatile("lock negq %0" : "+m"(negated)::"cc");
        __asm__ volatile("lock notq %0" : "+m"(inverted)::"cc");
        __asm__ volatile("lock addb $1, %0" : "+m"(byte)::"cc");
        __asm__ volatile("lock addw $1, %0" : "+m"(half)::"cc");
        __asm__ volatile("stc; lock adcq $1, %0" : "+m"(carried)::"cc");
        // What is taken out by one is put back by another, or by itself.
        one = me + 1;
        __asm__ volatile("xchgq %1, %0" : "+m"(swapped), "+r"(one));
        drawn[me] += one - (me + 1);
        // One try: who has lost it is counted, too.
        old = word;
        uint8_t is_won;
        __asm__ volatile("lock cmpxchgq %3, %0; sete %2" : "+m"(word), "+a"(old), "=q"(is_won) : "r"(old + 1) : "cc");
        won[me] += is_won;
        uint64_t low = ((volatile uint64_t *)&wide)[0], high = ((volatile uint64_t *)&wide)[1];
        __asm__ volatile("lock cmpxchg16b %0; sete %1"
                         : "+m"(wide), "=q"(is_won), "+a"(low), "+d"(high)
                         : "b"(low + 1), "c"(high + 2)
                         : "cc");
        won_wide[me] += is_won;
        uint32_t below = pair[0], above = pair[0] >> 32;
        __asm__ volatile("lock cmpxchg8b %0; sete %1"
                         : "+m"(pair[0]), "=q"(is_won), "+a"(below), "+d"(above)
                         : "b"(below + 1), "c"(above + 1)
                         : "cc");
        won_pair[me] += is_won;
    }
}

int main(int argc, char **argv)
{
    work = rounds(argc, argv);
    anded = ~0ul;
    work_together(THREADS, change);
    uint64_t all = (uint64_t)work * THREADS, wins = 0, wide_wins = 0, pair_wins = 0, draws = 0;
    for (int i = 0; i < THREADS; i++) {
        wins += won[i];
        wide_wins += won_wide[i];
        pair_wins += won_pair[i];
        draws += drawn[i];
        REQUIRE(set[i] == (uint64_t)work);
    }
    REQUIRE(added == 3 * all && subtracted == -all && counted == all && uncounted == -all);
    REQUIRE(exchanged_added == all && carried == 2 * all);
    REQUIRE(byte == (uint8_t)all && half == (uint16_t)all);
    REQUIRE(ored == ~0u && anded == ~(uint64_t)~0u);
    REQUIRE(bits == 0 && flipped == 0 && negated == 0 && inverted == 0);
    // All that was put in was taken out but for the last.
    REQUIRE(draws + swapped == 0);
    REQUIRE(wins == word && wins >= (uint64_t)work && wins <= all);
    REQUIRE(((volatile uint64_t *)&wide)[0] == wide_wins && ((volatile uint64_t *)&wide)[1] == 2 * wide_wins);
    // The halves are read at once.
    REQUIRE((uint32_t)pair[0] == (uint32_t)pair_wins && pair[0] >> 32 == (uint32_t)pair_wins);
    return report("atomic", 0);
}
