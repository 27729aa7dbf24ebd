	.file	"words.c"
	.text
.Ltext0:
	.cfi_sections	.debug_frame
	.file 0 "" "examples/words/words.c"
#APP
	.globl _start
_start: lea stack + 4096(%rip), %rsp
 call run
.type _start, @function
.size _start, . - _start
#NO_APP
	.type	call, @function
call:
.LVL0:
.LFB0:
	.file 1 "examples/words/words.c"
	.loc 1 25 1 view -0
	.cfi_startproc
	.loc 1 25 1 is_stmt 0 view .LVU1
	movq	%rdi, %rax
	movq	%rsi, %rdi
.LVL1:
	.loc 1 25 1 view .LVU2
	movq	%rdx, %rsi
.LVL2:
	.loc 1 25 1 view .LVU3
	movq	%rcx, %rdx
.LVL3:
	.loc 1 26 5 is_stmt 1 view .LVU4
	.loc 1 27 5 view .LVU5
#APP
# 27 "examples/words/words.c" 1
	syscall
# 0 "" 2
.LVL4:
	.loc 1 28 5 view .LVU6
	.loc 1 29 1 is_stmt 0 view .LVU7
#NO_APP
	ret
	.cfi_endproc
.LFE0:
	.size	call, .-call
	.type	copy, @function
copy:
.LVL5:
.LFB3:
	.loc 1 45 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 46 5 view .LVU9
	movq	%rdx, %rcx
#APP
# 46 "examples/words/words.c" 1
	rep movsb
# 0 "" 2
.LVL6:
	.loc 1 47 1 is_stmt 0 view .LVU10
#NO_APP
	ret
	.cfi_endproc
.LFE3:
	.size	copy, .-copy
	.type	is_letter, @function
is_letter:
.LVL7:
.LFB4:
	.loc 1 50 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 51 5 view .LVU12
	.loc 1 51 48 is_stmt 0 view .LVU13
	andl	$-33, %edi
.LVL8:
	.loc 1 51 48 view .LVU14
	subl	$65, %edi
	cmpb	$25, %dil
	setbe	%al
	movzbl	%al, %eax
	.loc 1 52 1 view .LVU15
	ret
	.cfi_endproc
.LFE4:
	.size	is_letter, .-is_letter
	.type	hash, @function
hash:
.LVL9:
.LFB5:
	.loc 1 55 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 56 5 view .LVU17
	.loc 1 57 5 view .LVU18
.LBB2:
	.loc 1 57 10 view .LVU19
	.loc 1 57 33 view .LVU20
	testq	%rsi, %rsi
	je	.L7
	movq	%rdi, %rdx
	addq	%rsi, %rdi
.LVL10:
	.loc 1 57 33 is_stmt 0 view .LVU21
.LBE2:
	.loc 1 56 19 view .LVU22
	movl	$5381, %eax
.LVL11:
.L6:
.LBB3:
	.loc 1 58 9 is_stmt 1 discriminator 3 view .LVU23
	.loc 1 58 23 is_stmt 0 discriminator 3 view .LVU24
	movq	%rax, %rcx
	salq	$5, %rcx
	addq	%rcx, %rax
.LVL12:
	.loc 1 58 30 discriminator 3 view .LVU25
	movzbl	(%rdx), %ecx
	.loc 1 58 15 discriminator 3 view .LVU26
	addq	%rcx, %rax
.LVL13:
	.loc 1 57 44 is_stmt 1 discriminator 3 view .LVU27
	.loc 1 57 33 discriminator 3 view .LVU28
	addq	$1, %rdx
.LVL14:
	.loc 1 57 33 is_stmt 0 discriminator 3 view .LVU29
	cmpq	%rdi, %rdx
	jne	.L6
	ret
.LVL15:
.L7:
	.loc 1 57 33 discriminator 3 view .LVU30
.LBE3:
	.loc 1 56 19 view .LVU31
	movl	$5381, %eax
	.loc 1 59 5 is_stmt 1 view .LVU32
	.loc 1 60 1 is_stmt 0 view .LVU33
	ret
	.cfi_endproc
.LFE5:
	.size	hash, .-hash
	.type	is_same, @function
is_same:
.LVL16:
.LFB6:
	.loc 1 63 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 64 5 view .LVU35
	.loc 1 65 16 is_stmt 0 view .LVU36
	movl	$0, %eax
	.loc 1 64 8 view .LVU37
	cmpq	%rdx, 16(%rdi)
	jne	.L9
.LVL17:
.LBB4:
	.loc 1 66 33 is_stmt 1 view .LVU38
	testq	%rdx, %rdx
	je	.L13
	.loc 1 66 24 is_stmt 0 view .LVU39
	movl	$0, %eax
.LVL18:
.L11:
	.loc 1 67 9 is_stmt 1 view .LVU40
	.loc 1 67 12 is_stmt 0 view .LVU41
	movzbl	(%rsi,%rax), %ecx
	cmpb	%cl, 24(%rdi,%rax)
	jne	.L14
	.loc 1 66 44 is_stmt 1 discriminator 2 view .LVU42
	addq	$1, %rax
.LVL19:
	.loc 1 66 33 discriminator 2 view .LVU43
	cmpq	%rax, %rdx
	jne	.L11
.LBE4:
	.loc 1 69 12 is_stmt 0 view .LVU44
	movl	$1, %eax
.LVL20:
.LBB5:
	.loc 1 69 12 view .LVU45
	ret
.LVL21:
.L13:
	.loc 1 69 12 view .LVU46
.LBE5:
	movl	$1, %eax
	ret
.LVL22:
.L14:
.LBB6:
	.loc 1 68 20 view .LVU47
	movl	$0, %eax
.LVL23:
.L9:
	.loc 1 68 20 view .LVU48
.LBE6:
	.loc 1 70 1 view .LVU49
	ret
	.cfi_endproc
.LFE6:
	.size	is_same, .-is_same
	.type	commonest, @function
commonest:
.LFB9:
	.loc 1 99 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 100 5 view .LVU51
.LVL24:
	.loc 1 101 5 view .LVU52
.LBB7:
	.loc 1 101 10 view .LVU53
	.loc 1 101 29 view .LVU54
	movl	$table, %ecx
	movl	$table+512, %esi
.LBE7:
	.loc 1 100 18 is_stmt 0 view .LVU55
	movl	$0, %edx
	jmp	.L20
.LVL25:
.L25:
.LBB10:
.LBB8:
	.loc 1 100 18 view .LVU56
	movq	8(%rax), %rdi
	cmpq	%rdi, 8(%rdx)
	cmovb	%rax, %rdx
.LVL26:
.L18:
	.loc 1 102 58 is_stmt 1 discriminator 2 view .LVU57
	movq	(%rax), %rax
.LVL27:
	.loc 1 102 47 discriminator 2 view .LVU58
	testq	%rax, %rax
	je	.L17
.L19:
	.loc 1 103 13 view .LVU59
	.loc 1 103 16 is_stmt 0 view .LVU60
	testq	%rdx, %rdx
	jne	.L25
	.loc 1 103 16 view .LVU61
	movq	%rax, %rdx
.LVL28:
	.loc 1 103 16 view .LVU62
	jmp	.L18
.LVL29:
.L17:
	.loc 1 103 16 view .LVU63
.LBE8:
	.loc 1 101 42 is_stmt 1 discriminator 2 view .LVU64
	.loc 1 101 29 discriminator 2 view .LVU65
	addq	$8, %rcx
.LVL30:
	.loc 1 101 29 is_stmt 0 discriminator 2 view .LVU66
	cmpq	%rsi, %rcx
	je	.L26
.LVL31:
.L20:
	.loc 1 102 9 is_stmt 1 view .LVU67
.LBB9:
	.loc 1 102 14 view .LVU68
	.loc 1 102 27 is_stmt 0 view .LVU69
	movq	(%rcx), %rax
.LVL32:
	.loc 1 102 47 is_stmt 1 view .LVU70
	testq	%rax, %rax
	jne	.L19
	jmp	.L17
.LVL33:
.L26:
	.loc 1 102 47 is_stmt 0 view .LVU71
.LBE9:
.LBE10:
	.loc 1 105 5 is_stmt 1 view .LVU72
	.loc 1 106 1 is_stmt 0 view .LVU73
	movq	%rdx, %rax
.LVL34:
	.loc 1 106 1 view .LVU74
	ret
	.cfi_endproc
.LFE9:
	.size	commonest, .-commonest
	.type	print, @function
print:
.LVL35:
.LFB10:
	.loc 1 109 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 109 1 is_stmt 0 view .LVU76
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	subq	$80, %rsp
	.cfi_def_cfa_offset 96
	movq	%rdi, %rsi
	.loc 1 110 5 is_stmt 1 view .LVU77
.LVL36:
	.loc 1 111 5 view .LVU78
	.loc 1 111 11 is_stmt 0 view .LVU79
	movb	$10, 79(%rsp)
	.loc 1 112 5 is_stmt 1 view .LVU80
.LBB11:
	.loc 1 112 10 view .LVU81
	.loc 1 112 24 is_stmt 0 view .LVU82
	movq	8(%rdi), %rcx
.LVL37:
	.loc 1 112 41 is_stmt 1 view .LVU83
	testq	%rcx, %rcx
	je	.L30
.LBE11:
	.loc 1 111 11 is_stmt 0 view .LVU84
	leaq	79(%rsp), %r8
.LVL38:
.LBB12:
	.loc 1 113 25 view .LVU85
	movabsq	$-3689348814741910323, %r9
.LVL39:
.L29:
	.loc 1 113 9 is_stmt 1 discriminator 3 view .LVU86
	.loc 1 113 15 is_stmt 0 discriminator 3 view .LVU87
	subq	$1, %r8
.LVL40:
	.loc 1 113 25 discriminator 3 view .LVU88
	movq	%rcx, %rax
	mulq	%r9
	shrq	$3, %rdx
	leaq	(%rdx,%rdx,4), %rdi
	addq	%rdi, %rdi
	movq	%rcx, %rax
	subq	%rdi, %rax
	.loc 1 113 21 discriminator 3 view .LVU89
	addl	$48, %eax
	movb	%al, (%r8)
	.loc 1 112 46 is_stmt 1 discriminator 3 view .LVU90
	movq	%rcx, %rax
	movq	%rdx, %rcx
.LVL41:
	.loc 1 112 41 discriminator 3 view .LVU91
	cmpq	$9, %rax
	ja	.L29
.LVL42:
.L28:
	.loc 1 112 41 is_stmt 0 discriminator 3 view .LVU92
.LBE12:
	.loc 1 114 5 is_stmt 1 view .LVU93
	.loc 1 114 11 is_stmt 0 view .LVU94
	movb	$32, -1(%r8)
	.loc 1 115 5 is_stmt 1 view .LVU95
	.loc 1 115 19 is_stmt 0 view .LVU96
	movq	16(%rsi), %rdx
	movl	$40, %eax
	cmpq	%rax, %rdx
	cmova	%rax, %rdx
.LVL43:
	.loc 1 116 5 is_stmt 1 view .LVU97
	movq	%rdx, %rax
	notq	%rax
	leaq	(%r8,%rax), %rbx
	.loc 1 116 27 is_stmt 0 view .LVU98
	addq	$24, %rsi
.LVL44:
	.loc 1 116 5 view .LVU99
	movq	%rbx, %rdi
	call	copy
.LVL45:
	.loc 1 117 5 is_stmt 1 view .LVU100
	leaq	80(%rsp), %rcx
	subq	%rbx, %rcx
	movq	%rbx, %rdx
	movl	$1, %esi
	movl	$1, %edi
	call	call
.LVL46:
	.loc 1 118 1 is_stmt 0 view .LVU101
	addq	$80, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.LVL47:
.L30:
	.cfi_restore_state
	.loc 1 111 11 view .LVU102
	leaq	79(%rsp), %r8
.LVL48:
	.loc 1 111 11 view .LVU103
	jmp	.L28
	.cfi_endproc
.LFE10:
	.size	print, .-print
	.globl	malloc
	.type	malloc, @function
malloc:
.LVL49:
.LFB1:
	.loc 1 33 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 34 5 view .LVU105
	.loc 1 34 24 is_stmt 0 view .LVU106
	movq	used(%rip), %rax
.LVL50:
	.loc 1 35 5 is_stmt 1 view .LVU107
	.loc 1 35 19 is_stmt 0 view .LVU108
	addq	$15, %rdi
.LVL51:
	.loc 1 35 25 view .LVU109
	andq	$-16, %rdi
.LVL52:
	.loc 1 35 10 view .LVU110
	addq	%rax, %rdi
	movq	%rdi, used(%rip)
	.loc 1 36 5 is_stmt 1 view .LVU111
	.loc 1 34 11 is_stmt 0 view .LVU112
	addq	$heap, %rax
.LVL53:
	.loc 1 34 11 view .LVU113
	cmpq	$1048577, %rdi
	movl	$0, %edx
	cmovnb	%rdx, %rax
.LVL54:
	.loc 1 37 1 view .LVU114
	ret
	.cfi_endproc
.LFE1:
	.size	malloc, .-malloc
	.type	find, @function
find:
.LVL55:
.LFB7:
	.loc 1 73 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 73 1 is_stmt 0 view .LVU116
	pushq	%r14
	.cfi_def_cfa_offset 16
	.cfi_offset 14, -16
	pushq	%r13
	.cfi_def_cfa_offset 24
	.cfi_offset 13, -24
	pushq	%r12
	.cfi_def_cfa_offset 32
	.cfi_offset 12, -32
	pushq	%rbp
	.cfi_def_cfa_offset 40
	.cfi_offset 6, -40
	pushq	%rbx
	.cfi_def_cfa_offset 48
	.cfi_offset 3, -48
	movq	%rdi, %r12
	movq	%rsi, %rbp
	.loc 1 74 5 is_stmt 1 view .LVU117
	.loc 1 74 33 is_stmt 0 view .LVU118
	call	hash
.LVL56:
	.loc 1 74 52 view .LVU119
	andl	$63, %eax
	movq	%rax, %r13
.LVL57:
	.loc 1 75 5 is_stmt 1 view .LVU120
.LBB13:
	.loc 1 75 10 view .LVU121
	.loc 1 75 23 is_stmt 0 view .LVU122
	movq	table(,%rax,8), %r14
.LVL58:
	.loc 1 75 37 is_stmt 1 view .LVU123
	testq	%r14, %r14
	je	.L37
	.loc 1 75 23 is_stmt 0 view .LVU124
	movq	%r14, %rbx
.LVL59:
.L39:
	.loc 1 76 9 is_stmt 1 view .LVU125
	.loc 1 76 13 is_stmt 0 view .LVU126
	movq	%rbp, %rdx
	movq	%r12, %rsi
	movq	%rbx, %rdi
	call	is_same
.LVL60:
	.loc 1 76 12 view .LVU127
	testl	%eax, %eax
	jne	.L36
	.loc 1 75 48 is_stmt 1 discriminator 2 view .LVU128
	movq	(%rbx), %rbx
.LVL61:
	.loc 1 75 37 discriminator 2 view .LVU129
	testq	%rbx, %rbx
	jne	.L39
.LVL62:
.L37:
	.loc 1 75 37 is_stmt 0 discriminator 2 view .LVU130
.LBE13:
	.loc 1 78 5 is_stmt 1 view .LVU131
	.loc 1 78 25 is_stmt 0 view .LVU132
	leaq	24(%rbp), %rdi
	call	malloc
.LVL63:
	movq	%rax, %rbx
.LVL64:
	.loc 1 79 5 is_stmt 1 view .LVU133
	.loc 1 79 16 is_stmt 0 view .LVU134
	movq	%r14, (%rax)
	.loc 1 80 5 is_stmt 1 view .LVU135
	.loc 1 80 17 is_stmt 0 view .LVU136
	movq	$0, 8(%rax)
	.loc 1 81 5 is_stmt 1 view .LVU137
	.loc 1 81 18 is_stmt 0 view .LVU138
	movq	%rbp, 16(%rax)
	.loc 1 82 5 is_stmt 1 view .LVU139
	.loc 1 82 14 is_stmt 0 view .LVU140
	leaq	24(%rax), %rdi
	.loc 1 82 5 view .LVU141
	movq	%rbp, %rdx
	movq	%r12, %rsi
	call	copy
.LVL65:
	.loc 1 83 5 is_stmt 1 view .LVU142
	.loc 1 83 18 is_stmt 0 view .LVU143
	movq	%rbx, table(,%r13,8)
.LVL66:
.L36:
	.loc 1 84 1 view .LVU144
	movq	%rbx, %rax
	popq	%rbx
	.cfi_def_cfa_offset 40
	popq	%rbp
	.cfi_def_cfa_offset 32
.LVL67:
	.loc 1 84 1 view .LVU145
	popq	%r12
	.cfi_def_cfa_offset 24
.LVL68:
	.loc 1 84 1 view .LVU146
	popq	%r13
	.cfi_def_cfa_offset 16
.LVL69:
	.loc 1 84 1 view .LVU147
	popq	%r14
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE7:
	.size	find, .-find
	.type	count_words, @function
count_words:
.LVL70:
.LFB8:
	.loc 1 87 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 87 1 is_stmt 0 view .LVU149
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	movq	%rdi, %rbp
	.loc 1 88 5 is_stmt 1 view .LVU150
.LBB14:
	.loc 1 88 10 view .LVU151
.LVL71:
	.loc 1 88 35 view .LVU152
	.loc 1 88 24 is_stmt 0 view .LVU153
	movl	$0, %r12d
	.loc 1 88 35 view .LVU154
	testq	%rdi, %rdi
	jne	.L43
.LVL72:
.L42:
	.loc 1 88 35 view .LVU155
.LBE14:
	.loc 1 96 1 view .LVU156
	popq	%rbx
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
.LVL73:
	.loc 1 96 1 view .LVU157
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.LVL74:
.L45:
	.cfi_restore_state
.LBB17:
.LBB15:
	.loc 1 92 9 is_stmt 1 view .LVU158
	.loc 1 92 12 is_stmt 0 view .LVU159
	cmpq	%rbx, %r12
	jb	.L55
.L47:
	.loc 1 94 9 is_stmt 1 view .LVU160
	.loc 1 94 12 is_stmt 0 view .LVU161
	leaq	1(%rbx), %r12
.LVL75:
	.loc 1 94 12 view .LVU162
.LBE15:
	.loc 1 88 35 is_stmt 1 view .LVU163
	cmpq	%rbp, %r12
	jnb	.L42
.LVL76:
.L43:
.LBB16:
	.loc 1 90 29 view .LVU164
	movq	%r12, %rbx
	cmpq	%rbp, %r12
	jnb	.L47
.LVL77:
.L48:
	.loc 1 90 32 is_stmt 0 discriminator 1 view .LVU165
	movsbl	input(%rbx), %edi
	call	is_letter
.LVL78:
	.loc 1 90 29 discriminator 1 view .LVU166
	testl	%eax, %eax
	je	.L45
	.loc 1 91 13 is_stmt 1 view .LVU167
	.loc 1 91 16 is_stmt 0 view .LVU168
	addq	$1, %rbx
.LVL79:
	.loc 1 90 29 is_stmt 1 view .LVU169
	cmpq	%rbx, %rbp
	jne	.L48
	.loc 1 91 16 is_stmt 0 view .LVU170
	movq	%rbp, %rbx
.LVL80:
	.loc 1 91 16 view .LVU171
	jmp	.L45
.LVL81:
.L55:
	.loc 1 93 13 is_stmt 1 view .LVU172
	movq	%rbx, %rsi
	subq	%r12, %rsi
	leaq	input(%r12), %rdi
	call	find
.LVL82:
	.loc 1 93 46 is_stmt 0 view .LVU173
	addq	$1, 8(%rax)
	jmp	.L47
.LBE16:
.LBE17:
	.cfi_endproc
.LFE8:
	.size	count_words, .-count_words
	.globl	free
	.type	free, @function
free:
.LVL83:
.LFB2:
	.loc 1 40 1 is_stmt 1 view -0
	.cfi_startproc
	.loc 1 41 5 view .LVU175
	.loc 1 41 11 is_stmt 0 view .LVU176
	movq	freed(%rip), %rax
	cmpq	$1, %rdi
	sbbq	$-1, %rax
	movq	%rax, freed(%rip)
	.loc 1 42 1 view .LVU177
	ret
	.cfi_endproc
.LFE2:
	.size	free, .-free
	.type	clear, @function
clear:
.LFB11:
	.loc 1 122 1 is_stmt 1 view -0
	.cfi_startproc
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	.loc 1 123 5 view .LVU179
.LBB18:
	.loc 1 123 10 view .LVU180
.LVL84:
	.loc 1 123 29 view .LVU181
	movl	$table, %ebp
	movl	$table+512, %r12d
	jmp	.L61
.LVL85:
.L59:
.LBB19:
	.loc 1 124 54 discriminator 1 view .LVU182
	testq	%rbx, %rbx
	je	.L58
.LVL86:
.L60:
	.loc 1 125 13 view .LVU183
	movq	%rbx, %rdi
	.loc 1 125 18 is_stmt 0 view .LVU184
	movq	(%rbx), %rbx
.LVL87:
	.loc 1 126 13 is_stmt 1 view .LVU185
	.loc 1 126 16 is_stmt 0 view .LVU186
	cmpq	$100, 8(%rdi)
	jbe	.L59
	.loc 1 127 17 is_stmt 1 view .LVU187
	call	free
.LVL88:
	.loc 1 127 17 is_stmt 0 view .LVU188
	jmp	.L59
.LVL89:
.L58:
	.loc 1 127 17 view .LVU189
.LBE19:
	.loc 1 123 42 is_stmt 1 discriminator 2 view .LVU190
	.loc 1 123 29 discriminator 2 view .LVU191
	addq	$8, %rbp
.LVL90:
	.loc 1 123 29 is_stmt 0 discriminator 2 view .LVU192
	cmpq	%r12, %rbp
	je	.L65
.LVL91:
.L61:
	.loc 1 124 9 is_stmt 1 view .LVU193
.LBB20:
	.loc 1 124 14 view .LVU194
	.loc 1 124 27 is_stmt 0 view .LVU195
	movq	0(%rbp), %rbx
.LVL92:
	.loc 1 124 54 is_stmt 1 view .LVU196
	testq	%rbx, %rbx
	jne	.L60
	jmp	.L58
.LVL93:
.L65:
	.loc 1 124 54 is_stmt 0 view .LVU197
.LBE20:
.LBE18:
	.loc 1 129 1 view .LVU198
	popq	%rbx
	.cfi_def_cfa_offset 24
.LVL94:
	.loc 1 129 1 view .LVU199
	popq	%rbp
	.cfi_def_cfa_offset 16
.LVL95:
	.loc 1 129 1 view .LVU200
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE11:
	.size	clear, .-clear
	.globl	run
	.type	run, @function
run:
.LFB12:
	.loc 1 136 1 is_stmt 1 view -0
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	subq	$8, %rsp
	.cfi_def_cfa_offset 32
	.loc 1 137 5 view .LVU202
.LVL96:
	.loc 1 138 5 view .LVU203
.LBB21:
	.loc 1 138 10 view .LVU204
.LBE21:
	.loc 1 137 19 is_stmt 0 view .LVU205
	movl	$0, %ebp
.LBB22:
	.loc 1 138 59 view .LVU206
	movl	$65536, %ebx
	.loc 1 138 5 view .LVU207
	jmp	.L67
.LVL97:
.L68:
	.loc 1 139 9 is_stmt 1 view .LVU208
	.loc 1 139 16 is_stmt 0 view .LVU209
	addq	%rax, %rbp
.LVL98:
.L67:
	.loc 1 138 70 is_stmt 1 view .LVU210
	.loc 1 138 59 is_stmt 0 view .LVU211
	movq	%rbx, %rcx
	subq	%rbp, %rcx
	.loc 1 138 27 view .LVU212
	leaq	input(%rbp), %rdx
	movl	$0, %esi
	movl	$0, %edi
	call	call
.LVL99:
	.loc 1 138 70 view .LVU213
	testq	%rax, %rax
	jg	.L68
	movl	$100, %ebx
.LVL100:
.L69:
	.loc 1 138 70 view .LVU214
.LBE22:
.LBB23:
	.loc 1 141 9 is_stmt 1 discriminator 3 view .LVU215
	movq	%rbp, %rdi
	call	count_words
.LVL101:
	.loc 1 140 46 discriminator 3 view .LVU216
	.loc 1 140 31 discriminator 3 view .LVU217
	subl	$1, %ebx
.LVL102:
	.loc 1 140 31 is_stmt 0 discriminator 3 view .LVU218
	jne	.L69
	movl	$5, %ebp
.LVL103:
.L71:
	.loc 1 140 31 discriminator 3 view .LVU219
.LBE23:
.LBB24:
.LBB25:
	.loc 1 143 9 is_stmt 1 view .LVU220
	.loc 1 143 29 is_stmt 0 view .LVU221
	call	commonest
.LVL104:
	movq	%rax, %rbx
.LVL105:
	.loc 1 144 9 is_stmt 1 view .LVU222
	.loc 1 144 12 is_stmt 0 view .LVU223
	testq	%rax, %rax
	je	.L70
	.loc 1 144 19 discriminator 1 view .LVU224
	cmpq	$0, 8(%rax)
	je	.L70
	.loc 1 146 9 is_stmt 1 discriminator 2 view .LVU225
	movq	%rax, %rdi
	call	print
.LVL106:
	.loc 1 147 9 discriminator 2 view .LVU226
	.loc 1 147 21 is_stmt 0 discriminator 2 view .LVU227
	movq	$0, 8(%rbx)
.LBE25:
	.loc 1 142 45 is_stmt 1 discriminator 2 view .LVU228
.LVL107:
	.loc 1 142 31 discriminator 2 view .LVU229
	subl	$1, %ebp
.LVL108:
	.loc 1 142 31 is_stmt 0 discriminator 2 view .LVU230
	jne	.L71
.LVL109:
.L70:
	.loc 1 142 31 discriminator 2 view .LVU231
.LBE24:
	.loc 1 149 5 is_stmt 1 view .LVU232
	call	clear
.LVL110:
	.loc 1 150 5 view .LVU233
	movl	$0, %ecx
	movl	$0, %edx
	movl	$0, %esi
	movl	$231, %edi
	call	call
.LVL111:
	.loc 1 151 1 is_stmt 0 view .LVU234
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
.LVL112:
	.loc 1 151 1 view .LVU235
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE12:
	.size	run, .-run
	.local	stack
	.comm	stack,4096,4096
	.local	freed
	.comm	freed,8,8
	.local	used
	.comm	used,8,8
	.local	table
	.comm	table,512,32
	.local	heap
	.comm	heap,1048576,32
	.local	input
	.comm	input,65536,32
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0x8c1
	.value	0x5
	.byte	0x1
	.byte	0x8
	.long	.Ldebug_abbrev0
	.uleb128 0x1a
	.long	.LASF44
	.byte	0x1d
	.long	.LASF0
	.long	.LASF1
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0x1b
	.byte	0x7
	.byte	0x4
	.long	0x61
	.byte	0x1
	.byte	0xb
	.byte	0x6
	.long	0x61
	.uleb128 0x11
	.long	.LASF2
	.byte	0x64
	.uleb128 0x14
	.long	.LASF3
	.long	0x10000
	.uleb128 0x11
	.long	.LASF4
	.byte	0x40
	.uleb128 0x11
	.long	.LASF5
	.byte	0x5
	.uleb128 0x14
	.long	.LASF6
	.long	0x100000
	.byte	0
	.uleb128 0xd
	.byte	0x4
	.byte	0x7
	.long	.LASF11
	.uleb128 0x1c
	.long	.LASF22
	.byte	0x18
	.byte	0x1
	.byte	0xd
	.byte	0x8
	.long	0xa6
	.uleb128 0xe
	.long	.LASF7
	.byte	0xe
	.byte	0x12
	.long	0xab
	.byte	0
	.uleb128 0xe
	.long	.LASF8
	.byte	0xf
	.byte	0x13
	.long	0xb0
	.byte	0x8
	.uleb128 0xe
	.long	.LASF9
	.byte	0xf
	.byte	0x1a
	.long	0xb0
	.byte	0x10
	.uleb128 0xe
	.long	.LASF10
	.byte	0x10
	.byte	0xa
	.long	0xbc
	.byte	0x18
	.byte	0
	.uleb128 0x15
	.long	0x68
	.uleb128 0x7
	.long	0x68
	.uleb128 0xd
	.byte	0x8
	.byte	0x7
	.long	.LASF12
	.uleb128 0x1d
	.long	0xb0
	.uleb128 0x8
	.long	0xcb
	.long	0xcb
	.uleb128 0x1e
	.long	0xb0
	.byte	0
	.uleb128 0xd
	.byte	0x1
	.byte	0x6
	.long	.LASF13
	.uleb128 0x15
	.long	0xcb
	.uleb128 0x8
	.long	0xcb
	.long	0xe8
	.uleb128 0x16
	.long	0xb0
	.value	0xffff
	.byte	0
	.uleb128 0x9
	.long	.LASF14
	.byte	0x13
	.byte	0xd
	.long	0xd7
	.uleb128 0x9
	.byte	0x3
	.quad	input
	.uleb128 0x8
	.long	0xcb
	.long	0x110
	.uleb128 0x1f
	.long	0xb0
	.long	0xfffff
	.byte	0
	.uleb128 0x9
	.long	.LASF15
	.byte	0x13
	.byte	0x1a
	.long	0xfd
	.uleb128 0x9
	.byte	0x3
	.quad	heap
	.uleb128 0x8
	.long	0xab
	.long	0x135
	.uleb128 0x17
	.long	0xb0
	.byte	0x3f
	.byte	0
	.uleb128 0x9
	.long	.LASF16
	.byte	0x14
	.byte	0x15
	.long	0x125
	.uleb128 0x9
	.byte	0x3
	.quad	table
	.uleb128 0x9
	.long	.LASF17
	.byte	0x15
	.byte	0x16
	.long	0xb0
	.uleb128 0x9
	.byte	0x3
	.quad	used
	.uleb128 0x9
	.long	.LASF18
	.byte	0x16
	.byte	0x1f
	.long	0xb7
	.uleb128 0x9
	.byte	0x3
	.quad	freed
	.uleb128 0x8
	.long	0xcb
	.long	0x185
	.uleb128 0x16
	.long	0xb0
	.value	0xfff
	.byte	0
	.uleb128 0x20
	.long	.LASF19
	.byte	0x1
	.byte	0x84
	.byte	0xd
	.long	0x174
	.value	0x1000
	.uleb128 0x9
	.byte	0x3
	.quad	stack
	.uleb128 0x21
	.string	"run"
	.byte	0x1
	.byte	0x87
	.byte	0x6
	.quad	.LFB12
	.quad	.LFE12-.LFB12
	.uleb128 0x1
	.byte	0x9c
	.long	0x2f9
	.uleb128 0x2
	.long	.LASF9
	.byte	0x89
	.byte	0x13
	.long	0xb0
	.long	.LLST41
	.long	.LVUS41
	.uleb128 0x18
	.long	.LLRL42
	.long	0x21c
	.uleb128 0x5
	.string	"got"
	.byte	0x8a
	.byte	0xf
	.long	0x2f9
	.long	.LLST43
	.long	.LVUS43
	.uleb128 0x4
	.quad	.LVL99
	.long	0x843
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x51
	.uleb128 0xc
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	input
	.byte	0x22
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x52
	.uleb128 0x5
	.byte	0x73
	.sleb128 0
	.byte	0x76
	.sleb128 0
	.byte	0x1c
	.byte	0
	.byte	0
	.uleb128 0x12
	.quad	.LBB23
	.quad	.LBE23-.LBB23
	.long	0x259
	.uleb128 0x2
	.long	.LASF20
	.byte	0x8c
	.byte	0xe
	.long	0x300
	.long	.LLST44
	.long	.LVUS44
	.uleb128 0x4
	.quad	.LVL101
	.long	0x4c7
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x12
	.quad	.LBB24
	.quad	.LBE24-.LBB24
	.long	0x2c8
	.uleb128 0x2
	.long	.LASF21
	.byte	0x8e
	.byte	0xe
	.long	0x300
	.long	.LLST45
	.long	.LVUS45
	.uleb128 0x19
	.quad	.LBB25
	.quad	.LBE25-.LBB25
	.uleb128 0x2
	.long	.LASF22
	.byte	0x8f
	.byte	0x16
	.long	0xab
	.long	.LLST46
	.long	.LVUS46
	.uleb128 0xf
	.quad	.LVL104
	.long	0x460
	.uleb128 0x4
	.quad	.LVL106
	.long	0x382
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0xf
	.quad	.LVL110
	.long	0x307
	.uleb128 0x4
	.quad	.LVL111
	.long	0x843
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x8
	.byte	0xe7
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x1
	.byte	0x30
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x52
	.uleb128 0x1
	.byte	0x30
	.byte	0
	.byte	0
	.uleb128 0xd
	.byte	0x8
	.byte	0x5
	.long	.LASF23
	.uleb128 0x22
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0x10
	.long	.LASF25
	.byte	0x79
	.quad	.LFB11
	.quad	.LFE11-.LFB11
	.uleb128 0x1
	.byte	0x9c
	.long	0x382
	.uleb128 0x19
	.quad	.LBB18
	.quad	.LBE18-.LBB18
	.uleb128 0x2
	.long	.LASF24
	.byte	0x7b
	.byte	0xe
	.long	0x300
	.long	.LLST37
	.long	.LVUS37
	.uleb128 0x6
	.long	.LLRL38
	.uleb128 0x2
	.long	.LASF22
	.byte	0x7c
	.byte	0x1b
	.long	0xab
	.long	.LLST39
	.long	.LVUS39
	.uleb128 0x2
	.long	.LASF7
	.byte	0x7c
	.byte	0x30
	.long	0xab
	.long	.LLST40
	.long	.LVUS40
	.uleb128 0xf
	.quad	.LVL88
	.long	0x7cc
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0x10
	.long	.LASF26
	.byte	0x6c
	.quad	.LFB10
	.quad	.LFE10-.LFB10
	.uleb128 0x1
	.byte	0x9c
	.long	0x44b
	.uleb128 0x3
	.long	.LASF22
	.byte	0x6c
	.byte	0x20
	.long	0xab
	.long	.LLST20
	.long	.LVUS20
	.uleb128 0x9
	.long	.LASF27
	.byte	0x6e
	.byte	0xa
	.long	0x44b
	.uleb128 0x3
	.byte	0x91
	.sleb128 -96
	.uleb128 0x5
	.string	"at"
	.byte	0x6e
	.byte	0x15
	.long	0x45b
	.long	.LLST21
	.long	.LVUS21
	.uleb128 0x2
	.long	.LASF9
	.byte	0x73
	.byte	0x13
	.long	0xb0
	.long	.LLST22
	.long	.LVUS22
	.uleb128 0x18
	.long	.LLRL23
	.long	0x400
	.uleb128 0x5
	.string	"n"
	.byte	0x70
	.byte	0x18
	.long	0xb0
	.long	.LLST24
	.long	.LVUS24
	.byte	0
	.uleb128 0x13
	.quad	.LVL45
	.long	0x777
	.long	0x421
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x5
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x23
	.uleb128 0x18
	.byte	0
	.uleb128 0x4
	.quad	.LVL46
	.long	0x843
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x1
	.byte	0x31
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x1
	.byte	0x31
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x52
	.uleb128 0x7
	.byte	0x91
	.sleb128 0
	.byte	0x73
	.sleb128 0
	.byte	0x1c
	.byte	0x40
	.byte	0x1c
	.byte	0
	.byte	0
	.uleb128 0x8
	.long	0xcb
	.long	0x45b
	.uleb128 0x17
	.long	0xb0
	.byte	0x4f
	.byte	0
	.uleb128 0x7
	.long	0xcb
	.uleb128 0xa
	.long	.LASF30
	.byte	0x62
	.byte	0x15
	.long	0xab
	.quad	.LFB9
	.quad	.LFE9-.LFB9
	.uleb128 0x1
	.byte	0x9c
	.long	0x4c7
	.uleb128 0x2
	.long	.LASF28
	.byte	0x64
	.byte	0x12
	.long	0xab
	.long	.LLST15
	.long	.LVUS15
	.uleb128 0x6
	.long	.LLRL16
	.uleb128 0x2
	.long	.LASF24
	.byte	0x65
	.byte	0xe
	.long	0x300
	.long	.LLST17
	.long	.LVUS17
	.uleb128 0x6
	.long	.LLRL18
	.uleb128 0x2
	.long	.LASF22
	.byte	0x66
	.byte	0x1b
	.long	0xab
	.long	.LLST19
	.long	.LVUS19
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0x10
	.long	.LASF29
	.byte	0x56
	.quad	.LFB8
	.quad	.LFE8-.LFB8
	.uleb128 0x1
	.byte	0x9c
	.long	0x55c
	.uleb128 0x3
	.long	.LASF9
	.byte	0x56
	.byte	0x27
	.long	0xb0
	.long	.LLST32
	.long	.LVUS32
	.uleb128 0x6
	.long	.LLRL33
	.uleb128 0x5
	.string	"at"
	.byte	0x58
	.byte	0x18
	.long	0xb0
	.long	.LLST34
	.long	.LVUS34
	.uleb128 0x6
	.long	.LLRL35
	.uleb128 0x5
	.string	"end"
	.byte	0x59
	.byte	0x17
	.long	0xb0
	.long	.LLST36
	.long	.LVUS36
	.uleb128 0xf
	.quad	.LVL78
	.long	0x744
	.uleb128 0x4
	.quad	.LVL82
	.long	0x55c
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0xc
	.byte	0x7c
	.sleb128 0
	.byte	0x3
	.quad	input
	.byte	0x22
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x5
	.byte	0x73
	.sleb128 0
	.byte	0x7c
	.sleb128 0
	.byte	0x1c
	.byte	0
	.byte	0
	.byte	0
	.byte	0
	.uleb128 0xa
	.long	.LASF31
	.byte	0x48
	.byte	0x15
	.long	0xab
	.quad	.LFB7
	.quad	.LFE7-.LFB7
	.uleb128 0x1
	.byte	0x9c
	.long	0x669
	.uleb128 0x3
	.long	.LASF10
	.byte	0x48
	.byte	0x26
	.long	0x669
	.long	.LLST27
	.long	.LVUS27
	.uleb128 0x3
	.long	.LASF9
	.byte	0x48
	.byte	0x3a
	.long	0xb0
	.long	.LLST28
	.long	.LVUS28
	.uleb128 0x2
	.long	.LASF24
	.byte	0x4a
	.byte	0x13
	.long	0x66e
	.long	.LLST29
	.long	.LVUS29
	.uleb128 0x2
	.long	.LASF22
	.byte	0x4e
	.byte	0x12
	.long	0xab
	.long	.LLST30
	.long	.LVUS30
	.uleb128 0x12
	.quad	.LBB13
	.quad	.LBE13-.LBB13
	.long	0x612
	.uleb128 0x2
	.long	.LASF22
	.byte	0x4b
	.byte	0x17
	.long	0xab
	.long	.LLST31
	.long	.LVUS31
	.uleb128 0x4
	.quad	.LVL60
	.long	0x673
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x73
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x7c
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x13
	.quad	.LVL56
	.long	0x6d8
	.long	0x630
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x7c
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.uleb128 0x13
	.quad	.LVL63
	.long	0x7fa
	.long	0x648
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x76
	.sleb128 24
	.byte	0
	.uleb128 0x4
	.quad	.LVL65
	.long	0x777
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x55
	.uleb128 0x2
	.byte	0x73
	.sleb128 24
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.byte	0x7c
	.sleb128 0
	.uleb128 0x1
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x2
	.byte	0x76
	.sleb128 0
	.byte	0
	.byte	0
	.uleb128 0x7
	.long	0xd2
	.uleb128 0x7
	.long	0xab
	.uleb128 0xa
	.long	.LASF32
	.byte	0x3e
	.byte	0xc
	.long	0x300
	.quad	.LFB6
	.quad	.LFE6-.LFB6
	.uleb128 0x1
	.byte	0x9c
	.long	0x6d3
	.uleb128 0xb
	.long	.LASF22
	.byte	0x3e
	.byte	0x27
	.long	0x6d3
	.uleb128 0x1
	.byte	0x55
	.uleb128 0xb
	.long	.LASF10
	.byte	0x3e
	.byte	0x39
	.long	0x669
	.uleb128 0x1
	.byte	0x54
	.uleb128 0xb
	.long	.LASF9
	.byte	0x3e
	.byte	0x4d
	.long	0xb0
	.uleb128 0x1
	.byte	0x51
	.uleb128 0x6
	.long	.LLRL13
	.uleb128 0x5
	.string	"i"
	.byte	0x42
	.byte	0x18
	.long	0xb0
	.long	.LLST14
	.long	.LVUS14
	.byte	0
	.byte	0
	.uleb128 0x7
	.long	0xa6
	.uleb128 0xa
	.long	.LASF33
	.byte	0x36
	.byte	0x16
	.long	0xb0
	.quad	.LFB5
	.quad	.LFE5-.LFB5
	.uleb128 0x1
	.byte	0x9c
	.long	0x744
	.uleb128 0x3
	.long	.LASF10
	.byte	0x36
	.byte	0x27
	.long	0x669
	.long	.LLST9
	.long	.LVUS9
	.uleb128 0xb
	.long	.LASF9
	.byte	0x36
	.byte	0x3b
	.long	0xb0
	.uleb128 0x1
	.byte	0x54
	.uleb128 0x2
	.long	.LASF34
	.byte	0x38
	.byte	0x13
	.long	0xb0
	.long	.LLST10
	.long	.LVUS10
	.uleb128 0x6
	.long	.LLRL11
	.uleb128 0x5
	.string	"i"
	.byte	0x39
	.byte	0x18
	.long	0xb0
	.long	.LLST12
	.long	.LVUS12
	.byte	0
	.byte	0
	.uleb128 0xa
	.long	.LASF35
	.byte	0x31
	.byte	0xc
	.long	0x300
	.quad	.LFB4
	.quad	.LFE4-.LFB4
	.uleb128 0x1
	.byte	0x9c
	.long	0x777
	.uleb128 0xc
	.string	"c"
	.byte	0x31
	.byte	0x1b
	.long	0xcb
	.long	.LLST8
	.long	.LVUS8
	.byte	0
	.uleb128 0x10
	.long	.LASF36
	.byte	0x2c
	.quad	.LFB3
	.quad	.LFE3-.LFB3
	.uleb128 0x1
	.byte	0x9c
	.long	0x7cc
	.uleb128 0xc
	.string	"to"
	.byte	0x2c
	.byte	0x18
	.long	0x45b
	.long	.LLST5
	.long	.LVUS5
	.uleb128 0x3
	.long	.LASF37
	.byte	0x2c
	.byte	0x28
	.long	0x669
	.long	.LLST6
	.long	.LVUS6
	.uleb128 0x3
	.long	.LASF9
	.byte	0x2c
	.byte	0x3c
	.long	0xb0
	.long	.LLST7
	.long	.LVUS7
	.byte	0
	.uleb128 0x23
	.long	.LASF38
	.byte	0x1
	.byte	0x27
	.byte	0x6
	.quad	.LFB2
	.quad	.LFE2-.LFB2
	.uleb128 0x1
	.byte	0x9c
	.long	0x7f8
	.uleb128 0xb
	.long	.LASF39
	.byte	0x27
	.byte	0x11
	.long	0x7f8
	.uleb128 0x1
	.byte	0x55
	.byte	0
	.uleb128 0x24
	.byte	0x8
	.uleb128 0x25
	.long	.LASF45
	.byte	0x1
	.byte	0x20
	.byte	0x7
	.long	0x7f8
	.quad	.LFB1
	.quad	.LFE1-.LFB1
	.uleb128 0x1
	.byte	0x9c
	.long	0x843
	.uleb128 0x3
	.long	.LASF40
	.byte	0x20
	.byte	0x1c
	.long	0xb0
	.long	.LLST25
	.long	.LVUS25
	.uleb128 0x2
	.long	.LASF39
	.byte	0x22
	.byte	0xb
	.long	0x7f8
	.long	.LLST26
	.long	.LVUS26
	.byte	0
	.uleb128 0xa
	.long	.LASF41
	.byte	0x18
	.byte	0xd
	.long	0x2f9
	.quad	.LFB0
	.quad	.LFE0-.LFB0
	.uleb128 0x1
	.byte	0x9c
	.long	0x8be
	.uleb128 0x3
	.long	.LASF42
	.byte	0x18
	.byte	0x17
	.long	0x2f9
	.long	.LLST0
	.long	.LVUS0
	.uleb128 0xc
	.string	"a"
	.byte	0x18
	.byte	0x24
	.long	0x2f9
	.long	.LLST1
	.long	.LVUS1
	.uleb128 0xc
	.string	"b"
	.byte	0x18
	.byte	0x33
	.long	0x8be
	.long	.LLST2
	.long	.LVUS2
	.uleb128 0xc
	.string	"c"
	.byte	0x18
	.byte	0x3b
	.long	0x2f9
	.long	.LLST3
	.long	.LVUS3
	.uleb128 0x2
	.long	.LASF43
	.byte	0x1a
	.byte	0xa
	.long	0x2f9
	.long	.LLST4
	.long	.LVUS4
	.byte	0
	.uleb128 0x7
	.long	0x8c3
	.uleb128 0x26
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x49
	.byte	0
	.uleb128 0x2
	.uleb128 0x18
	.uleb128 0x7e
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x55
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0x21
	.sleb128 8
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x17
	.uleb128 0x2137
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0xe
	.uleb128 0xd
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x38
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0xf
	.uleb128 0x48
	.byte	0
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x10
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0x21
	.sleb128 1
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0x21
	.sleb128 13
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x11
	.uleb128 0x28
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x1c
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x12
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x13
	.uleb128 0x48
	.byte	0x1
	.uleb128 0x7d
	.uleb128 0x1
	.uleb128 0x7f
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x14
	.uleb128 0x28
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x1c
	.uleb128 0x6
	.byte	0
	.byte	0
	.uleb128 0x15
	.uleb128 0x26
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x16
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0x5
	.byte	0
	.byte	0
	.uleb128 0x17
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x18
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x55
	.uleb128 0x17
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x19
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.byte	0
	.byte	0
	.uleb128 0x1a
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x1f
	.uleb128 0x1b
	.uleb128 0x1f
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x1b
	.uleb128 0x4
	.byte	0x1
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1c
	.uleb128 0x13
	.byte	0x1
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1d
	.uleb128 0x35
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1e
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x1f
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0x6
	.byte	0
	.byte	0
	.uleb128 0x20
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x88
	.uleb128 0x5
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x21
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x22
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.byte	0
	.byte	0
	.uleb128 0x23
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x24
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x25
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x3
	.uleb128 0xe
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x7a
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x26
	.uleb128 0x26
	.byte	0
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_loclists,"",@progbits
	.long	.Ldebug_loc3-.Ldebug_loc2
.Ldebug_loc2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.Ldebug_loc0:
.LVUS41:
	.uleb128 .LVU203
	.uleb128 .LVU208
	.uleb128 .LVU208
	.uleb128 .LVU219
.LLST41:
	.byte	0x4
	.uleb128 .LVL96-.Ltext0
	.uleb128 .LVL97-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL97-.Ltext0
	.uleb128 .LVL103-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0
.LVUS43:
	.uleb128 .LVU208
	.uleb128 .LVU210
	.uleb128 .LVU213
	.uleb128 .LVU214
.LLST43:
	.byte	0x4
	.uleb128 .LVL97-.Ltext0
	.uleb128 .LVL98-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL99-.Ltext0
	.uleb128 .LVL100-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.LVUS44:
	.uleb128 .LVU214
	.uleb128 .LVU217
	.uleb128 .LVU217
	.uleb128 .LVU218
	.uleb128 .LVU218
	.uleb128 .LVU219
.LLST44:
	.byte	0x4
	.uleb128 .LVL100-.Ltext0
	.uleb128 .LVL101-.Ltext0
	.uleb128 0x6
	.byte	0x8
	.byte	0x64
	.byte	0x73
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL101-.Ltext0
	.uleb128 .LVL102-.Ltext0
	.uleb128 0x6
	.byte	0x8
	.byte	0x65
	.byte	0x73
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL102-.Ltext0
	.uleb128 .LVL103-.Ltext0
	.uleb128 0x6
	.byte	0x8
	.byte	0x64
	.byte	0x73
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0
.LVUS45:
	.uleb128 .LVU219
	.uleb128 .LVU229
	.uleb128 .LVU229
	.uleb128 .LVU230
	.uleb128 .LVU230
	.uleb128 .LVU231
.LLST45:
	.byte	0x4
	.uleb128 .LVL103-.Ltext0
	.uleb128 .LVL107-.Ltext0
	.uleb128 0x5
	.byte	0x35
	.byte	0x76
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL107-.Ltext0
	.uleb128 .LVL108-.Ltext0
	.uleb128 0x5
	.byte	0x36
	.byte	0x76
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL108-.Ltext0
	.uleb128 .LVL109-.Ltext0
	.uleb128 0x5
	.byte	0x35
	.byte	0x76
	.sleb128 0
	.byte	0x1c
	.byte	0x9f
	.byte	0
.LVUS46:
	.uleb128 .LVU222
	.uleb128 .LVU226
	.uleb128 .LVU226
	.uleb128 .LVU235
.LLST46:
	.byte	0x4
	.uleb128 .LVL105-.Ltext0
	.uleb128 .LVL106-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL106-1-.Ltext0
	.uleb128 .LVL112-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS37:
	.uleb128 .LVU181
	.uleb128 .LVU182
	.uleb128 .LVU182
	.uleb128 .LVU191
	.uleb128 .LVU191
	.uleb128 .LVU192
	.uleb128 .LVU192
	.uleb128 .LVU193
	.uleb128 .LVU193
	.uleb128 .LVU197
	.uleb128 .LVU197
	.uleb128 .LVU200
.LLST37:
	.byte	0x4
	.uleb128 .LVL84-.Ltext0
	.uleb128 .LVL85-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL85-.Ltext0
	.uleb128 .LVL89-.Ltext0
	.uleb128 0xf
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL89-.Ltext0
	.uleb128 .LVL90-.Ltext0
	.uleb128 0x11
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL90-.Ltext0
	.uleb128 .LVL91-.Ltext0
	.uleb128 0x11
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	table+8
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL91-.Ltext0
	.uleb128 .LVL93-.Ltext0
	.uleb128 0xf
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL93-.Ltext0
	.uleb128 .LVL95-.Ltext0
	.uleb128 0x11
	.byte	0x76
	.sleb128 0
	.byte	0x3
	.quad	table+8
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.LVUS39:
	.uleb128 .LVU182
	.uleb128 .LVU185
	.uleb128 .LVU185
	.uleb128 .LVU188
	.uleb128 .LVU189
	.uleb128 .LVU193
	.uleb128 .LVU196
	.uleb128 .LVU199
.LLST39:
	.byte	0x4
	.uleb128 .LVL85-.Ltext0
	.uleb128 .LVL87-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL87-.Ltext0
	.uleb128 .LVL88-1-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL89-.Ltext0
	.uleb128 .LVL91-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL92-.Ltext0
	.uleb128 .LVL94-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS40:
	.uleb128 .LVU182
	.uleb128 .LVU183
	.uleb128 .LVU185
	.uleb128 .LVU189
.LLST40:
	.byte	0x4
	.uleb128 .LVL85-.Ltext0
	.uleb128 .LVL86-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0x4
	.uleb128 .LVL87-.Ltext0
	.uleb128 .LVL89-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS20:
	.uleb128 0
	.uleb128 .LVU86
	.uleb128 .LVU86
	.uleb128 .LVU99
	.uleb128 .LVU99
	.uleb128 .LVU100
	.uleb128 .LVU100
	.uleb128 .LVU102
	.uleb128 .LVU102
	.uleb128 0
.LLST20:
	.byte	0x4
	.uleb128 .LVL35-.Ltext0
	.uleb128 .LVL39-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL39-.Ltext0
	.uleb128 .LVL44-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL44-.Ltext0
	.uleb128 .LVL45-1-.Ltext0
	.uleb128 0x3
	.byte	0x74
	.sleb128 -24
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL45-1-.Ltext0
	.uleb128 .LVL47-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL47-.Ltext0
	.uleb128 .LFE10-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0
.LVUS21:
	.uleb128 .LVU78
	.uleb128 .LVU79
	.uleb128 .LVU79
	.uleb128 .LVU85
	.uleb128 .LVU85
	.uleb128 .LVU94
	.uleb128 .LVU94
	.uleb128 .LVU100
	.uleb128 .LVU102
	.uleb128 .LVU103
	.uleb128 .LVU103
	.uleb128 0
.LLST21:
	.byte	0x4
	.uleb128 .LVL36-.Ltext0
	.uleb128 .LVL36-.Ltext0
	.uleb128 0x3
	.byte	0x91
	.sleb128 -16
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL36-.Ltext0
	.uleb128 .LVL38-.Ltext0
	.uleb128 0x3
	.byte	0x91
	.sleb128 -17
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL38-.Ltext0
	.uleb128 .LVL42-.Ltext0
	.uleb128 0x1
	.byte	0x58
	.byte	0x4
	.uleb128 .LVL42-.Ltext0
	.uleb128 .LVL45-1-.Ltext0
	.uleb128 0x3
	.byte	0x78
	.sleb128 -1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL47-.Ltext0
	.uleb128 .LVL48-.Ltext0
	.uleb128 0x3
	.byte	0x91
	.sleb128 -17
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL48-.Ltext0
	.uleb128 .LFE10-.Ltext0
	.uleb128 0x1
	.byte	0x58
	.byte	0
.LVUS22:
	.uleb128 .LVU97
	.uleb128 .LVU100
.LLST22:
	.byte	0x4
	.uleb128 .LVL43-.Ltext0
	.uleb128 .LVL45-1-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0
.LVUS24:
	.uleb128 .LVU83
	.uleb128 .LVU91
	.uleb128 .LVU91
	.uleb128 .LVU92
	.uleb128 .LVU102
	.uleb128 0
.LLST24:
	.byte	0x4
	.uleb128 .LVL37-.Ltext0
	.uleb128 .LVL41-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0x4
	.uleb128 .LVL41-.Ltext0
	.uleb128 .LVL42-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL47-.Ltext0
	.uleb128 .LFE10-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0
.LVUS15:
	.uleb128 .LVU52
	.uleb128 .LVU56
	.uleb128 .LVU56
	.uleb128 .LVU62
	.uleb128 .LVU63
	.uleb128 0
.LLST15:
	.byte	0x4
	.uleb128 .LVL24-.Ltext0
	.uleb128 .LVL25-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL25-.Ltext0
	.uleb128 .LVL28-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL29-.Ltext0
	.uleb128 .LFE9-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0
.LVUS17:
	.uleb128 .LVU54
	.uleb128 .LVU56
	.uleb128 .LVU56
	.uleb128 .LVU65
	.uleb128 .LVU65
	.uleb128 .LVU66
	.uleb128 .LVU66
	.uleb128 .LVU67
	.uleb128 .LVU67
	.uleb128 .LVU71
	.uleb128 .LVU71
	.uleb128 0
.LLST17:
	.byte	0x4
	.uleb128 .LVL24-.Ltext0
	.uleb128 .LVL25-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL25-.Ltext0
	.uleb128 .LVL29-.Ltext0
	.uleb128 0xf
	.byte	0x72
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL29-.Ltext0
	.uleb128 .LVL30-.Ltext0
	.uleb128 0x11
	.byte	0x72
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL30-.Ltext0
	.uleb128 .LVL31-.Ltext0
	.uleb128 0x11
	.byte	0x72
	.sleb128 0
	.byte	0x3
	.quad	table+8
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL31-.Ltext0
	.uleb128 .LVL33-.Ltext0
	.uleb128 0xf
	.byte	0x72
	.sleb128 0
	.byte	0x3
	.quad	table
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL33-.Ltext0
	.uleb128 .LFE9-.Ltext0
	.uleb128 0x11
	.byte	0x72
	.sleb128 0
	.byte	0x3
	.quad	table+8
	.byte	0x1c
	.byte	0x33
	.byte	0x25
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0
.LVUS19:
	.uleb128 .LVU56
	.uleb128 .LVU67
	.uleb128 .LVU70
	.uleb128 .LVU74
.LLST19:
	.byte	0x4
	.uleb128 .LVL25-.Ltext0
	.uleb128 .LVL31-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL32-.Ltext0
	.uleb128 .LVL34-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.LVUS32:
	.uleb128 0
	.uleb128 .LVU155
	.uleb128 .LVU155
	.uleb128 .LVU157
	.uleb128 .LVU157
	.uleb128 .LVU158
	.uleb128 .LVU158
	.uleb128 0
.LLST32:
	.byte	0x4
	.uleb128 .LVL70-.Ltext0
	.uleb128 .LVL72-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL72-.Ltext0
	.uleb128 .LVL73-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0x4
	.uleb128 .LVL73-.Ltext0
	.uleb128 .LVL74-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL74-.Ltext0
	.uleb128 .LFE8-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0
.LVUS34:
	.uleb128 .LVU152
	.uleb128 .LVU155
	.uleb128 .LVU158
	.uleb128 0
.LLST34:
	.byte	0x4
	.uleb128 .LVL71-.Ltext0
	.uleb128 .LVL72-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL74-.Ltext0
	.uleb128 .LFE8-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0
.LVUS36:
	.uleb128 .LVU164
	.uleb128 .LVU165
	.uleb128 .LVU165
	.uleb128 .LVU171
.LLST36:
	.byte	0x4
	.uleb128 .LVL76-.Ltext0
	.uleb128 .LVL77-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0x4
	.uleb128 .LVL77-.Ltext0
	.uleb128 .LVL80-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS27:
	.uleb128 0
	.uleb128 .LVU119
	.uleb128 .LVU119
	.uleb128 .LVU146
	.uleb128 .LVU146
	.uleb128 0
.LLST27:
	.byte	0x4
	.uleb128 .LVL55-.Ltext0
	.uleb128 .LVL56-1-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL56-1-.Ltext0
	.uleb128 .LVL68-.Ltext0
	.uleb128 0x1
	.byte	0x5c
	.byte	0x4
	.uleb128 .LVL68-.Ltext0
	.uleb128 .LFE7-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS28:
	.uleb128 0
	.uleb128 .LVU119
	.uleb128 .LVU119
	.uleb128 .LVU145
	.uleb128 .LVU145
	.uleb128 0
.LLST28:
	.byte	0x4
	.uleb128 .LVL55-.Ltext0
	.uleb128 .LVL56-1-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL56-1-.Ltext0
	.uleb128 .LVL67-.Ltext0
	.uleb128 0x1
	.byte	0x56
	.byte	0x4
	.uleb128 .LVL67-.Ltext0
	.uleb128 .LFE7-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x54
	.byte	0x9f
	.byte	0
.LVUS29:
	.uleb128 .LVU120
	.uleb128 .LVU125
	.uleb128 .LVU125
	.uleb128 .LVU147
.LLST29:
	.byte	0x4
	.uleb128 .LVL57-.Ltext0
	.uleb128 .LVL59-.Ltext0
	.uleb128 0xf
	.byte	0x70
	.sleb128 0
	.byte	0x33
	.byte	0x24
	.byte	0x3
	.quad	table
	.byte	0x22
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL59-.Ltext0
	.uleb128 .LVL69-.Ltext0
	.uleb128 0xf
	.byte	0x7d
	.sleb128 0
	.byte	0x33
	.byte	0x24
	.byte	0x3
	.quad	table
	.byte	0x22
	.byte	0x9f
	.byte	0
.LVUS30:
	.uleb128 .LVU133
	.uleb128 .LVU142
	.uleb128 .LVU142
	.uleb128 .LVU144
.LLST30:
	.byte	0x4
	.uleb128 .LVL64-.Ltext0
	.uleb128 .LVL65-1-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL65-1-.Ltext0
	.uleb128 .LVL66-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS31:
	.uleb128 .LVU123
	.uleb128 .LVU125
	.uleb128 .LVU125
	.uleb128 .LVU130
.LLST31:
	.byte	0x4
	.uleb128 .LVL58-.Ltext0
	.uleb128 .LVL59-.Ltext0
	.uleb128 0x1
	.byte	0x5e
	.byte	0x4
	.uleb128 .LVL59-.Ltext0
	.uleb128 .LVL62-.Ltext0
	.uleb128 0x1
	.byte	0x53
	.byte	0
.LVUS14:
	.uleb128 .LVU38
	.uleb128 .LVU40
	.uleb128 .LVU40
	.uleb128 .LVU45
	.uleb128 .LVU46
	.uleb128 .LVU47
	.uleb128 .LVU47
	.uleb128 .LVU48
.LLST14:
	.byte	0x4
	.uleb128 .LVL17-.Ltext0
	.uleb128 .LVL18-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL18-.Ltext0
	.uleb128 .LVL20-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL21-.Ltext0
	.uleb128 .LVL22-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL22-.Ltext0
	.uleb128 .LVL23-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.LVUS9:
	.uleb128 0
	.uleb128 .LVU21
	.uleb128 .LVU21
	.uleb128 .LVU23
	.uleb128 .LVU23
	.uleb128 .LVU30
	.uleb128 .LVU30
	.uleb128 0
.LLST9:
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL10-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL10-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL11-.Ltext0
	.uleb128 .LVL15-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0
.LVUS10:
	.uleb128 .LVU18
	.uleb128 .LVU23
	.uleb128 .LVU23
	.uleb128 .LVU25
	.uleb128 .LVU27
	.uleb128 .LVU30
	.uleb128 .LVU30
	.uleb128 0
.LLST10:
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x4
	.byte	0xa
	.value	0x1505
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL11-.Ltext0
	.uleb128 .LVL12-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL15-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x4
	.byte	0xa
	.value	0x1505
	.byte	0x9f
	.byte	0
.LVUS12:
	.uleb128 .LVU20
	.uleb128 .LVU23
	.uleb128 .LVU23
	.uleb128 .LVU28
	.uleb128 .LVU28
	.uleb128 .LVU29
	.uleb128 .LVU29
	.uleb128 .LVU30
	.uleb128 .LVU30
	.uleb128 0
.LLST12:
	.byte	0x4
	.uleb128 .LVL9-.Ltext0
	.uleb128 .LVL11-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL11-.Ltext0
	.uleb128 .LVL13-.Ltext0
	.uleb128 0x7
	.byte	0x71
	.sleb128 0
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL13-.Ltext0
	.uleb128 .LVL14-.Ltext0
	.uleb128 0x9
	.byte	0x71
	.sleb128 0
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x1c
	.byte	0x23
	.uleb128 0x1
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL14-.Ltext0
	.uleb128 .LVL15-.Ltext0
	.uleb128 0x7
	.byte	0x71
	.sleb128 0
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x1c
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL15-.Ltext0
	.uleb128 .LFE5-.Ltext0
	.uleb128 0x2
	.byte	0x30
	.byte	0x9f
	.byte	0
.LVUS8:
	.uleb128 0
	.uleb128 .LVU14
	.uleb128 .LVU14
	.uleb128 0
.LLST8:
	.byte	0x4
	.uleb128 .LVL7-.Ltext0
	.uleb128 .LVL8-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL8-.Ltext0
	.uleb128 .LFE4-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS5:
	.uleb128 0
	.uleb128 .LVU10
.LLST5:
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0
.LVUS6:
	.uleb128 0
	.uleb128 .LVU10
.LLST6:
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0
.LVUS7:
	.uleb128 0
	.uleb128 .LVU10
.LLST7:
	.byte	0x4
	.uleb128 .LVL5-.Ltext0
	.uleb128 .LVL6-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0
.LVUS25:
	.uleb128 0
	.uleb128 .LVU109
	.uleb128 .LVU109
	.uleb128 .LVU110
	.uleb128 .LVU110
	.uleb128 0
.LLST25:
	.byte	0x4
	.uleb128 .LVL49-.Ltext0
	.uleb128 .LVL51-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL51-.Ltext0
	.uleb128 .LVL52-.Ltext0
	.uleb128 0x3
	.byte	0x75
	.sleb128 -15
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL52-.Ltext0
	.uleb128 .LFE1-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS26:
	.uleb128 .LVU107
	.uleb128 .LVU113
	.uleb128 .LVU113
	.uleb128 .LVU114
.LLST26:
	.byte	0x4
	.uleb128 .LVL50-.Ltext0
	.uleb128 .LVL53-.Ltext0
	.uleb128 0xd
	.byte	0x70
	.sleb128 0
	.byte	0x3
	.quad	heap
	.byte	0x22
	.byte	0x9f
	.byte	0x4
	.uleb128 .LVL53-.Ltext0
	.uleb128 .LVL54-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.LVUS0:
	.uleb128 0
	.uleb128 .LVU2
	.uleb128 .LVU2
	.uleb128 .LVU6
	.uleb128 .LVU6
	.uleb128 0
.LLST0:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL1-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0x4
	.uleb128 .LVL1-.Ltext0
	.uleb128 .LVL4-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x4
	.byte	0xa3
	.uleb128 0x1
	.byte	0x55
	.byte	0x9f
	.byte	0
.LVUS1:
	.uleb128 0
	.uleb128 .LVU3
	.uleb128 .LVU3
	.uleb128 0
.LLST1:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL2-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0x4
	.uleb128 .LVL2-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x1
	.byte	0x55
	.byte	0
.LVUS2:
	.uleb128 0
	.uleb128 .LVU4
	.uleb128 .LVU4
	.uleb128 0
.LLST2:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL3-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0x4
	.uleb128 .LVL3-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x1
	.byte	0x54
	.byte	0
.LVUS3:
	.uleb128 0
	.uleb128 .LVU6
	.uleb128 .LVU6
	.uleb128 0
.LLST3:
	.byte	0x4
	.uleb128 .LVL0-.Ltext0
	.uleb128 .LVL4-.Ltext0
	.uleb128 0x1
	.byte	0x52
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x1
	.byte	0x51
	.byte	0
.LVUS4:
	.uleb128 .LVU6
	.uleb128 0
.LLST4:
	.byte	0x4
	.uleb128 .LVL4-.Ltext0
	.uleb128 .LFE0-.Ltext0
	.uleb128 0x1
	.byte	0x50
	.byte	0
.Ldebug_loc3:
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_rnglists,"",@progbits
.Ldebug_ranges0:
	.long	.Ldebug_ranges3-.Ldebug_ranges2
.Ldebug_ranges2:
	.value	0x5
	.byte	0x8
	.byte	0
	.long	0
.LLRL11:
	.byte	0x4
	.uleb128 .LBB2-.Ltext0
	.uleb128 .LBE2-.Ltext0
	.byte	0x4
	.uleb128 .LBB3-.Ltext0
	.uleb128 .LBE3-.Ltext0
	.byte	0
.LLRL13:
	.byte	0x4
	.uleb128 .LBB4-.Ltext0
	.uleb128 .LBE4-.Ltext0
	.byte	0x4
	.uleb128 .LBB5-.Ltext0
	.uleb128 .LBE5-.Ltext0
	.byte	0x4
	.uleb128 .LBB6-.Ltext0
	.uleb128 .LBE6-.Ltext0
	.byte	0
.LLRL16:
	.byte	0x4
	.uleb128 .LBB7-.Ltext0
	.uleb128 .LBE7-.Ltext0
	.byte	0x4
	.uleb128 .LBB10-.Ltext0
	.uleb128 .LBE10-.Ltext0
	.byte	0
.LLRL18:
	.byte	0x4
	.uleb128 .LBB8-.Ltext0
	.uleb128 .LBE8-.Ltext0
	.byte	0x4
	.uleb128 .LBB9-.Ltext0
	.uleb128 .LBE9-.Ltext0
	.byte	0
.LLRL23:
	.byte	0x4
	.uleb128 .LBB11-.Ltext0
	.uleb128 .LBE11-.Ltext0
	.byte	0x4
	.uleb128 .LBB12-.Ltext0
	.uleb128 .LBE12-.Ltext0
	.byte	0
.LLRL33:
	.byte	0x4
	.uleb128 .LBB14-.Ltext0
	.uleb128 .LBE14-.Ltext0
	.byte	0x4
	.uleb128 .LBB17-.Ltext0
	.uleb128 .LBE17-.Ltext0
	.byte	0
.LLRL35:
	.byte	0x4
	.uleb128 .LBB15-.Ltext0
	.uleb128 .LBE15-.Ltext0
	.byte	0x4
	.uleb128 .LBB16-.Ltext0
	.uleb128 .LBE16-.Ltext0
	.byte	0
.LLRL38:
	.byte	0x4
	.uleb128 .LBB19-.Ltext0
	.uleb128 .LBE19-.Ltext0
	.byte	0x4
	.uleb128 .LBB20-.Ltext0
	.uleb128 .LBE20-.Ltext0
	.byte	0
.LLRL42:
	.byte	0x4
	.uleb128 .LBB21-.Ltext0
	.uleb128 .LBE21-.Ltext0
	.byte	0x4
	.uleb128 .LBB22-.Ltext0
	.uleb128 .LBE22-.Ltext0
	.byte	0
.Ldebug_ranges3:
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF22:
	.string	"word"
.LASF21:
	.string	"shown"
.LASF7:
	.string	"next"
.LASF25:
	.string	"clear"
.LASF18:
	.string	"freed"
.LASF37:
	.string	"from"
.LASF8:
	.string	"count"
.LASF19:
	.string	"stack"
.LASF10:
	.string	"text"
.LASF44:
	.string	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O1 -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fcf-protection=none -fno-pie -fno-inline"
.LASF32:
	.string	"is_same"
.LASF30:
	.string	"commonest"
.LASF40:
	.string	"size"
.LASF5:
	.string	"SHOWN"
.LASF14:
	.string	"input"
.LASF31:
	.string	"find"
.LASF12:
	.string	"long unsigned int"
.LASF24:
	.string	"list"
.LASF16:
	.string	"table"
.LASF34:
	.string	"value"
.LASF39:
	.string	"place"
.LASF20:
	.string	"round"
.LASF38:
	.string	"free"
.LASF3:
	.string	"ROOM"
.LASF11:
	.string	"unsigned int"
.LASF6:
	.string	"HEAP"
.LASF13:
	.string	"char"
.LASF15:
	.string	"heap"
.LASF27:
	.string	"line"
.LASF43:
	.string	"result"
.LASF33:
	.string	"hash"
.LASF4:
	.string	"LISTS"
.LASF42:
	.string	"number"
.LASF26:
	.string	"print"
.LASF17:
	.string	"used"
.LASF29:
	.string	"count_words"
.LASF23:
	.string	"long int"
.LASF28:
	.string	"most"
.LASF35:
	.string	"is_letter"
.LASF2:
	.string	"ROUNDS"
.LASF41:
	.string	"call"
.LASF9:
	.string	"length"
.LASF45:
	.string	"malloc"
.LASF36:
	.string	"copy"
	.section	.debug_line_str,"MS",@progbits,1
.LASF1:
	.string	""
.LASF0:
	.string	"examples/words/words.c"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
