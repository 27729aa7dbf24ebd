// Code pointers compared, hashed, hidden and sorted, then called: of functions, labels, virtual functions, and where calls return to.
// build pie: -O1 -static-pie
// build static: -O1 -static
// rounds: 3 100000
#include "guest.h"
#include <algorithm>
#include <iterator>

typedef uint64_t (*Function)(uint64_t);

template <int N> __attribute__((noinline)) uint64_t function(uint64_t x)
{
    return x * (2 * N + 1) + N;
}

struct Base {
    virtual uint64_t value(uint64_t x) { return x + 1; }
};
struct Derived : Base {
    uint64_t value(uint64_t x) override { return x * 3; }
};

// The address that it returns to, and what it says itself of it.
extern "C" uint64_t where(), call_of_where(), resume();
asm(".text\n"
    "where:\n\tmov (%rsp), %rax\n\tret\n"
    "call_of_where:\n\tcall where\n"
    "1:\tlea 1b(%rip), %rdx\n\tsub %rdx, %rax\n\tret\n"
    // Where a call returned to is jumped to four times more.
    "resume:\n\txor %ecx, %ecx\n\tcall where\n\tinc %ecx\n\tcmp $5, %ecx\n\tjae 1f\n\tjmp *%rax\n"
    "1:\tmov %ecx, %eax\n\tret\n");

__attribute__((noinline)) static uintptr_t returns_to()
{
    return (uintptr_t)__builtin_return_address(0);
}

static const Function functions[] = {function<0>, function<1>, function<2>, function<3>, function<4>, function<5>, function<6>, function<7>};
extern "C" char __executable_start[], etext[];
static uintptr_t start = (uintptr_t)__executable_start, end = (uintptr_t)etext;

static bool is_code(uintptr_t pointer)
{
    return pointer >= start && pointer < end;
}

// The range as the kernel tells it.
static void find_code()
{
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps);
    char line[512], rights[8];
    do {
        REQUIRE(fgets(line, sizeof line, maps));
        REQUIRE(sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3);
    } while (!is_code((uintptr_t)find_code));
    fclose(maps);
    REQUIRE(rights[2] == 'x');
}

static void compare_calls()
{
    uintptr_t address = returns_to();
    REQUIRE(is_code(address));
    // The call before it leads to the function.
    int32_t distance;
    memcpy(&distance, (const char *)address - 4, 4);
    REQUIRE(((const unsigned char *)address)[-5] == 0xe8);
    REQUIRE(address + distance == (uintptr_t)returns_to);
    REQUIRE(call_of_where() == 0);
    REQUIRE(resume() == 5);
}

static uint64_t through_labels(uint64_t x)
{
    // Distances between labels, and one that is found by comparing.
    static const void *const labels[] = {&&add, &&times, &&invert};
    for (const void *label : labels)
        REQUIRE(is_code((uintptr_t)label));
    const char *least = (const char *)*std::min_element(labels, labels + 3);
    ptrdiff_t distance = (const char *)labels[x % 3] - least;
    goto *(void *)(least + distance);
add:
    return x + 5;
times:
    return x * 5;
invert:
    return ~x;
}

static uint64_t through_tables(Base *object, uint64_t x)
{
    // The first word of the object's table is the function.
    uintptr_t entry = **(uintptr_t **)object;
    REQUIRE(is_code(entry));
    auto direct = (uint64_t (*)(Base *, uint64_t))entry;
    uint64_t value = direct(object, x);
    REQUIRE(value == object->value(x));
    return value;
}

int main(int argc, char **argv)
{
    if (rounds(argc, argv) > 3) // a single-stepped process has fewer mappings to read
        find_code();
    Base base;
    Derived derived;
    Base *volatile objects[] = {&base, &derived};
    REQUIRE(**(uintptr_t **)&base != **(uintptr_t **)&derived);
    uint64_t sum = 0;
    for (long round = 0; round < rounds(argc, argv); round++) {
        compare_calls();
        // Sorted by their hashes, found by address again.
        uint64_t hidden[8], key = mix(sum, round);
        for (int i = 0; i < 8; i++) {
            REQUIRE(is_code((uintptr_t)functions[i]));
            hidden[i] = ((uintptr_t)functions[i] ^ key) << 17 | ((uintptr_t)functions[i] ^ key) >> 47;
        }
        std::sort(hidden, hidden + 8);
        uint64_t found = 0;
        for (uint64_t word : hidden) {
            uintptr_t pointer = (word >> 17 | word << 47) ^ key;
            const Function *at = std::find(functions, std::end(functions), (Function)pointer);
            REQUIRE(at != std::end(functions));
            uint64_t value = ((Function)pointer)(key);
            int n = at - functions;
            REQUIRE(value == key * (2 * n + 1) + n);
            found += value;
        }
        sum = mix(sum, found);
        sum = mix(sum, through_labels(sum));
        sum = mix(sum, through_tables(objects[round & 1], sum));
    }
    return report("pointers", sum);
}
