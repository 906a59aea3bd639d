//! A property: the changes between two commits are the differences of two real checkouts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use chance::Chance;
use compare::{Changes, Names, ReadFiles, Revisions, changes, lost_in, settings_for};
use instructions::profile::ImportPlace;
use instructions::{FileSettings, HomeDirectories, PROFILES, Profile, Request};

use crate::support::git;

const DIRECTORIES: &[&str] = &["", "a", "a/b", "a/b/c", "d", "d/e", "é ü", "d/new\nline"];
const NAMES: &[&str] = &[
    "AGENTS.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "GEMINI.md",
    "QWEN.md",
    "agents.md",
    ".claude/CLAUDE.md",
    ".claude/rules/style.md",
    ".github/copilot-instructions.md",
    ".github/instructions/x.instructions.md",
    ".gemini/settings.json",
    ".cursor/rules/a.mdc",
    "notes.md",
    "main.rs",
];
const TEXTS: &[&str] = &[
    "",
    "\n",
    "Answer briefly.\n",
    "Use tabs.\nUse spaces.\n",
    "@AGENTS.md\n",
    "@notes.md and @../AGENTS.md\n",
    "See @a/b/AGENTS.md, @./notes.md.\n",
    "---\napplies_to: \"**/*.rs\"\n---\nRust.\n",
    "---\npaths: [\"src/**\"]\n---\nWhere it matches.\n",
    "{\"context\": {\"fileName\": [\"notes.md\", \"AGENTS.md\"]}}\n",
    "<!-- a comment -->\nVisible.\n",
];
const LINKS: &[&str] = &[
    "AGENTS.md",
    "../AGENTS.md",
    "notes.md",
    "nowhere",
    "CLAUDE.md",
    "a",
    "../../../outside",
    "/etc/hostname",
    ".",
];

/// What an agent reads in each directory of a checkout.
type Readings = BTreeMap<String, (ReadFiles, Vec<(Option<String>, String)>, Vec<(String, u64)>)>;

#[test]
fn changes_are_the_differences_of_two_checkouts() {
    for seed in 0..12 {
        check(seed);
    }
}

fn check(seed: u64) {
    let mut chance = Chance::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap().join("repository");
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "--quiet"]);
    let mut commits = Vec::new();
    for edits in [12, 5] {
        for _ in 0..edits {
            edit(&mut chance, &top);
        }
        git(&top, &["add", "--all", "--force"]);
        git(&top, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
        // Git knows no empty directories, so none may be left in the work tree.
        git(&top, &["clean", "-fdxq"]);
        commits.push(git(&top, &["rev-parse", "HEAD"]).trim().to_owned());
    }
    let settings =
        FileSettings { homes: HomeDirectories::of_user(Some("/nowhere".into())), ..FileSettings::default() };
    // Every directory of either commit exists in both checkouts, as the comparison assumes.
    let mut directories = BTreeSet::from([top.clone()]);
    for commit in &commits {
        git(&top, &["checkout", "--quiet", commit]);
        collect(&top, &mut directories);
    }
    let agents: Vec<&'static Profile> = PROFILES.to_vec();
    let names = Names::new([]);
    let find = |named: &str| {
        let revisions = Revisions::find(&top, Some(named)).unwrap();
        changes(&revisions, &agents, &settings, &names).unwrap()
    };
    let found = find(&format!("{}..{}", commits[0], commits[1]));
    let mut of_work_tree = find(&commits[0]);
    of_work_tree.head.clone_from(&found.head);
    assert_eq!(found, of_work_tree, "seed {seed}: the work tree is the second commit");

    for agent in &agents {
        let settings = settings_for(agent, &settings);
        let mut sides = Vec::new();
        for commit in &commits {
            git(&top, &["checkout", "--quiet", commit]);
            for directory in &directories {
                let _ = fs::create_dir_all(directory);
            }
            sides.push(read_everywhere(&top, &directories, &settings));
            remove_empty(&directories);
        }
        compare(seed, agent, &found, &sides[0], &sides[1]);
    }
}

fn edit(chance: &mut Chance, top: &Path) {
    let directory = top.join(chance.pick(DIRECTORIES));
    let path = directory.join(chance.pick(NAMES));
    let _ = fs::remove_file(&path);
    match chance.below(12) {
        0..3 => {}
        3 => {
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = std::os::unix::fs::symlink(chance.pick(LINKS), &path);
        }
        4 => {
            let size = chance.below(60_000);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(&path, "Line of a long file.\n".repeat(size / 21));
        }
        5 => {
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(&path, b"Not \xff\xfe text.\n");
        }
        6 => {
            let from = directory.join("AGENTS.md");
            let _ = fs::rename(from, directory.join("CLAUDE.md"));
        }
        7 => {
            let _ = fs::create_dir_all(&directory);
            let _ = std::os::unix::fs::symlink(top.join(chance.pick(NAMES)), directory.join("link.md"));
        }
        _ => {
            let text: String = (0..=chance.below(2)).map(|_| *chance.pick(TEXTS)).collect();
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(&path, text);
        }
    }
}

fn collect(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() && entry.file_name() != ".git" {
            found.insert(entry.path());
            collect(&entry.path(), found);
        }
    }
}

fn remove_empty(directories: &BTreeSet<PathBuf>) {
    for directory in directories.iter().rev() {
        let _ = fs::remove_dir(directory);
    }
}

fn read_everywhere(top: &Path, directories: &BTreeSet<PathBuf>, settings: &FileSettings) -> Readings {
    let below = |path: &Path| path.strip_prefix(top).ok().map(|path| path.to_string_lossy().into_owned());
    let mut readings = Readings::new();
    for cwd in directories {
        let Ok(resolution) = instructions::resolve(&Request { cwd, settings }, None) else { continue };
        let in_place =
            settings.profile.imports.map(|imports| matches!(imports.place, ImportPlace::InPlace(_)));
        let mut read = ReadFiles::default();
        let mut texts = Vec::new();
        for file in &resolution.files {
            if let Some(path) = below(&file.path).filter(|path| !read.files.contains(path)) {
                read.files.push(path);
            }
            read.bytes += file.kept_bytes;
            if file.imported_by.is_none() || in_place != Some(true) {
                read.tokens += tokens::count(tokens::Encoding::Cl100k, &file.text) as u64;
            }
            texts.push((below(&file.path), file.text.clone()));
        }
        let lost = lost_in(&resolution, settings);
        read.lost_bytes = lost.iter().map(|file| file.bytes).sum();
        let lost = lost.iter().filter(|file| file.bytes > 0);
        let lost = lost.filter_map(|file| Some((below(&file.path)?, file.bytes))).collect();
        let name = below(cwd).filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned());
        readings.insert(name, (read, texts, lost));
    }
    readings
}

fn compare(seed: u64, agent: &Profile, found: &Changes, before: &Readings, after: &Readings) {
    let of_agent = found.agents.iter().find(|changes| changes.agent == agent.name).unwrap();
    let mut changed: BTreeMap<&str, (&ReadFiles, &ReadFiles)> = BTreeMap::new();
    for change in &of_agent.changes {
        for directory in &change.directories {
            assert!(changed.insert(directory, (&change.before, &change.after)).is_none(), "seed {seed}");
        }
    }
    for (directory, one) in before {
        // An agent that does not start in one of the checkouts reads nothing there.
        let Some(other) = after.get(directory) else { continue };
        let context = format!("seed {seed}, {} in {directory:?}", agent.name);
        match changed.get(directory.as_str()) {
            Some((before, after)) => assert_eq!((*before, *after), (&one.0, &other.0), "{context}"),
            None => assert_eq!((&one.1, &one.2), (&other.1, &other.2), "{context}"),
        }
    }
}
