// Instructions that access as much memory as their masks and counters say: of eight elements five are gathered and three stored; a string instruction moves
// nothing, at addresses where nothing is, another one seven bytes. gcc -nostdlib -static -no-pie

    .globl _start
    .text
_start:
    mov $100, %r12d
    vmovdqu gathered(%rip), %ymm1
    vmovdqu stored(%rip), %ymm2
    vmovdqu indices(%rip), %ymm3
round:
    vmovdqa %ymm1, %ymm4
    lea table(%rip), %rax
gathers:
    vpgatherdd %ymm4, (%rax,%ymm3,4), %ymm5
stores:
    vmaskmovps %ymm5, %ymm2, (%rax)
    xor %ecx, %ecx
    mov $0x1000, %esi
    mov $0x2000, %edi
moves_nothing:
    rep movsb
    // Only the lower half counts.
    movabs $0x100000000, %rcx
moves_nothing_32:
    addr32 rep movsb
    mov $7, %ecx
    lea table(%rip), %rsi
    lea 64(%rsi), %rdi
moves:
    rep movsb
    dec %r12d
    jnz round
    mov $60, %eax
    xor %edi, %edi
    syscall

    .section .rodata
    .balign 32
gathered:
    .long -1, 0, -1, -1, 0, 0, -1, -1
stored:
    .long 0, -1, -1, 0, 0, -1, 0, 0
indices:
    .long 0, 1000, 16, 32, 2000, 3000, 48, 64
    .bss
    .balign 4096
table:
    .skip 16384
