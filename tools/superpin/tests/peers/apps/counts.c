// A program without a library, so that each run executes the same instructions whoever watches: gcc -O1 -nostdlib -static -no-pie
// Stores, loads with strides, branches that depend on data, calls, recursion, indirect jumps and calls, a string instruction that repeats.

#define APART __attribute__((noinline, noclone))

static unsigned char table[1 << 16];
static unsigned char copy[1 << 12];
static volatile unsigned sink;

APART static unsigned next(unsigned *state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 8;
}

APART static void fill(unsigned *state) {
    for (unsigned i = 0; i < sizeof table; i += 2)
        table[i] = next(state) & 255;
}

APART static unsigned strides(unsigned step) {
    unsigned sum = 0;
    for (unsigned i = 0; i < sizeof table; i += step)
        sum += table[i];
    return sum;
}

APART static unsigned fib(unsigned n) {
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

APART static unsigned kinds(unsigned n, unsigned *state) {
    unsigned sum = 0;
    while (n--) {
        switch (next(state) % 6) {
        case 0: sum += n; break;
        case 1: sum ^= n << 2; break;
        case 2: sum -= 3; break;
        case 3: sum *= 5; break;
        case 4: sum |= 1; break;
        default: sum >>= 1;
        }
    }
    return sum;
}

APART static unsigned one(unsigned x) { return x + 1; }
APART static unsigned two(unsigned x) { return x * 2; }
static unsigned (*volatile routines[2])(unsigned) = { one, two };

APART static unsigned indirect(unsigned n) {
    unsigned x = 0;
    for (unsigned i = 0; i < n; i++)
        x = routines[i % 3 == 0](x);
    return x;
}

APART static void copies(unsigned n) {
    while (n--) {
        void *to = copy;
        const void *from = table;
        unsigned long bytes = sizeof copy / 8;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    }
}

void _start(void) {
    unsigned state = 1;
    fill(&state);
    for (unsigned step = 1; step < 4096; step *= 4)
        sink += strides(step);
    sink += fib(17);
    sink += kinds(20000, &state);
    sink += indirect(5000);
    copies(10);
    __asm__ volatile("syscall" : : "a"(60), "D"(0));
    __builtin_unreachable();
}
