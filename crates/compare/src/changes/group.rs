//! Groups directories by their change.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use tokens::{Encoding, count};

use super::side::{ReadText, Side};
use super::{Change, MAX_DIRECTORIES, NewlyLost};

/// Returns the changes between two states of the same directories. Adds the directories with changes to `changed`.
pub(super) fn group(before: &Side, after: &Side, changed: &mut HashSet<usize>) -> Vec<Change> {
    let nothing = ReadText { files: Vec::new(), lost: Vec::new(), bytes: 0, tokens: 0, lost_bytes: 0 };
    let text = |side: &'_ Side, index: Option<usize>| index.map(|index| side.texts[index].clone());
    // Directories share texts, so the pairs of texts are few.
    let mut pairs: BTreeMap<(Option<usize>, Option<usize>), Vec<usize>> = BTreeMap::new();
    for (index, pair) in before.of_directories.iter().zip(&after.of_directories).enumerate() {
        pairs.entry((*pair.0, *pair.1)).or_default().push(index);
    }
    let mut groups: HashMap<(ReadText, ReadText), Vec<usize>> = HashMap::new();
    for ((one, other), directories) in pairs {
        let one = text(before, one).unwrap_or_else(|| nothing.clone());
        let other = text(after, other).unwrap_or_else(|| nothing.clone());
        if !one.reads_the_same(&other) {
            changed.extend(&directories);
            groups.entry((one, other)).or_default().extend(directories);
        }
    }
    let mut changes: Vec<Change> = groups
        .into_iter()
        .map(|((one, other), directories)| {
            let mut paths: Vec<&str> =
                directories.iter().map(|index| before.directories[*index].as_str()).collect();
            paths.sort_unstable_by_key(|path| (depth(path), *path));
            let shown = paths.iter().take(MAX_DIRECTORIES).map(|path| (*path).to_owned()).collect();
            change(&one, &other, shown, paths.len())
        })
        .collect();
    changes.sort_by_cached_key(|change| (importance(change), change.directories.clone()));
    changes
}

/// Returns the number of components of a path; 0 for the top.
pub(super) fn depth(path: &str) -> usize {
    if path == "." { 0 } else { path.split('/').count() }
}

/// Orders changes: newly lost text first, then removed files, then added ones, each with the largest first.
pub(super) fn importance(change: &Change) -> impl Ord + use<> {
    let lost: u64 = change.newly_lost.iter().map(|lost| lost.bytes).sum();
    let tokens = change.after.tokens.abs_diff(change.before.tokens);
    (
        Reverse(lost),
        change.removed.is_empty(),
        change.added.is_empty(),
        Reverse(tokens),
        Reverse(change.count),
    )
}

fn change(before: &ReadText, after: &ReadText, directories: Vec<String>, count: usize) -> Change {
    let (old, new) = (before.summary(), after.summary());
    let only = |of: &[String], others: &[String]| -> Vec<String> {
        of.iter().filter(|path| !others.contains(path)).cloned().collect()
    };
    let find = |side: &ReadText, path: &String| {
        let file = side.files.iter().find(|file| file.path.as_ref() == Some(path));
        file.map(|file| (file.content.clone(), file.own_text.clone()))
    };
    let is_edited = |path: &&String| match (find(before, path), find(after, path)) {
        // A text that only its limit changes is not edited, and neither is one whose changes the agent removes.
        (Some(one), Some(other)) => one.0 != other.0 && one.1 != other.1,
        _ => false,
    };
    let lost_before: HashMap<&str, u64> =
        before.lost.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    let newly_lost = after.lost.iter().filter_map(|(path, bytes)| {
        let bytes = bytes.saturating_sub(lost_before.get(path.as_str()).copied().unwrap_or(0));
        (bytes > 0).then(|| NewlyLost { path: path.clone(), bytes })
    });
    Change {
        directories,
        count,
        added: only(&new.files, &old.files),
        removed: only(&old.files, &new.files),
        edited: new.files.iter().filter(is_edited).cloned().collect(),
        newly_lost: newly_lost.collect(),
        first_changed_token: first_changed_token(before, after),
        before: old,
        after: new,
    }
}

/// Returns the number of tokens before the first difference between two texts.
fn first_changed_token(before: &ReadText, after: &ReadText) -> Option<u64> {
    let mut tokens = 0;
    let mut pairs = before.files.iter().zip(&after.files);
    for (one, other) in &mut pairs {
        if one.text != other.text {
            let common = common_prefix(&one.text, &other.text);
            return Some(tokens + count(Encoding::Cl100k, common) as u64);
        }
        tokens += one.tokens;
    }
    let rest = |side: &ReadText| {
        side.files.iter().skip(before.files.len().min(after.files.len())).any(|file| !file.text.is_empty())
    };
    (rest(before) || rest(after)).then_some(tokens)
}

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    &one[..same.map(|(letter, _)| letter.len_utf8()).sum()]
}
