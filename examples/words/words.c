/* The commonest words of standard input (64 KiB at most), counted 100 times over in a table of lists.

     gcc -nostdlib -static -o /tmp/words examples/words/words.s

   It is what the manual's examples run (docs/manual). It needs no library; words.s is what a compiler has made of it, with the lines of this file, so that it executes the same
   instructions, and uses the same memory, on every machine:

     gcc -O1 -g -S -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pie -fno-inline -fdebug-prefix-map=$PWD= \
         -o examples/words/words.s examples/words/words.c */

enum { ROUNDS = 100, ROOM = 1 << 16, LISTS = 64, SHOWN = 5, HEAP = 1 << 20 };

struct word {
    struct word *next;
    unsigned long count, length;
    char text[];
};

static char input[ROOM], heap[HEAP];
static struct word *table[LISTS];
static unsigned long used;
static volatile unsigned long freed;

static long call(long number, long a, const void *b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

/* Memory that was freed isn't used again. */
void *malloc(unsigned long size)
{
    void *place = heap + used;
    used += (size + 15) & -16ul;
    return used <= HEAP ? place : 0;
}

void free(void *place)
{
    freed += place != 0;
}

static void copy(char *to, const char *from, unsigned long length)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static unsigned long hash(const char *text, unsigned long length)
{
    unsigned long value = 5381;
    for (unsigned long i = 0; i < length; i++)
        value = value * 33 + (unsigned char)text[i];
    return value;
}

static int is_same(const struct word *word, const char *text, unsigned long length)
{
    if (word->length != length)
        return 0;
    for (unsigned long i = 0; i < length; i++)
        if (word->text[i] != text[i])
            return 0;
    return 1;
}

static struct word *find(const char *text, unsigned long length)
{
    struct word **list = &table[hash(text, length) % LISTS];
    for (struct word *word = *list; word; word = word->next)
        if (is_same(word, text, length))
            return word;
    struct word *word = malloc(sizeof *word + length);
    word->next = *list;
    word->count = 0;
    word->length = length;
    copy(word->text, text, length);
    return *list = word;
}

static void count_words(unsigned long length)
{
    for (unsigned long at = 0; at < length;) {
        unsigned long end = at;
        while (end < length && is_letter(input[end]))
            end++;
        if (end > at)
            find(input + at, end - at)->count++;
        at = end + 1;
    }
}

static struct word *commonest(void)
{
    struct word *most = 0;
    for (int list = 0; list < LISTS; list++)
        for (struct word *word = table[list]; word; word = word->next)
            if (!most || word->count > most->count)
                most = word;
    return most;
}

static void print(struct word *word)
{
    char line[80], *at = line + sizeof line;
    *--at = '\n';
    for (unsigned long n = word->count; n; n /= 10)
        *--at = '0' + n % 10;
    *--at = ' ';
    unsigned long length = word->length < 40 ? word->length : 40;
    copy(at - length, word->text, length);
    call(1, 1, at - length, line + sizeof line - (at - length));
}

/* Words that occur once are forgotten, and never freed. */
static void clear(void)
{
    for (int list = 0; list < LISTS; list++)
        for (struct word *word = table[list], *next; word; word = next) {
            next = word->next;
            if (word->count > ROUNDS)
                free(word);
        }
}

/* A stack of its own: where the kernel puts one depends on the environment. */
static char stack[1 << 12] __attribute__((aligned(4096), used));
__asm__(".globl _start\n_start: lea stack + 4096(%rip), %rsp\n call run\n.type _start, @function\n.size _start, . - _start");

void run(void)
{
    unsigned long length = 0;
    for (long got; (got = call(0, 0, input + length, ROOM - length)) > 0;)
        length += got;
    for (int round = 0; round < ROUNDS; round++)
        count_words(length);
    for (int shown = 0; shown < SHOWN; shown++) {
        struct word *word = commonest();
        if (!word || !word->count)
            break;
        print(word);
        word->count = 0;
    }
    clear();
    call(231, 0, 0, 0);
}
