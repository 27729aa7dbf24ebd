//! Where a signal came from.

/// What a signal's description says of its origin: the part of `siginfo_t` that every kind of signal has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalOrigin {
    /// Who has sent it, and how (`si_code`).
    pub code: i64,
    /// What belongs to that code: the sender's process in the lower half and its user in the upper one, or the address that a fault is about.
    pub value: u64,
}

impl SignalOrigin {
    /// Of a signal.
    pub fn of(info: &libc::siginfo_t) -> Self {
        const VALUE: usize = 2;
        const _: () = assert!(size_of::<libc::siginfo_t>() >= (VALUE + 1) * 8 && align_of::<libc::siginfo_t>() >= 8);
        // SAFETY: the description is plain data of 128 bytes, of which this is the third word.
        let value = unsafe { (&raw const *info).cast::<u64>().add(VALUE).read() };
        Self { code: info.si_code.into(), value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_and_the_address_lie_in_one_word() {
        // SAFETY: plain data, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        info.si_code = libc::SI_TKILL;
        // SAFETY: as above.
        unsafe { (&raw mut info).cast::<u32>().add(4).write(77) };
        assert_eq!(SignalOrigin::of(&info), SignalOrigin { code: libc::SI_TKILL.into(), value: 77 });
        // SAFETY: a signal that was sent has a sender.
        assert_eq!(unsafe { info.si_pid() }, 77);
        // SAFETY: a word of a description that is all integers.
        assert_eq!(unsafe { info.si_addr() } as usize, 77);
    }
}
