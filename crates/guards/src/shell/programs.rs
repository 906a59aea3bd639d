//! Programs that run other commands.

use super::words::Word;

/// What a command runs besides itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    Nothing,
    /// The command that begins with the word at this index.
    Words(usize),
    /// Lines of a shell.
    Lines(Vec<Word>),
    /// The lines of its standard input.
    Input,
    /// Commands that cannot be known.
    Unknown,
}

/// A program that runs the command in its arguments.
struct Wrapper {
    name: &'static str,
    /// Short options with a value, which may be attached.
    valued: &'static str,
    /// Long options with a value in the next word.
    long: &'static [&'static str],
    /// Number of own arguments before the command.
    own: usize,
    /// True if assignments may precede the command.
    assigns: bool,
}

const fn wrapper(name: &'static str, valued: &'static str, long: &'static [&'static str]) -> Wrapper {
    Wrapper { name, valued, long, own: 0, assigns: false }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper { assigns: true, ..wrapper("env", "uCS", &["--unset", "--chdir", "--split-string"]) },
    Wrapper {
        assigns: true,
        ..wrapper("sudo", "ugChprtTRD", &["--user", "--group", "--host", "--prompt", "--chdir", "--chroot"])
    },
    Wrapper { assigns: true, ..wrapper("doas", "uC", &[]) },
    wrapper("nice", "n", &["--adjustment"]),
    wrapper("time", "fo", &["--format", "--output"]),
    wrapper(
        "xargs",
        "adEIiLlnPs",
        &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-lines",
            "--max-procs",
            "--max-chars",
            "--replace",
        ],
    ),
    wrapper("command", "", &[]),
    wrapper("builtin", "", &[]),
    wrapper("exec", "a", &[]),
    wrapper("nohup", "", &[]),
    wrapper("setsid", "", &[]),
    wrapper("ionice", "cnpPu", &[]),
    wrapper("stdbuf", "ioe", &["--input", "--output", "--error"]),
    Wrapper { own: 1, ..wrapper("timeout", "ks", &["--kill-after", "--signal"]) },
    Wrapper { own: 1, ..wrapper("chroot", "", &[]) },
    wrapper("!", "", &[]),
];

const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "ash"];

/// Returns what a command runs besides itself.
pub(super) fn runs(words: &[Word]) -> Runs {
    let name = words[0].text.rsplit('/').next().unwrap_or_default();
    if SHELLS.contains(&name) {
        return of_shell(words);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return of_wrapper(wrapper, words);
    }
    match name {
        "eval" => Runs::Lines(vec![joined(&words[1..])]),
        "trap" => Runs::Lines(words.get(1).cloned().into_iter().collect()),
        "alias" => {
            let values = words[1..].iter().filter_map(|word| {
                let (_, value) = word.text.split_once('=')?;
                Some(Word { text: value.to_owned(), is_dynamic: word.is_dynamic })
            });
            Runs::Lines(values.collect())
        }
        "find" => {
            let is_action =
                |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            let Some(action) = words.iter().position(is_action) else { return Runs::Nothing };
            let is_end = |word: &&Word| !matches!(word.text.as_str(), ";" | "+");
            // Only quoting keeps the words apart, so they are joined to a line again.
            let command: Vec<Word> = words[action + 1..].iter().take_while(is_end).cloned().collect();
            if command.is_empty() { Runs::Nothing } else { Runs::Lines(vec![quoted(&command)]) }
        }
        _ => Runs::Nothing,
    }
}

fn of_shell(words: &[Word]) -> Runs {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if word.is_dynamic {
            return Runs::Unknown;
        }
        at += 1;
        match text.strip_prefix('-').or_else(|| text.strip_prefix('+')) {
            Some("-") => return if at < words.len() { Runs::Nothing } else { Runs::Input },
            Some("") => return Runs::Input,
            Some("-rcfile" | "-init-file") => at += 1,
            Some(long) if long.starts_with('-') => {}
            Some(letters) => {
                let has_value = letters.ends_with(['o', 'O']);
                at += usize::from(has_value);
                if letters.contains('c') {
                    return line_of_shell(&words[at.min(words.len())..]);
                }
                if letters.contains('s') {
                    return Runs::Input;
                }
            }
            // A script, which is not looked into.
            None => return Runs::Nothing,
        }
    }
    Runs::Input
}

/// Returns the line after `-c`. Other options may stand between.
fn line_of_shell(words: &[Word]) -> Runs {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-o" | "+o" | "-O" | "+O" => drop(words.next()),
            text if text.starts_with('-') && !word.is_dynamic => {}
            _ => return Runs::Lines(vec![word.clone()]),
        }
    }
    Runs::Nothing
}

fn of_wrapper(wrapper: &Wrapper, words: &[Word]) -> Runs {
    let mut at = 1;
    let mut own = wrapper.own;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if wrapper.name == "command" && matches!(text, "-v" | "-V") {
            return Runs::Nothing;
        }
        if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            if word.is_dynamic {
                return Runs::Unknown;
            }
            // `env -S` takes a whole line.
            if wrapper.name == "env" {
                let value = letters.strip_prefix('S').or_else(|| letters.strip_prefix("-split-string="));
                match value {
                    Some("") => return Runs::Lines(words.get(at + 1).cloned().into_iter().collect()),
                    Some(line) => {
                        return Runs::Lines(vec![Word { text: line.to_owned(), is_dynamic: false }]);
                    }
                    None if letters == "-split-string" => {
                        return Runs::Lines(words.get(at + 1).cloned().into_iter().collect());
                    }
                    None => {}
                }
            }
            at += 1;
            at += match letters.starts_with('-') {
                true => usize::from(wrapper.long.contains(&text)),
                false => {
                    // A value follows unless it is attached: `-n 5` and `-n5`. `-i` and `-l` of xargs take only attached
                    // ones.
                    let valued = letters.find(|letter| wrapper.valued.contains(letter));
                    let is_optional = wrapper.name == "xargs" && letters.ends_with(['i', 'l']);
                    usize::from(valued.is_some_and(|index| index + 1 == letters.len()) && !is_optional)
                }
            };
            continue;
        }
        if wrapper.assigns && is_assignment(text) {
            at += 1;
            continue;
        }
        if own == 0 {
            break;
        }
        own -= 1;
        at += 1;
    }
    if at < words.len() { Runs::Words(at) } else { Runs::Nothing }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn joined(words: &[Word]) -> Word {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Word { text: texts.join(" "), is_dynamic: words.iter().any(|word| word.is_dynamic) }
}

fn quoted(words: &[Word]) -> Word {
    let texts: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.text.replace('\'', "'\\''"))).collect();
    // `{}` stands for a found file and is no brace expansion.
    Word { text: texts.join(" "), is_dynamic: false }
}
