//! Expected state of the disk. The checker must not rely on the components it checks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use chance::Chance;

/// Directories of the project. Each has a file to read and sometimes an AGENTS.md.
pub(crate) const DIRECTORIES: &[&str] = &["", "a", "a/b", "c", "c/d"];
/// Name and content of that file; the content is also the search pattern.
pub(crate) const TEXT_FILE: &str = "x.txt";
pub(crate) const TEXT: &str = "plain-words";
/// Larger than the inline limit if the model has a tool to read files, and small enough for the whole chain to fit.
const LONG_RULE_BYTES: usize = 4_600;

/// A version of an instruction file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// Unique number contained in its text.
    pub(crate) rule: u64,
    pub(crate) mtime_ms: i64,
}

/// Version at a path; `None` if there is no file.
pub(crate) type State = Option<Version>;

/// Instruction files by path, including the user's own.
pub(crate) type Files = BTreeMap<PathBuf, State>;

pub(crate) struct World {
    pub(crate) project: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) files: Files,
    /// File each rule belongs to, including outdated rules.
    pub(crate) owners: BTreeMap<u64, PathBuf>,
    /// Rule of each file by modification time.
    pub(crate) moments: BTreeMap<(PathBuf, i64), u64>,
    /// Number of changes.
    pub(crate) revision: u64,
    /// Text of every rule, so that an old version can be restored.
    texts: BTreeMap<u64, String>,
    /// Number in `USER.md`.
    pub(crate) persona: u64,
    next: u64,
}

impl World {
    pub(crate) fn new(project: PathBuf, home: PathBuf) -> anyhow::Result<Self> {
        let mut files = Files::new();
        std::fs::create_dir_all(project.join(".git"))?;
        for directory in DIRECTORIES {
            let directory = project.join(directory);
            std::fs::create_dir_all(&directory)?;
            std::fs::write(directory.join(TEXT_FILE), format!("{TEXT} in {}\n", directory.display()))?;
            files.insert(directory.join("AGENTS.md"), None);
        }
        files.insert(home.join("AGENTS.md"), None);
        let owners = BTreeMap::new();
        let texts = BTreeMap::new();
        let moments = BTreeMap::new();
        let revision = 0;
        let persona = 0;
        let next = 0;
        let mut world = Self { project, home, files, owners, moments, revision, texts, persona, next };
        let root = world.project.join("AGENTS.md");
        world.write_rule(&root, 0)?;
        world.write_persona()?;
        Ok(world)
    }

    /// Returns a number that is not used yet.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn own_file(&self) -> PathBuf {
        self.home.join("AGENTS.md")
    }

    /// Returns the instruction files of a directory and its ancestors in the project.
    pub(crate) fn chain(&self, directory: &Path) -> Vec<PathBuf> {
        let above = directory.ancestors().take_while(|it| it.starts_with(&self.project));
        let paths = above.map(|directory| directory.join("AGENTS.md"));
        paths.filter(|path| self.files.contains_key(path)).collect()
    }

    pub(crate) fn write_persona(&mut self) -> anyhow::Result<()> {
        self.persona = self.number();
        std::fs::write(self.home.join("USER.md"), format!("PERSONA-{}.\n", self.persona))?;
        Ok(())
    }

    /// Makes a random change to an instruction file and describes it.
    pub(crate) fn change_file(&mut self, random: &mut Chance) -> anyhow::Result<String> {
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        let path = random.pick(&paths).clone();
        self.revision += 1;
        let shown = path.display();
        let what = match (random.below(10), self.files[&path]) {
            (0..=1, Some(_)) => {
                std::fs::remove_file(&path)?;
                self.files.insert(path.clone(), None);
                format!("deleted {shown}")
            }
            // The same text with a new modification time. An agent that only looks at times would send it again.
            (2, Some(version)) => {
                let text = self.texts[&version.rule].clone();
                self.write(&path, version.rule, &text)?;
                format!("touched {shown}")
            }
            // An old version returns: its text is already in the thread, but not as the latest one.
            (3, _) if self.rules_of(&path).len() > 1 => {
                let rule = *random.pick(&self.rules_of(&path));
                let text = self.texts[&rule].clone();
                self.write(&path, rule, &text)?;
                format!("brought RULE-{rule} back to {shown}")
            }
            (4..=5, _) => {
                let rule = self.write_rule(&path, LONG_RULE_BYTES)?;
                format!("wrote a long RULE-{rule} to {shown}")
            }
            _ => {
                let rule = self.write_rule(&path, 0)?;
                format!("wrote RULE-{rule} to {shown}")
            }
        };
        Ok(what)
    }

    fn rules_of(&self, path: &Path) -> Vec<u64> {
        self.owners.iter().filter(|(_, owner)| *owner == path).map(|(rule, _)| *rule).collect()
    }

    fn write_rule(&mut self, path: &Path, min_bytes: usize) -> anyhow::Result<u64> {
        let rule = self.number();
        let line = "- Keep functions short and name things for what they mean.\n";
        let text = format!("RULE-{rule}.\n{}END-{rule}.\n", line.repeat(min_bytes / line.len()));
        self.owners.insert(rule, path.to_owned());
        self.texts.insert(rule, text.clone());
        self.write(path, rule, &text)?;
        Ok(rule)
    }

    fn write(&mut self, path: &Path, rule: u64, text: &str) -> anyhow::Result<()> {
        // Reminders identify a version by its modification time, so two versions must not share one.
        let mtime_ms = loop {
            std::fs::write(path, text)?;
            let modified = std::fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH)?;
            let mtime_ms = i64::try_from(modified.as_millis())?;
            if !self.moments.contains_key(&(path.to_owned(), mtime_ms)) {
                break mtime_ms;
            }
            std::thread::yield_now();
        };
        self.moments.insert((path.to_owned(), mtime_ms), rule);
        self.files.insert(path.to_owned(), Some(Version { rule, mtime_ms }));
        Ok(())
    }
}

/// Returns the numbers after a prefix in order: `RULE-12.` contains 12 after `RULE-`.
pub(crate) fn numbers(text: &str, prefix: &str) -> Vec<u64> {
    let found = text.split(prefix).skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        // The full stop shows that the number is complete: a truncated `RULE-12` must not count as `RULE-1`.
        let is_whole = rest[digits.len()..].starts_with('.');
        digits.parse().ok().filter(|_| is_whole)
    });
    found.collect()
}
