/* CRC-32 of standard input (64 KiB at most), a bit at a time, 4000 times over; prints it in hexadecimal.

     gcc -nostdlib -static -o /tmp/crc examples/crc/crc.S

   It needs no library and no branch in it depends on the data, so that it executes the same number of instructions on every machine, in every
   environment: README has the number. */

#define ROUNDS 4000
#define ROOM   65536

        .intel_syntax noprefix
        .globl  _start

        .text
_start: xor     r12d, r12d              # bytes read
1:      xor     eax, eax                # read(0, input + r12, ROOM - r12)
        xor     edi, edi
        lea     rsi, input[rip]
        add     rsi, r12
        mov     edx, ROOM
        sub     rdx, r12
        syscall
        test    rax, rax
        jle     2f
        add     r12, rax
        jmp     1b

2:      mov     r13d, ROUNDS
round:  mov     eax, -1
        lea     rsi, input[rip]
        lea     rdi, [rsi + r12]
        cmp     rsi, rdi
        je      4f
each:   movzx   edx, byte ptr [rsi]
        inc     rsi
        xor     eax, edx
        mov     ebx, 8
bit:    mov     ecx, eax
        and     ecx, 1
        neg     ecx
        and     ecx, 0xedb88320
        shr     eax
        xor     eax, ecx
        dec     ebx
        jnz     bit
        cmp     rsi, rdi
        jne     each
4:      dec     r13d
        jnz     round
        not     eax

        lea     rsi, text[rip]          # eight digits, the highest first
        mov     ecx, 8
5:      rol     eax, 4
        mov     edx, eax
        and     edx, 15
        lea     rdi, digits[rip]
        mov     dl, [rdi + rdx]
        mov     [rsi], dl
        inc     rsi
        dec     ecx
        jnz     5b

        mov     eax, 1                  # write(1, text, 9)
        mov     edi, 1
        lea     rsi, text[rip]
        mov     edx, 9
        syscall
        mov     eax, 60                 # exit(0)
        xor     edi, edi
        syscall

        .section .rodata
digits: .ascii  "0123456789abcdef"

        .data
text:   .ascii  "........\n"

        .bss
        .lcomm  input, ROOM
        .section .note.GNU-stack, "", @progbits
