//! Programs with threads. Their instruction counts depend on how these take turns.

use super::job::{Workload, job, program};
use crate::guest;
use crate::run::Job;

/// All of them. node and java, which have compilers of their own, are large: where they aren't installed they are left out.
pub const THREADED: &[Workload] = &[
    program("python3-threads", "python3", |p, i| job!(p, "-B", "-S", "-s", &i.script("threads.py", PYTHON), &i.text())),
    program("xz-threads", "xz", |p, i| job!(p, "-T3", "--block-size=200000", "-1", "-c", &i.text())),
    program("zstd-threads", "zstd", |p, i| job!(p, "-q", "-T2", "-3", "-c", &i.text())),
    program("pigz", "pigz", |p, i| job!(p, "-n", "-p3", "-b", "32", "-c", &i.text())),
    program("pbzip2", "pbzip2", |p, i| job!(p, "-q", "-p3", "-b1", "-c", &i.text())),
    program("lbzip2", "lbzip2", |p, i| job!(p, "-n3", "-1", "-c", &i.text())),
    program("node", "node", |p, i| job!(p, &i.script("words.js", NODE), &i.text())),
    program("node-workers", "node", |p, i| job!(p, &i.script("workers.js", WORKERS))),
    program("java", "java", |p, i| job!(p, "-XX:TieredStopAtLevel=1", &i.script("Words.java", JAVA), &i.text())),
    program("java-compiled", "java", |p, _| job!(p, "-Xcomp", "-XX:CompileOnly=java.lang.String::*", "-version")),
    program("java-interpreted", "java", |p, _| job!(p, "-Xint", "-version")),
];

/// Programs that share their work out to as many threads as their names say, for the benchmark.
pub const SHARING: &[Workload] = &[
    program("pigz-1", "pigz", |p, i| job!(p, "-n", "-p1", "-9", "-c", &i.text())),
    program("pigz-2", "pigz", |p, i| job!(p, "-n", "-p2", "-9", "-c", &i.text())),
    program("xz-1", "xz", |p, i| job!(p, "-T1", "--block-size=2000000", "-3", "-c", &i.text())),
    program("xz-2", "xz", |p, i| job!(p, "-T2", "--block-size=2000000", "-3", "-c", &i.text())),
    program("zstd-1", "zstd", |p, i| job!(p, "-q", "-T1", "-15", "-c", &i.text())),
    program("zstd-2", "zstd", |p, i| job!(p, "-q", "-T2", "-15", "-c", &i.text())),
    program("pbzip2-1", "pbzip2", |p, i| job!(p, "-q", "-p1", "-c", &i.text())),
    program("pbzip2-2", "pbzip2", |p, i| job!(p, "-q", "-p2", "-c", &i.text())),
    program("stencil-1", "guest", |_, i| guest::named("openmp_stencil.one").job(200 * i.megabytes)),
    program("stencil-2", "guest", |_, i| guest::named("openmp_stencil.passive").job(200 * i.megabytes)),
    program("stencil-2-spinning", "guest", |_, i| guest::named("openmp_stencil.active").job(200 * i.megabytes)),
    program("sums-1", "guest", |_, i| guest::named("openmp_sums.one").job(500 * i.megabytes)),
    program("sums-2", "guest", |_, i| guest::named("openmp_sums.passive").job(500 * i.megabytes)),
    program("sums-2-spinning", "guest", |_, i| guest::named("openmp_sums.active").job(500 * i.megabytes)),
];

impl Workload {
    /// Whether it has threads: how much they execute depends on how they take turns.
    pub fn has_threads(&self) -> bool {
        THREADED.iter().chain(SHARING).any(|threaded| threaded.name == self.name)
    }
}

const PYTHON: &str = "\
import sys, threading, queue
words = open(sys.argv[1], errors='replace').read(300000).split()
jobs, results = queue.Queue(), queue.Queue()
def work():
    while (part := jobs.get()) is not None:
        results.put(sum(len(set(word)) for word in part))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for at in range(0, len(words), 500): jobs.put(words[at:at + 500])
for _ in threads: jobs.put(None)
for thread in threads: thread.join()
print(sum(results.get() for _ in range(0, len(words), 500)))
";
const NODE: &str = "\
const words = require('fs').readFileSync(process.argv[2], 'latin1').split(/\\s+/);
const seen = new Map();
for (const word of words) seen.set(word, (seen.get(word) ?? 0) + 1);
let sum = 0;
for (let i = 0; i < 3000000; i++) sum = (sum * 31 + i) % 1000003;
console.log(seen.size, [...seen.keys()].sort()[7], sum);
";
const WORKERS: &str = "\
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
if (isMainThread) {
    let sum = 0, left = 4;
    for (let i = 0; i < 4; i++)
        new Worker(__filename, { workerData: i }).on('message', (m) => { sum += m; if (--left == 0) console.log(sum); });
} else {
    let x = 0;
    for (let i = 0; i < 500000; i++) x = (x * 31 + i + workerData) % 1000003;
    parentPort.postMessage(x);
}
";
const JAVA: &str = "\
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
public class Words {
    public static void main(String[] args) throws Exception {
        String[] words = Files.readString(Path.of(args[0]), java.nio.charset.StandardCharsets.ISO_8859_1).split(\"\\\\s+\");
        Map<String, Long> seen = Arrays.stream(words).parallel().collect(Collectors.groupingByConcurrent(w -> w, Collectors.counting()));
        System.out.println(seen.size() + \" \" + new TreeMap<>(seen).firstEntry());
    }
}
";
