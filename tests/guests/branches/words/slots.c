// Calls and jumps through words of memory that can't be written while they are used, but are given other values in every way that there is.
// rounds: 1 30
#define _GNU_SOURCE
#include "guest.h"
#include <sys/mman.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };
typedef uint64_t function(uint64_t);

// Only its place is used: what lies there is mapped.
__attribute__((aligned(PAGE), section(".data"))) static function *slots[WORDS] = {0};

#define STEPS(n)                                               \
    __attribute__((noinline)) static uint64_t steps_##n(uint64_t sum) \
    {                                                          \
        for (volatile int i = 0; i < n; i++)                   \
            sum = mix(sum, n);                                 \
        return sum;                                            \
    }
STEPS(1)
STEPS(2)
STEPS(3)
STEPS(5)
STEPS(8)
static function *const steps[] = {steps_1, steps_2, steps_3, steps_5, steps_8};

// Calls through the first word, and jumps by the second one as in a procedure linkage table: a pair for each place that uses them, so that each of them
// always finds its word in the same kind of memory.
enum { PAIR = 32 };
__asm__(".text\n"
        ".balign 32\n"
        "pairs:\n"
        ".rept 11\n"
        ".balign 32\n"
        "sub $8, %rsp\n"
        "call *slots(%rip)\n"
        "add $8, %rsp\n"
        "ret\n"
        ".balign 16\n"
        "jmp *slots+8(%rip)\n"
        ".endr\n");
extern char pairs[];

static uint64_t use(int pair, uint64_t sum)
{
    function *calls = (function *)(pairs + pair * PAIR), *jumps = (function *)(pairs + pair * PAIR + PAIR / 2);
    for (int i = 0; i < 40; i++)
        sum = mix(calls(sum) + 1, jumps(sum));
    return sum;
}

static void protect(int protection)
{
    REQUIRE(mprotect(slots, PAGE, protection) == 0);
}

static void set(int n)
{
    slots[0] = steps[n % 5];
    slots[1] = steps[(n + 1) % 5];
}

static void map(void *place, int fd, int flags)
{
    flags |= fd < 0 ? MAP_ANONYMOUS : 0;
    REQUIRE(mmap(place, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0) == place);
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    int fd = memfd_create("words", 0);
    REQUIRE(fd >= 0 && ftruncate(fd, PAGE) == 0);
    function **file = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *apart = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(file != MAP_FAILED && apart != MAP_FAILED);
    for (long round = 0; round < rounds(argc, argv); round++) {
        // The program's own data; later what the round before has left.
        set(round);
        sum = use(0, sum);
        protect(PROT_READ);
        sum = use(1, sum);
        protect(PROT_READ | PROT_WRITE);
        set(round + 1);
        sum = use(2, sum);
        protect(PROT_READ);
        sum = use(3, sum);
        // A file's page that was never written, and changes with the file.
        file[0] = steps_3;
        file[1] = steps_5;
        map(slots, fd, MAP_PRIVATE | MAP_FIXED);
        protect(PROT_READ);
        sum = use(4, sum);
        file[0] = steps_1;
        function *other = steps_2;
        REQUIRE(pwrite(fd, &other, 8, 8) == 8);
        sum = use(5, sum);
        // Written, and then the file's again.
        protect(PROT_READ | PROT_WRITE);
        set(round + 2);
        protect(PROT_READ);
        sum = use(6, sum);
        REQUIRE(madvise(slots, PAGE, MADV_DONTNEED) == 0);
        sum = use(7, sum);
        // Another page comes there.
        map(apart, fd, MAP_PRIVATE | MAP_FIXED);
        ((function **)apart)[0] = steps_8;
        ((function **)apart)[1] = steps[round % 5];
        REQUIRE(mprotect(apart, PAGE, PROT_READ) == 0);
        REQUIRE(mremap(apart, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, slots) == slots);
        sum = use(8, sum);
        map(slots, fd, MAP_SHARED | MAP_FIXED);
        protect(PROT_READ);
        sum = use(9, sum);
        file[0] = steps[(round + 3) % 5];
        sum = use(10, sum);
        map(slots, fd, MAP_PRIVATE | MAP_FIXED);
        map(apart, -1, MAP_PRIVATE | MAP_FIXED);
    }
    return report("through words", sum);
}
