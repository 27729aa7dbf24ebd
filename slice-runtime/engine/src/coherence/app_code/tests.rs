use super::*;

/// A mapping that is changed elsewhere, unnoticed, shows whether it was read anew.
#[test]
fn what_is_mapped_elsewhere_stays_known() {
    let map = |address: *mut libc::c_void, pages: u64, protection: i32| {
        let fixed = if address.is_null() { 0 } else { libc::MAP_FIXED };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
        // SAFETY: new memory, or in place of the test's own.
        unsafe { libc::mmap(address, (pages * PAGE) as usize, protection, flags, -1, 0) }
    };
    // A page between them keeps them from being one mapping.
    let all = map(std::ptr::null_mut(), 3, libc::PROT_NONE);
    let [a, b] = [0, 2].map(|page| map(all.wrapping_byte_add(page * PAGE as usize), 1, libc::PROT_READ));
    let mut regions = AppCode::default();
    let writes = |regions: &mut AppCode, at: *mut libc::c_void| regions.find(at as u64).unwrap().write;
    assert!(!writes(&mut regions, a) && !writes(&mut regions, b));
    for at in [a, b] {
        map(at, 1, libc::PROT_READ | libc::PROT_WRITE);
    }
    regions.forget_in(a as u64, a as u64 + PAGE);
    assert!(!writes(&mut regions, b));
    assert!(writes(&mut regions, a));
    regions.forget_in(b as u64, b as u64 + PAGE);
    assert!(writes(&mut regions, a) && writes(&mut regions, b));
    // Where nothing is nothing is found, whatever is known of the rest.
    assert!(regions.find(8).is_none() && writes(&mut regions, b));
    // SAFETY: the test's own.
    unsafe { libc::munmap(all, 3 * PAGE as usize) };
}

/// Of three pages that can be written to and executed the second one is protected: it is one mapping all the same.
#[test]
fn protected_pages_are_as_the_app_made_them() {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let [code, all] = [libc::PROT_EXEC | libc::PROT_READ, libc::PROT_EXEC | libc::PROT_READ | libc::PROT_WRITE];
    // SAFETY: new memory; the last page can't be written to, which isn't the engine's doing.
    let start = unsafe {
        let start = libc::mmap(std::ptr::null_mut(), 4 * PAGE as usize, all, flags, -1, 0) as u64;
        assert_eq!(libc::mprotect((start + 3 * PAGE) as *mut _, PAGE as usize, code), 0);
        start
    };
    let mut regions = AppCode::default();
    for page in [1, 2] {
        regions.pages.watch(start + page * PAGE, start + page * PAGE + 1);
        assert!(regions.pages.is_protected(start + page * PAGE));
    }
    let writable = regions.find(start + 2 * PAGE).unwrap().clone();
    assert!(writable.write && (writable.file.start, writable.file.end) == (start, start + 3 * PAGE));
    assert!(regions.find(start + 3 * PAGE).is_some_and(|region| !region.write && region.execute));
    regions.pages.release(start + PAGE);
    regions.pages.release(start + 2 * PAGE);
    // SAFETY: the test's own.
    unsafe { libc::munmap(start as *mut _, 4 * PAGE as usize) };
}

#[test]
fn own_code_is_found_and_unchanged() {
    let mut regions = AppCode::default();
    let here = own_code_is_found_and_unchanged as *const () as u64;
    let region = regions.find(here).unwrap().clone();
    assert!(region.execute && region.file.inode != 0);
    assert!(is_unchanged(&region.file));
    assert!(regions.find(8).is_none());
}

#[test]
fn flags_ahead_are_remembered() {
    let code = AppPc(flags_ahead_are_remembered as *const () as u64);
    for off in [Off::default(), Off::default().and(Optimisation::Remember)] {
        let mut app_code = AppCode::default();
        let found = app_code.live_flags_at(code, code, true, off);
        assert_eq!(app_code.liveness.get(code), off.leaves(Optimisation::Remember).then_some(found));
    }
}
