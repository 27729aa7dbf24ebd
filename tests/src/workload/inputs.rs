//! Inputs of the real programs, each made once and kept.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of inputs of one size.
pub struct Inputs {
    folder: PathBuf,
    /// The size.
    pub megabytes: u64,
}

/// A generator of equal numbers on every machine (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn word(&mut self) -> String {
        // Few letters are frequent and words repeat, as in real text: otherwise compressors find nothing to do.
        let (length, mut letters) = (2 + self.below(7), Random(self.below(700)));
        (0..length).map(|_| char::from(b'a' + letters.below(26).min(letters.below(26)) as u8)).collect()
    }
}

impl Inputs {
    /// Inputs of that size in that folder.
    pub fn new(folder: &Path, megabytes: usize) -> Self {
        Self { folder: folder.to_owned(), megabytes: megabytes as u64 }
    }

    /// Lines of words and a number.
    pub fn text(&self) -> PathBuf {
        self.once("text", |file| fs::write(file, self.text_from(1)).map(drop))
    }

    /// The same with a line changed here and there.
    pub fn changed_text(&self) -> PathBuf {
        self.once("changed", |file| {
            let text = self.text_from(1);
            let lines = text.lines().enumerate().filter(|(n, _)| n % 97 != 5);
            fs::write(
                file,
                lines.map(|(n, l)| if n % 61 == 7 { format!("{l}!\n") } else { format!("{l}\n") }).collect::<String>(),
            )
        })
    }

    fn text_from(&self, seed: u64) -> String {
        let (mut random, mut text) = (Random(seed), String::new());
        while text.len() < self.megabytes as usize * 1_000_000 {
            for _ in 0..3 + random.below(9) {
                text += &random.word();
                text.push(' ');
            }
            text += &random.below(100_000).to_string();
            text.push('\n');
        }
        text
    }

    /// The text, compressed.
    pub fn packed(&self, by: &str) -> PathBuf {
        self.once(&format!("text.{by}"), |file| {
            let output = Command::new(by).arg("-c").arg(self.text()).output()?;
            fs::write(file, output.stdout)
        })
    }

    /// Statements that fill, index and ask a table.
    pub fn sql(&self) -> PathBuf {
        self.once("sql", |file| {
            let mut out = std::io::BufWriter::new(fs::File::create(file)?);
            let mut random = Random(2);
            writeln!(out, "create table t(id integer primary key, word text, n integer);\nbegin;")?;
            for _ in 0..self.megabytes * 8000 {
                writeln!(out, "insert into t(word, n) values('{}', {});", random.word(), random.below(1000))?;
            }
            writeln!(out, "commit;\ncreate index by_word on t(word);")?;
            writeln!(out, "select word, count(*), sum(n) from t group by word order by 3 desc, 1 limit 20;")?;
            writeln!(out, "select count(*) from t a join t b on a.word = b.word where a.n = b.n + 1;")?;
            writeln!(out, "update t set n = n * 2 where word like '%a%'; select avg(n), max(word) from t;")
        })
    }

    /// One large C file of loops, switches, structures and calls.
    pub fn c_source(&self) -> PathBuf {
        self.once("large.c", |file| {
            let mut random = Random(3);
            let mut source = String::from("struct node { struct node *next; long key; double value; };\nlong table[256];\n");
            for n in 0..self.megabytes * 150 {
                let (a, b, c) = (random.below(90) + 3, random.below(9) + 2, random.below(n + 1));
                source += &format!(
                    "long f{n}(struct node *list, long x) {{\n  long sum = {a};\n  \
                     for (struct node *i = list; i; i = i->next) {{\n    switch (i->key % {b}) {{\n    \
                     case 0: sum += i->key * x; break;\n    case 1: sum ^= (long)(i->value * {a}.5); break;\n    \
                     default: if (x > {a}) sum -= table[(sum + x) & 255]; else table[x & 255] = sum / {b};\n    }}\n  }}\n  \
                     for (long i = 0; i < x % {a}; i++) sum = sum * 31 + table[i] + (i & 1 ? {b} : -i);\n  \
                     return sum + (x > 0 ? f{c}(list, x - 1) : 0);\n}}\n"
                );
            }
            fs::write(file, source)
        })
    }

    /// A list of objects.
    pub fn json(&self) -> PathBuf {
        self.once("list.json", |file| {
            let mut random = Random(4);
            let object = |n| format!("{{\"n\":{n},\"w\":\"{}\",\"f\":{}.5}}", random.word(), n % 77);
            let objects: Vec<String> = (0..self.megabytes * 5000).map(object).collect();
            fs::write(file, format!("[{}]", objects.join(",\n")))
        })
    }

    /// A folder of small files in folders.
    pub fn tree(&self) -> PathBuf {
        self.once("tree", |root| {
            for n in 0..self.megabytes * 40 {
                let folder = root.join(format!("folder{}", n % 7));
                fs::create_dir_all(&folder)?;
                let mut random = Random(n);
                let words: Vec<String> = (0..random.below(3000)).map(|_| random.word()).collect();
                fs::write(folder.join(format!("file{n}")), words.join(" "))?;
            }
            Ok(())
        })
    }

    /// A folder with one file: directories are listed in an order that differs between machines.
    pub fn one_file_tree(&self) -> PathBuf {
        self.once("single", |root| {
            fs::create_dir_all(root)?;
            fs::write(root.join("text"), self.text_from(5))
        })
    }

    /// The folder as an archive.
    pub fn tarred(&self) -> PathBuf {
        self.once("tree.tar", |file| {
            let done = Command::new("tar").arg("-cf").arg(file).arg("-C").arg(self.tree()).arg(".").status()?;
            if done.success() { Ok(()) } else { Err(std::io::Error::other("tar failed")) }
        })
    }

    /// A script.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        self.once(name, |file| fs::write(file, text))
    }

    /// Makes an input under another name first, so that a broken-off run leaves no half of it.
    fn once(&self, name: &str, make: impl FnOnce(&Path) -> std::io::Result<()>) -> PathBuf {
        let finished = self.folder.join(name);
        if finished.exists() {
            return finished;
        }
        let unfinished = self.folder.join(format!("{name}.{}.{:?}", std::process::id(), std::thread::current().id()));
        let made = fs::create_dir_all(&self.folder).and_then(|()| make(&unfinished));
        made.unwrap_or_else(|e| panic!("can't make the input {}: {e}", finished.display()));
        // Another test may have been faster with a folder, over which no rename goes: its contents are the same.
        if fs::rename(&unfinished, &finished).is_err() {
            assert!(finished.exists(), "can't name the input {}", finished.display());
        }
        finished
    }
}

pub const PERL: &str = r#"
my (%count, $longest);
while (my $line = <>) {
    for my $word (split ' ', $line) {
        $count{$word}++;
        $longest = $word if length $word > length($longest // '');
        (my $turned = reverse $word) =~ tr/a-m/n-z/;
        $count{"$1-$2"}++ if $turned =~ /^([n-s]+)(.*[aeiou])/;
    }
}
printf "%s %d\n", $_, $count{$_} for (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 30];
print "$longest ", scalar(keys %count), "\n";
"#;

pub const PYTHON: &str = r#"
import sys
count = {}
class Word:
    def __init__(self, text):
        self.text = text
    def key(self):
        return ''.join(sorted(self.text))
with open(sys.argv[1]) as lines:
    for line in lines:
        for text in line.split():
            key = Word(text).key()
            count[key] = count.get(key, 0) + len(text)
for key, n in sorted(count.items(), key=lambda item: (-item[1], item[0]))[:30]:
    print(f'{key:>12} {n / 7:.3f}')
try:
    count['no such word']
except KeyError as error:
    print('missing', error)
"#;

pub const LUA: &str = r#"
local count, words = {}, {}
for line in io.lines(arg[1]) do
    for word in line:gmatch("%l+") do
        local key = word:sub(1, 3) .. #word
        if not count[key] then words[#words + 1] = key end
        count[key] = (count[key] or 0) + word:byte(-1) % 7 + 1
    end
end
table.sort(words, function(a, b) return count[a] > count[b] or count[a] == count[b] and a < b end)
for n = 1, 20 do print(words[n], count[words[n]]) end
"#;

/// Enough of each loop that a compiler takes it up.
pub const PHP: &str = r#"<?php
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
$count = []; $sum = 0;
foreach (file($argv[1], FILE_IGNORE_NEW_LINES) as $n => $line) {
    $sum = ($sum * 31 + strlen($line)) % 1000003;
    for ($at = 0; $at < strlen($line); $at += 7) { $sum ^= ord($line[$at]) << ($at % 5); }
    $key = substr($line, 0, 2);
    $count[$key] = ($count[$key] ?? 0) + $n % 3;
}
ksort($count);
echo fib(20), " $sum ", count($count), " ", array_sum($count), "\n";
"#;

pub const AWK: &str = r#"
{ for (i = 1; i < NF; i++) { n[$i]++; len += length($i) } total += $NF; if ($NF % 7 == 3) odd = odd + sqrt($NF) }
END {
    best = ""
    for (word in n) { words++; if (n[word] > n[best] || (n[word] == n[best] && word < best)) best = word }
    printf "%d %d %s %d %.4f %d\n", NR, words, best, n[best], odd, total + len
}
"#;

pub const BC: &str = "scale=600\na=4*a(1)\na\ne(1)\ns(1)*c(2)\n2^4000 % 10^30\n";

pub const BASH: &str = r#"
total=0
for i in $(seq 1 $((20 * $1))); do
    part=$(echo "$i" | tr 0-9 a-j)
    ( exit $((i % 3)) ) || total=$((total + $?))
    case $part in *b*) total=$((total + ${#part})) ;; esac
done
echo "total $total"
"#;

pub const BASH_ALONE: &str = r#"
sum=0 text=
for ((i = 0; i < 20000 * $1; i++)); do
    sum=$(((sum * 31 + i) % 1000003))
    if ((i % 1000 == 0)); then text+=${sum:0:2}; text=${text//1/x}; fi
done
echo "$sum $text"
"#;
