//! Programs that suites, benchmark and soak run.

use super::everyday::EVERYDAY;
use super::inputs;
use super::job::{Workload, job, program, reading};
use super::threaded::{SHARING, THREADED};
use crate::guest;
use crate::run::Job;

/// All of them.
pub const WORKLOADS: &[Workload] = &[
    program("gzip", "gzip", |p, i| job!(p, "-9", "-c", &i.text())),
    program("gunzip", "gzip", |p, i| job!(p, "-d", "-c", &i.packed("gzip"))),
    program("bzip2", "bzip2", |p, i| job!(p, "-c", &i.text())),
    program("bunzip2", "bzip2", |p, i| job!(p, "-d", "-c", &i.packed("bzip2"))),
    program("xz", "xz", |p, i| job!(p, "-T1", "-2", "-c", &i.text())),
    program("perl", "perl", |p, i| job!(p, &i.script("words.pl", inputs::PERL), &i.text())),
    program("python3", "python3", |p, i| job!(p, "-B", "-S", "-s", &i.script("words.py", inputs::PYTHON), &i.text())),
    program("sqlite3", "sqlite3", |p, i| reading(job!(p, ":memory:"), i.sql())),
    program("cc1", "cc1", |p, i| job!(p, "-quiet", "-O1", &i.c_source(), "-o", "out.s")),
    program("mawk", "mawk", |p, i| job!(p, "-f", &i.script("words.awk", inputs::AWK), &i.text())),
    program("gawk", "gawk", |p, i| job!(p, "-f", &i.script("words.awk", inputs::AWK), &i.text())),
    program("sort", "sort", |p, i| job!(p, "--parallel=1", &i.text())),
    program("sort-numbers", "sort", |p, i| job!(p, "--parallel=1", "-n", "-k2", "-u", &i.text())),
    program("tar", "tar", |p, i| job!(p, "--sort=name", "-cf", "out.tar", "-C", &i.tree(), ".")),
    program("untar", "tar", |p, i| job!(p, "-xf", &i.tarred())),
    program("grep", "grep", |p, i| job!(p, "-nE", "(ab|cd)+e?[f-k]{2}.*[0-9]7$", &i.text())),
    program("grep-tree", "grep", |p, i| job!(p, "-rc", "a", &i.one_file_tree())),
    program("sed", "sed", |p, i| job!(p, "-E", "s/([a-f]+)([g-z]*)/<\\2\\1>/g; /zz/d", &i.text())),
    program("bc", "bc", |p, i| reading(job!(p, "-l"), i.script("pi.bc", inputs::BC))),
    program("jq", "jq", |p, i| {
        job!(p, "-c", "[.[] | select(.n % 3 == 0) | .w] | group_by(.[0:1]) | map(length)", &i.json())
    }),
    program("sha256sum", "sha256sum", |p, i| job!(p, &i.text())),
    program("diff", "diff", |p, i| job!(p, &i.text(), &i.changed_text())),
    program("c++-exceptions", "guest", |_, i| guest::named("exceptions.dynamic").job(3000 * i.megabytes)),
    program("c++-containers", "guest", |_, i| guest::named("containers").job(4000 * i.megabytes)),
    program("floating", "guest", |_, i| guest::named("floating_point.O2").job(4000 * i.megabytes)),
    program("openssl", "openssl", |p, i| {
        let rounds = (100_000 * i.megabytes).to_string();
        job!(
            p,
            "enc",
            "-aes-128-cbc",
            "-pbkdf2",
            "-iter",
            &rounds,
            "-S",
            "0123456789abcdef",
            "-k",
            "a",
            "-in",
            &i.text()
        )
    }),
    program("static", "guest", |_, i| guest::named("kinds_of_executable.static").job(20_000 * i.megabytes)),
    // It has random numbers from the system, and now and then asks for more.
    Workload {
        name: "php-jit",
        repeats: false,
        program: "php",
        job: |p, i| {
            // Without the last one it compiles no script that was made in the last two seconds, as the first run's may be.
            let [enable, size, jit, protect] = [
                "opcache.enable_cli=1",
                "opcache.jit_buffer_size=64M",
                "opcache.jit=tracing",
                "opcache.file_update_protection=0",
            ];
            job!(p, "-d", enable, "-d", size, "-d", jit, "-d", protect, &i.script("words.php", inputs::PHP), &i.text())
        },
    },
    // It has random numbers from the system.
    Workload {
        name: "luajit",
        repeats: false,
        program: "luajit",
        job: |p, i| job!(p, &i.script("words.lua", inputs::LUA), &i.text()),
    },
    // It seeds its hash tables with the time.
    Workload {
        name: "lua",
        repeats: false,
        program: "lua5.4",
        job: |p, i| job!(p, &i.script("words.lua", inputs::LUA), &i.text()),
    },
    Workload {
        name: "bash-subshells",
        repeats: false,
        program: "bash",
        job: |p, i| job!(p, &i.script("loop.sh", inputs::BASH), &i.megabytes.to_string()),
    },
    // It formats its parent's process id, whose number of digits varies.
    Workload {
        name: "bash-arithmetic",
        repeats: false,
        program: "bash",
        job: |p, i| job!(p, &i.script("sum.sh", inputs::BASH_ALONE), &i.megabytes.to_string()),
    },
];

/// The one of that name.
///
/// # Panics
/// If there is none.
pub fn named(name: &str) -> &'static Workload {
    WORKLOADS
        .iter()
        .chain(EVERYDAY)
        .chain(THREADED)
        .chain(SHARING)
        .find(|w| w.name == name)
        .unwrap_or_else(|| panic!("no program is named {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run;

    #[test]
    fn every_program_does_its_work_natively() {
        for workload in WORKLOADS.iter().filter(|w| w.program().is_some()) {
            let outcome = run(&workload.job(1)).unwrap();
            assert!(outcome.stderr.is_empty(), "{}: {outcome:?}", workload.name);
            assert!(outcome.status == 0 || workload.name == "diff", "{}: {outcome:?}", workload.name);
            assert!(!outcome.stdout.is_empty() || !outcome.files.is_empty(), "{} made nothing", workload.name);
        }
    }
}
