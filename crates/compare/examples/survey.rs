//! Losses of each agent in a folder of checked-out repositories.
//!
//! ```text
//! cargo run -p foreword-compare --example survey -- FOLDER
//! ```
//!
//! Prints Markdown. A directory counts if it has an instruction file of its own; nothing above a repository counts, and
//! nothing of the user's.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what it prints is what it is for")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use compare::{Names, Tree, effective, grouped};
use instructions::{FileSettings, LinkBounds, PROFILES, Profile, ProjectBounds, Relation};

/// Losses of one agent in one repository.
#[derive(Default)]
struct Losses {
    /// Directories in which text is lost.
    losing: usize,
    /// The most that is lost in one of them.
    most: u64,
    /// Directories in which nothing is read.
    nothing: usize,
}

fn main() -> anyhow::Result<()> {
    let folder =
        std::env::args_os().nth(1).context("which folder? give one with checked-out repositories")?;
    let mut repositories: Vec<PathBuf> = fs::read_dir(&folder)
        .with_context(|| format!("could not list {}", Path::new(&folder).display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    repositories.sort();
    let agents: Vec<&'static Profile> =
        PROFILES.iter().copied().filter(|profile| profile.agent.version.is_some()).collect();
    print!("| repository | instruction files | directories with one |");
    agents.iter().for_each(|profile| print!(" {} |", profile.agent.title));
    println!("\n| --- | ---: | ---: |{}", " --- |".repeat(agents.len()));
    let mut repeating = Repeating::default();
    for repository in &repositories {
        let repository = fs::canonicalize(repository)?;
        match row(&repository, &agents, &mut repeating) {
            Ok(row) => println!("{row}"),
            Err(error) => eprintln!("{}: {error:#}", repository.display()),
        }
    }
    println!("\n{repeating}");
    Ok(())
}

fn row(repository: &Path, agents: &[&'static Profile], repeating: &mut Repeating) -> anyhow::Result<String> {
    let tree = Tree::walk(repository, &Names::new([]))?;
    let files: Vec<PathBuf> = tree.instruction_files().collect();
    let counted: Vec<usize> = (0..tree.directories().len())
        .filter(|index| {
            let directory = &tree.directories()[*index];
            let below = directory.path.strip_prefix(repository).unwrap_or(&directory.path);
            // Folders of rules, such as `.claude`, contain instruction files, but no agent is started in them.
            let is_hidden =
                below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
            !directory.instructions.is_empty() && !is_hidden
        })
        .collect();
    let name = repository.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut row = format!("| {name} | {} | {} |", files.len(), counted.len());
    for profile in agents {
        let bounds = ProjectBounds::Workspace(repository.to_owned());
        let settings = FileSettings { bounds, links: LinkBounds::OfAgent, ..FileSettings::of(profile) };
        let effective = effective(&tree, &settings)?;
        let mut losses = Losses::default();
        for index in &counted {
            let Some(set) = effective.of_directories[*index].map(|set| &effective.sets[set]) else {
                continue;
            };
            let lost = set.lost_bytes();
            losses.losing += usize::from(lost > 0);
            losses.most = losses.most.max(lost);
            losses.nothing += usize::from(set.resolution.files.is_empty());
        }
        row.push_str(&format!(" {} |", losses.describe(counted.len())));
    }
    repeating.count(&files);
    Ok(row)
}

impl Losses {
    fn describe(&self, of: usize) -> String {
        let mut parts = Vec::new();
        if self.losing > 0 {
            parts.push(format!("loses text in {} of {of}, up to {} bytes", self.losing, grouped(self.most)));
        }
        if self.nothing > 0 {
            parts.push(format!("reads nothing in {} of {of}", self.nothing));
        }
        parts.join("; ")
    }
}

/// Number of files that only repeat an AGENTS.md beside them.
#[derive(Default)]
struct Repeating {
    files: usize,
    links: usize,
    copies: usize,
    imports: usize,
}

impl Repeating {
    fn count(&mut self, files: &[PathBuf]) {
        for file in files.iter().filter(|file| file.file_name().is_some_and(|name| name != "AGENTS.md")) {
            let agents = file.with_file_name("AGENTS.md");
            if !agents.is_file() {
                continue;
            }
            self.files += 1;
            match Relation::find(file, &[&agents], &FileSettings::default()) {
                Some(Relation::Link(_) | Relation::SameFile(_)) => self.links += 1,
                Some(Relation::Repeats(_)) => self.copies += 1,
                Some(Relation::OnlyImports(_)) => self.imports += 1,
                None => {}
            }
        }
    }
}

impl std::fmt::Display for Repeating {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { files, links, copies, imports } = self;
        write!(
            formatter,
            "Of {files} other files beside an AGENTS.md, {links} link to it, {imports} only import it and {copies} equal it."
        )
    }
}
