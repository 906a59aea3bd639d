//! Golden recordings: commands with all they print, as people see it, in `tests/transcripts/NAME.txt`.
//!
//! Standard output is quoted by `|`, standard error by `!`. Values that differ from run to run (ids, times, digests,
//! numbers that depend on the length of a path) are replaced. A recording shows the wording; other tests check
//! the figures.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo nextest run -p foreword recording` writes them anew; read them before they are committed.

use std::fmt::Write as _;
use std::path::Path;

use super::{Machine, Said};

pub(crate) struct Recording<'a> {
    machine: &'a Machine,
    text: String,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Self {
        Self { machine, text: String::new() }
    }

    /// Records an event between two commands.
    pub(crate) fn happens(&mut self, what: &str) {
        writeln!(self.text, "{}# {what}", if self.text.is_empty() { "" } else { "\n" }).unwrap();
    }

    /// Runs a command and records it.
    #[track_caller]
    pub(crate) fn run(&mut self, words: &str) -> Said {
        let said = self.machine.run(words);
        self.add(words, &said);
        said
    }

    /// Records a command that was run.
    pub(crate) fn add(&mut self, words: &str, said: &Said) {
        writeln!(self.text, "$ foreword {}", self.tidy(words)).unwrap();
        for (mark, text) in [('|', &said.out), ('!', &said.err)] {
            self.quote(mark, text);
        }
        if said.code != Some(0) {
            writeln!(self.text, "  exit code {}", said.code.map_or("none".into(), |code| code.to_string()))
                .unwrap();
        }
    }

    /// Records a text that a model sees.
    pub(crate) fn quote(&mut self, mark: char, text: &str) {
        for line in self.tidy(text).lines() {
            writeln!(self.text, "{}", format!("  {mark} {}", stable(line)).trim_end()).unwrap();
        }
    }

    fn tidy(&self, text: &str) -> String {
        self.machine.tidy(text)
    }

    /// Compares with what was recorded before.
    #[track_caller]
    pub(crate) fn check(self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.txt"));
        if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &self.text).unwrap();
        }
        let golden = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_TRANSCRIPTS=1 writes it", path.display()));
        let pairs = self.text.lines().zip(golden.lines()).enumerate();
        let first = pairs.into_iter().find(|(_, (now, before))| now != before);
        if let Some((index, (now, before))) = first {
            let line = index + 1;
            panic!(
                "{name}, line {line}\n  now:    {now}\n  before: {before}\nUPDATE_TRANSCRIPTS=1 writes it anew"
            );
        }
        assert_eq!(self.text, golden, "{name}: one is longer; UPDATE_TRANSCRIPTS=1 writes it anew");
    }
}

/// Words after a number that depends on the machine.
const COUNTED: &[&str] = &["tokens", "characters", "%", "ms"];
/// Words before a value that does.
const VALUES: &[&str] = &["sha256", "(mtime:", "digest"];

/// Words after a number of tokens that do not belong to it.
const SHARES: &[&str] = &["stable", "of", "cannot;", "before"];

/// Returns true if a word is a date, which differs in the next run.
fn is_date(word: &str) -> bool {
    let is_expected = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    word.len() == 10 && word.bytes().enumerate().all(is_expected)
}

/// A line without figures that differ from machine to machine. Bars, which show such figures, lose their length.
fn stable(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let next = |from: usize| words[from + 1..].iter().find(|word| !word.is_empty());
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|it| it.is_ascii_digit() || it == '.');
    let is_counted = |index: usize| {
        next(index).is_some_and(|next| COUNTED.contains(&next.trim_end_matches([',', ')', ';', ':'])))
    };
    let mut shown: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let number = word.trim_start_matches('(');
        let follows = index.checked_sub(1).is_some_and(|before| VALUES.contains(&words[before]));
        // A digest may end what is quoted as a command.
        let digits = word.trim_end_matches('`');
        let is_digest = digits.len() == 64 && digits.chars().all(|it| it.is_ascii_hexdigit());
        // The sizes of the parts of a prompt follow their sum.
        let is_share = line.contains("tokens")
            && SHARES.contains(&next(index).map_or("", |next| next.trim_end_matches(',')));
        let is_part = next(index) == Some(&"of")
            && words
                .iter()
                .enumerate()
                .skip(index + 2)
                .take(1)
                .any(|(at, word)| is_number(word) && is_counted(at));
        if is_digest {
            shown.push(word.replace(digits, "…"));
        } else if is_date(word) {
            shown.push("DATE".to_owned());
        } else if follows {
            let end = word.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(word.len());
            shown.push(format!("…{}", &word[end..]));
        } else if is_number(number) && (is_counted(index) || is_part || is_share) {
            shown.push(word.replace(number, "…"));
        } else {
            shown.push((*word).to_owned());
        }
    }
    let line = shown.join(" ");
    match line.split_once('█') {
        // Right-aligned text moves with its figures.
        None if line.contains("  … ") => {
            let (before, rest) = line.split_once("  … ").unwrap_or_default();
            format!("{}  … {rest}", before.trim_end())
        }
        None => line,
        Some((before, rest)) => {
            let rest: Vec<&str> = rest.trim_start_matches(['█', ' ', '▌', '▏']).split_whitespace().collect();
            format!("{before}█ {}", rest.join(" "))
        }
    }
}
