//! Finds words of a command that could be paths.

use std::path::PathBuf;

/// Most words examined; each costs a file system call later.
const MAX_WORDS: usize = 200;
/// Separators, quotes included. A path that contains one of them is found in pieces or not at all.
const BETWEEN: &[char] =
    &['\'', '"', '`', ';', '&', '|', '(', ')', '{', '}', '<', '>', '=', ',', ':', '$', '*', '?', '[', ']'];

/// Returns the words that could be paths, each once, in their order. The paths that a command will access cannot be known,
/// because it is a program, but the paths that it names can.
pub(super) fn paths(command: &str) -> Vec<PathBuf> {
    let words = command.split(|letter: char| letter.is_whitespace() || BETWEEN.contains(&letter));
    let mut paths: Vec<PathBuf> = Vec::new();
    // Not parsed as a shell would: quotes and variables make that unreliable, and a word too many only costs one
    // lookup.
    for word in words.filter(|word| !word.is_empty() && !word.starts_with('-')) {
        let path = PathBuf::from(word);
        if !paths.contains(&path) {
            paths.push(path);
        }
        if paths.len() == MAX_WORDS {
            break;
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_quotes_and_operators_are_no_paths() {
        let command = "cd a/b && sed -i 's/x/y/' \"c/d.rs\";cat <e/f >>g; make DIR=h/i -C j *.rs | tee k.txt";
        let found = paths(command);
        for path in ["a/b", "c/d.rs", "e/f", "g", "h/i", "j", "k.txt"] {
            assert!(found.contains(&PathBuf::from(path)), "{path} in {found:?}");
        }
        assert!(!found.iter().any(|path| path.to_string_lossy().contains(['-', '"', '&', '='])), "{found:?}");
        assert_eq!(paths(""), Vec::<PathBuf>::new());
        assert_eq!(paths(&"a b ".repeat(10_000)).len(), 2);
        let many: String = (0..10_000).map(|number| format!("w{number} ")).collect();
        assert_eq!(paths(&many).len(), MAX_WORDS);
    }
}
