// Locked instructions, compare and exchange, 16 bytes wide too.
// build plain: -O1 -mcx16
// rounds: 20 1000000
#include "guest.h"

int main(int argc, char **argv)
{
    static volatile uint64_t cell;
    static _Alignas(16) unsigned __int128 wide;
    uint64_t sum = 1;
    for (long round = 0; round < rounds(argc, argv); round++) {
        __sync_fetch_and_add(&cell, round);
        __sync_fetch_and_xor(&cell, sum);
        uint64_t seen = cell;
        sum += __sync_val_compare_and_swap(&cell, seen, seen * 3);
        unsigned __int128 old = wide;
        sum += __sync_bool_compare_and_swap(&wide, old, old * 5 + sum);
        sum = mix(sum, __atomic_exchange_n(&cell, sum, __ATOMIC_SEQ_CST));
    }
    return report("atomics", sum);
}
