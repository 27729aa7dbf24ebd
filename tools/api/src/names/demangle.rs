//! Names as people write them.

use cpp_demangle::{DemangleOptions, Symbol};

/// A linker's name as its language writes it: of Rust and C++ functions with their namespaces, of C++ ones with their parameters. All others are what they are.
pub fn demangle(name: &str) -> String {
    // What stands behind is no part of the name: `@plt`, or a compiler's `.cold`.
    let (mangled, rest) = match name.find(['@', '.']) {
        Some(at) if name.starts_with("_Z") || name.starts_with("_R") => name.split_at(at),
        _ => (name, ""),
    };
    // Rust's older names look like C++: theirs has the hash at its end.
    if let Ok(rust) = rustc_demangle::try_demangle(mangled) {
        return format!("{rust:#}{rest}");
    }
    if !mangled.starts_with("_Z") {
        return name.to_owned();
    }
    let parsed = Symbol::new(mangled).ok();
    let text = parsed.and_then(|symbol| symbol.demangle_with_options(&DemangleOptions::default()).ok());
    text.map_or_else(|| name.to_owned(), |text| format!("{text}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_its_names() {
        for (name, expected) in [
            ("main", "main"),
            ("malloc@plt", "malloc@plt"),
            ("_Z3fooi", "foo(int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi@plt",
                "std::vector<int, std::allocator<int> >::push_back(int const&)@plt",
            ),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_Z", "_Z"),
            ("_Zbroken", "_Zbroken"),
            ("_init.part.0", "_init.part.0"),
            ("_Z3foov.cold", "foo().cold"),
        ] {
            assert_eq!(demangle(name), expected);
        }
    }
}
