//! Every encoding that a random program may contain.

use iced_x86::{
    Code, EncodingKind, Instruction as Iced, Mnemonic, OpCodeInfo, OpCodeOperandKind as Kind, OpKind, Register,
};

use super::rng::Rng;

/// One encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form(pub(super) Code);

impl Form {
    pub(super) fn info(self) -> &'static OpCodeInfo {
        self.0.op_code()
    }

    /// Whether it works on general registers and memory alone.
    fn is_integer(self) -> bool {
        let info = self.info();
        info.encoding() == EncodingKind::Legacy
            && !info
                .op_kinds()
                .iter()
                .any(|k| vector_register(*k).is_some() || *k == Kind::st0 || *k == Kind::sti_opcode)
            && !format!("{:?}", self.0.mnemonic()).starts_with('F')
    }

    /// Its name.
    pub fn name(self) -> String {
        format!("{:?}", self.0)
    }
}

/// The encodings to choose from.
#[derive(Clone, Debug)]
pub struct Catalogue {
    integer: Vec<Form>,
    other: Vec<Form>,
}

impl Catalogue {
    /// All encodings of instructions that go on at the next one and whose results the state before determines.
    pub fn all() -> Catalogue {
        Catalogue::of(Code::values().map(Form).filter(|form| is_allowed(*form)))
    }

    fn of(forms: impl Iterator<Item = Form>) -> Catalogue {
        let (integer, other) = forms.partition(|form| form.is_integer());
        Catalogue { integer, other }
    }

    /// Those for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(Form) -> bool) {
        self.integer.retain(|form| keep(*form));
        self.other.retain(|form| keep(*form));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.integer.len() + self.other.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them: as often integer as other.
    pub fn pick(&self, rng: &mut Rng) -> Form {
        if rng.once_in(2) { rng.pick(&self.integer) } else { rng.pick(&self.other) }
    }
}

fn is_allowed(form: Form) -> bool {
    let info = form.info();
    let flow = form.0.flow_control();
    info.is_instruction()
        && info.mode64()
        && info.cpl3()
        && !info.is_privileged()
        && !info.is_input_output()
        && !info.is_save_restore()
        && !info.is_reserved_nop()
        && flow == iced_x86::FlowControl::Next
        && !matches!(info.encoding(), EncodingKind::D3NOW | EncodingKind::XOP | EncodingKind::MVEX)
        && !info.op_kinds().iter().any(|kind| is_excluded_operand(*kind))
        && !is_excluded(form.0)
}

/// Operands that no app can use, or that need a state that random programs don't have.
fn is_excluded_operand(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::cr_reg
            | Kind::dr_reg
            | Kind::tr_reg
            | Kind::bnd_reg
            | Kind::bnd_or_mem_mpx
            | Kind::mem_mpx
            | Kind::mem_mib
            | Kind::r32_or_mem_mpx
            | Kind::r64_or_mem_mpx
            | Kind::sibmem
            | Kind::tmm_reg
            | Kind::tmm_rm
            | Kind::tmm_vvvv
    )
}

fn is_excluded(code: Code) -> bool {
    use Mnemonic as M;
    let writes_selector = matches!(code, Code::Mov_Sreg_rm16 | Code::Mov_Sreg_r32m16 | Code::Mov_Sreg_r64m16);
    writes_selector
        || matches!(
            code.mnemonic(),
            // results that the state doesn't determine, or that must come from outside
            M::Rdtsc | M::Rdtscp | M::Cpuid | M::Rdrand | M::Rdseed | M::Rdpid | M::Rdpru | M::Rdpmc | M::Lsl | M::Lar
            | M::Sgdt | M::Sidt | M::Sldt | M::Str | M::Smsw | M::Verr | M::Verw | M::Xgetbv | M::Xsetbv
            | M::Rdpkru | M::Wrpkru | M::Rdsspd | M::Rdsspq | M::Incsspd | M::Incsspq
            // addresses of the last x87 instruction are known to be the code cache's
            | M::Fnstenv | M::Fstenv | M::Fldenv | M::Fnsave | M::Fsave | M::Frstor
            // selectors, FS and GS bases, control words and flags: made by shapes with sensible values
            | M::Lds | M::Les | M::Lfs | M::Lgs | M::Lss | M::Pop | M::Popf | M::Popfq | M::Popfd | M::Enter | M::Leave
            | M::Wrfsbase | M::Wrgsbase | M::Rdfsbase | M::Rdgsbase | M::Ldmxcsr | M::Vldmxcsr | M::Fldcw
            // waiting, monitoring, transactions, other processors
            | M::Monitor | M::Monitorx | M::Mwait | M::Mwaitx | M::Umonitor | M::Umwait | M::Tpause | M::Xabort
            | M::Xend | M::Xtest | M::Clzero | M::Mcommit | M::Movdir64b | M::Enqcmd | M::Enqcmds | M::Ptwrite
            | M::Loadiwkey | M::Encodekey128 | M::Encodekey256 | M::Senduipi | M::Clui | M::Stui | M::Testui
        )
}

/// The register file of a vector or mask operand, and whether the operand can only be a register.
fn vector_register(kind: Kind) -> Option<Register> {
    Some(match kind {
        Kind::mm_or_mem | Kind::mm_reg | Kind::mm_rm => Register::MM0,
        Kind::k_or_mem | Kind::k_reg | Kind::kp1_reg | Kind::k_rm | Kind::k_vvvv => Register::K0,
        Kind::xmm_or_mem
        | Kind::xmm_reg
        | Kind::xmm_rm
        | Kind::xmm_vvvv
        | Kind::xmmp3_vvvv
        | Kind::xmm_is4
        | Kind::xmm_is5 => Register::XMM0,
        Kind::ymm_or_mem | Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv | Kind::ymm_is4 | Kind::ymm_is5 => {
            Register::YMM0
        }
        Kind::zmm_or_mem | Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv | Kind::zmmp3_vvvv => Register::ZMM0,
        _ => return None,
    })
}

/// What a random operand became.
pub(super) enum Operand {
    /// It is set.
    Done,
    /// It is a memory operand, to be given an address; with the register file of its index if that is a vector.
    Memory(Option<Register>),
}

/// Sets operand `i` of `iced`, which has the kind that `form` names.
pub(super) fn set_operand(iced: &mut Iced, form: Form, i: u32, rng: &mut Rng) -> Operand {
    let kind = form.info().op_kind(i);
    let evex = form.info().encoding() == EncodingKind::EVEX;
    if is_memory(kind) || (may_be_memory(kind) && rng.once_in(2)) {
        iced.set_op_kind(i, OpKind::Memory);
        return Operand::Memory(vector_index(kind));
    }
    if let Some(register) = register(kind, evex, rng) {
        iced.set_op_kind(i, OpKind::Register);
        iced.set_op_register(i, register);
        return Operand::Done;
    }
    let (op_kind, value) = match kind {
        Kind::imm4_m2z => (OpKind::Immediate8, rng.below(4)),
        Kind::imm8 => (OpKind::Immediate8, rng.below(256)),
        Kind::imm8_const_1 => (OpKind::Immediate8, 1),
        Kind::imm8sex16 => (OpKind::Immediate8to16, rng.bits() as i8 as u64),
        Kind::imm8sex32 => (OpKind::Immediate8to32, rng.bits() as i8 as u64),
        Kind::imm8sex64 => (OpKind::Immediate8to64, rng.bits() as i8 as u64),
        Kind::imm16 => (OpKind::Immediate16, u64::from(rng.value() as u16)),
        Kind::imm32 => (OpKind::Immediate32, u64::from(rng.value() as u32)),
        Kind::imm32sex64 => (OpKind::Immediate32to64, rng.value() as i32 as u64),
        Kind::imm64 => (OpKind::Immediate64, rng.value()),
        Kind::seg_rSI => (OpKind::MemorySegRSI, 0),
        Kind::es_rDI => (OpKind::MemoryESRDI, 0),
        Kind::seg_rDI => (OpKind::MemorySegRDI, 0),
        other => panic!("{}: operands of kind {other:?} can't be made", form.name()),
    };
    iced.set_op_kind(i, op_kind);
    match op_kind {
        OpKind::MemorySegRSI | OpKind::MemoryESRDI | OpKind::MemorySegRDI => {}
        _ => iced.set_immediate_u64(i, value),
    }
    Operand::Done
}

fn is_memory(kind: Kind) -> bool {
    matches!(kind, Kind::mem | Kind::mem_offs | Kind::seg_rBX_al) || vector_index(kind).is_some()
}

fn may_be_memory(kind: Kind) -> bool {
    use Kind as K;
    matches!(kind, K::r8_or_mem | K::r16_or_mem | K::r32_or_mem | K::r64_or_mem)
        || matches!(kind, K::mm_or_mem | K::xmm_or_mem | K::ymm_or_mem | K::zmm_or_mem | K::k_or_mem)
}

fn vector_index(kind: Kind) -> Option<Register> {
    Some(match kind {
        Kind::mem_vsib32x | Kind::mem_vsib64x => Register::XMM0,
        Kind::mem_vsib32y | Kind::mem_vsib64y => Register::YMM0,
        Kind::mem_vsib32z | Kind::mem_vsib64z => Register::ZMM0,
        _ => return None,
    })
}

fn register(kind: Kind, evex: bool, rng: &mut Rng) -> Option<Register> {
    use Kind as K;
    if let Some(file) = vector_register(kind) {
        let number = match (kind, file) {
            (K::xmmp3_vvvv | K::zmmp3_vvvv, _) => rng.below(if evex { 8 } else { 4 }) * 4,
            (K::kp1_reg, _) => rng.below(4) * 2,
            (_, Register::MM0 | Register::K0) => rng.below(8),
            (K::xmm_is4 | K::ymm_is4 | K::xmm_is5 | K::ymm_is5, _) => rng.below(16),
            _ => rng.below(if evex { 32 } else { 16 }),
        };
        return Some(file + number as u32);
    }
    let any = rng.below(16) as u32;
    Some(match kind {
        K::r8_or_mem | K::r8_reg | K::r8_opcode => Register::AL + rng.below(20) as u32,
        K::r16_or_mem | K::r16_reg | K::r16_rm | K::r16_opcode => Register::AX + any,
        K::r32_or_mem | K::r32_reg | K::r32_rm | K::r32_opcode | K::r32_vvvv => Register::EAX + any,
        K::r64_or_mem | K::r64_reg | K::r64_rm | K::r64_opcode | K::r64_vvvv => Register::RAX + any,
        K::r16_reg_mem | K::r32_reg_mem | K::r64_reg_mem => return None,
        K::seg_reg => rng.pick(&[Register::ES, Register::CS, Register::SS, Register::DS, Register::FS, Register::GS]),
        K::es => Register::ES,
        K::cs => Register::CS,
        K::ss => Register::SS,
        K::ds => Register::DS,
        K::fs => Register::FS,
        K::gs => Register::GS,
        K::al => Register::AL,
        K::cl => Register::CL,
        K::ax => Register::AX,
        K::dx => Register::DX,
        K::eax => Register::EAX,
        K::rax => Register::RAX,
        K::st0 => Register::ST0,
        K::sti_opcode => Register::ST0 + rng.below(8) as u32,
        _ => return None,
    })
}

/// Whether operands of `form` can be made.
pub(super) fn is_makeable(form: Form) -> bool {
    !form.info().op_kinds().iter().any(|kind| matches!(kind, Kind::r16_reg_mem | Kind::r32_reg_mem | Kind::r64_reg_mem))
}
