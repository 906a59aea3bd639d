//! Maps of all agents as one self-contained HTML page.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use crate::map::Map;
use crate::tree::Tree;

const PAGE: &str = include_str!("page.html");
/// Placeholder for the data in the page.
const DATA: &str = "__DATA__";

/// Data of the page. Each path is listed once; everything else refers to it by index.
// A map of a large repository repeats the same few hundred paths in thousands of directories. With indexes
// the page stays small enough to be attached to an issue.
#[derive(Serialize)]
struct Data<'a> {
    chosen: &'a str,
    /// Name, index of the parent, number of direct files.
    directories: Vec<(String, Option<usize>, u64)>,
    /// Relative to the first directory; of other files only the end.
    paths: Vec<String>,
    agents: Vec<AgentData<'a>>,
}

#[derive(Serialize)]
struct AgentData<'a> {
    name: &'a str,
    title: &'a str,
    sets: Vec<SetData>,
    /// Index of each directory's set.
    of: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct SetData {
    /// Path, kept bytes, size.
    files: Vec<(usize, u64, u64)>,
    /// Path, lost bytes.
    lost: Vec<(usize, u64)>,
    conflicts: Vec<String>,
    tokens: u64,
    lost_bytes: u64,
}

/// Creates the page. `chosen` is the agent that is shown first.
pub fn page(tree: &Tree, maps: &[Map], chosen: &str) -> Result<String, serde_json::Error> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut paths = Vec::new();
    let directories = tree.directories().iter().map(|directory| {
        let name = match (directory.parent, directory.path.file_name()) {
            (Some(_), Some(name)) => name.to_string_lossy(),
            // The reader's directories are nobody's business on a page that is passed on.
            _ => directory.path.file_name().unwrap_or(directory.path.as_os_str()).to_string_lossy(),
        };
        (name.into_owned(), directory.parent, directory.files)
    });
    let directories: Vec<_> = directories.collect();
    let known: HashMap<String, usize> = tree
        .directories()
        .iter()
        .enumerate()
        .map(|(index, directory)| (directory.path.to_string_lossy().into_owned(), index))
        .collect();
    let mut agents = Vec::with_capacity(maps.len());
    for map in maps {
        let mut of = vec![None; directories.len()];
        for directory in &map.directories {
            if let Some(index) = known.get(&directory.path) {
                of[*index] = Some(directory.set);
            }
        }
        let mut sets = Vec::with_capacity(map.sets.len());
        for set in &map.sets {
            let mut files = Vec::with_capacity(set.files.len());
            for file in &set.files {
                files.push((place_of(&mut places, &mut paths, &file.path), file.kept_bytes, file.bytes));
            }
            let mut lost = Vec::with_capacity(set.lost.len());
            for file in &set.lost {
                lost.push((place_of(&mut places, &mut paths, &file.path), file.bytes));
            }
            let conflicts = set.conflicts.clone();
            let tokens = set.tokens;
            let lost_bytes = set.lost_bytes;
            sets.push(SetData { files, lost, conflicts, tokens, lost_bytes });
        }
        let title = instructions::Profile::find(map.agent).map_or(map.agent, |profile| profile.agent.title);
        agents.push(AgentData { name: map.agent, title, sets, of });
    }
    let top = tree.directories().first().map_or(Path::new(""), |directory| &*directory.path);
    let paths = paths.into_iter().map(|path| shown(Path::new(path), top)).collect();
    let data = Data { chosen, directories, paths, agents };
    Ok(PAGE.replacen(DATA, &embedded(&serde_json::to_string(&data)?), 1))
}

/// Returns a path without the directories of the person who made the page.
fn shown(path: &Path, top: &Path) -> String {
    if let Ok(below) = path.strip_prefix(top) {
        return below.to_string_lossy().into_owned();
    }
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let end = &parts[parts.len().saturating_sub(2)..];
    format!("…/{}", end.join("/"))
}

fn place_of<'a>(places: &mut HashMap<&'a str, usize>, paths: &mut Vec<&'a str>, path: &'a str) -> usize {
    *places.entry(path).or_insert_with(|| {
        paths.push(path);
        paths.len() - 1
    })
}

/// Escapes JSON, so that it cannot end its element or begin another one.
fn embedded(json: &str) -> String {
    // Within a script element, HTML ends the data at the first `</script`, whatever the JSON around it means. Escaped
    // as Unicode, the characters are still the same for the JSON parser.
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_data() {
        let json = serde_json::to_string("</script><script>alert(1)</script><!-- &amp;").unwrap();
        let embedded = embedded(&json);
        assert!(!embedded.contains(['<', '>', '&']), "{embedded}");
        assert_eq!(
            serde_json::from_str::<String>(&embedded).unwrap(),
            serde_json::from_str::<String>(&json).unwrap()
        );
    }

    #[test]
    fn the_page_is_self_contained() {
        assert_eq!(PAGE.matches(DATA).count(), 1);
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert!(!PAGE.contains("innerHTML"), "names are put in as text");
    }
}
