//! Analysis routines, and what they count in.

#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Local {
    pub a: u64,
    pub b: u64,
    pub c: u32,
    pub d: u8,
    pub table: [u64; 16],
}

/// An analysis routine in its general form.
pub type Routine = extern "C" fn(&mut Local, u64, u64, u64, u64, u64);

pub extern "C" fn add(l: &mut Local, n: u64, _: u64, _: u64, _: u64, _: u64) {
    l.a = l.a.wrapping_add(n);
}

pub extern "C" fn increment(l: &mut Local, _: u64, _: u64, _: u64, _: u64, _: u64) {
    l.b = l.b.wrapping_add(1);
}

pub extern "C" fn two_counters(l: &mut Local, n: u64, m: u64, _: u64, _: u64, _: u64) {
    l.a = l.a.wrapping_add(n);
    l.b = l.b.wrapping_sub(m);
}

pub extern "C" fn narrow(l: &mut Local, n: u64, m: u64, _: u64, _: u64, _: u64) {
    l.c = l.c.wrapping_add(n as u32);
    l.d = m as u8;
}

pub extern "C" fn store(l: &mut Local, address: u64, _: u64, _: u64, _: u64, _: u64) {
    l.a = address;
}

pub extern "C" fn histogram(l: &mut Local, address: u64, _: u64, _: u64, _: u64, _: u64) {
    let slot = &mut l.table[(address >> 4) as usize & 15];
    *slot = slot.wrapping_add(1);
}

pub extern "C" fn taken(l: &mut Local, taken: u64, n: u64, _: u64, _: u64, _: u64) {
    l.a = l.a.wrapping_add((taken != 0) as u64);
    l.b = l.b.wrapping_add((taken < n) as u64);
}

pub extern "C" fn arithmetic(l: &mut Local, x: u64, y: u64, z: u64, v: u64, w: u64) {
    l.a = x.wrapping_mul(5).wrapping_add(y << 3) ^ z;
    l.b = (v as i64 >> 7) as u64 | !w;
    l.c = (x as u32).wrapping_sub(y as u32) & 0xffff;
}

pub extern "C" fn mix(l: &mut Local, x: u64, y: u64, z: u64, _: u64, _: u64) {
    l.table[3] = if x > y { z } else { l.a };
    l.d = l.d.wrapping_add((x & 1) as u8);
    l.b = x.wrapping_mul(y);
}

pub extern "C" fn kinds(l: &mut Local, x: u64, y: u64, _: u64, _: u64, _: u64) {
    match x {
        0 => l.a = l.a.wrapping_add(1),
        1 => l.b = l.b.wrapping_add(y),
        _ => l.c = l.c.wrapping_add(1),
    }
}

pub extern "C" fn greatest(l: &mut Local, x: u64, _: u64, _: u64, _: u64, _: u64) {
    if x > l.a {
        l.a = x;
        l.b = l.b.wrapping_add(1);
    }
}

pub extern "C" fn within(l: &mut Local, x: u64, low: u64, high: u64, _: u64, _: u64) {
    if x >= low && x < high {
        let slot = &mut l.table[(x & 15) as usize];
        *slot = slot.wrapping_add(x);
        return;
    }
    l.d = l.d.wrapping_add(1);
}

pub extern "C" fn signed(l: &mut Local, x: u64, y: u64, z: u64, v: u64, w: u64) {
    if (x as i64) < y as i64 || (z as i32) >= v as i32 {
        l.table[1] = w;
    }
}
