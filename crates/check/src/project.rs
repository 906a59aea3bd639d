//! Model of a tree for the rules: files on disk, chains of each agent, and texts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use compare::{Names, Tree};
use instructions::file::{Found, read_whole};
use instructions::profile::{RuleFolder, RuleFolderPlace};
use instructions::{AgentsConfig, Profile};

use crate::CheckError;
use crate::chains::{self, Chain, Reading};
use crate::document::{self, Document, Loss};
use crate::ignored::Ignored;
use crate::others::{AMBIGUOUS, OTHERS};
use crate::policy::CheckPolicy;
use crate::shadowed;

/// An entry with an instruction file's name.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// Directory that it belongs to.
    pub(crate) directory: PathBuf,
    pub(crate) kind: Kind,
    /// Match with the names of the checked agents; `None` if none of them knows the name.
    pub(crate) known: Option<Known>,
}

/// Kind of match between an entry and known names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    /// An exact name.
    Name(&'static str),
    /// A name in another letter case.
    Variant(&'static str),
    /// A fallback name from settings.
    Fallback,
    /// A file in a folder of rules.
    Rule(&'static RuleFolder),
}

/// Type of an entry on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    /// A link to a file, inside or outside the project.
    LinkToFile {
        outside: bool,
    },
    LinkToNothing,
    /// A link that leads back to itself.
    Circle,
    /// Another type, by its word.
    Other(&'static str),
}

/// A tree and everything known about it.
pub(crate) struct Project {
    /// Root of the project, or the checked tree if there is none.
    pub(crate) root: PathBuf,
    /// The checked tree.
    pub(crate) directory: PathBuf,
    /// All directories of the checked tree.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) agents: Vec<&'static Profile>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) documents: Vec<Document>,
    /// Indexes of the documents by path.
    places: HashMap<PathBuf, usize>,
    /// Unreadable files, with the reason.
    pub(crate) unreadable: BTreeMap<PathBuf, String>,
    /// Parts of the tree that could not be walked.
    pub(crate) problems: Vec<String>,
    pub(crate) ignored: Ignored,
    /// Directories of submodules, which may be empty.
    submodules: Vec<PathBuf>,
    /// True if version control checked out only a part of the tree.
    pub(crate) is_sparse: bool,
}

impl Project {
    pub(crate) fn read(
        directory: &Path,
        root: &Path,
        config: &AgentsConfig,
        policy: &CheckPolicy,
    ) -> Result<Self, CheckError> {
        // Names from settings are collected before the walk, because the walk records only entries whose names it
        // knows.
        let mut fallbacks = config.fallback_filenames.clone().unwrap_or_default();
        for agent in policy.agents() {
            let settings = chains::settings(agent, root, config);
            let request = instructions::Request { cwd: root, settings: &settings };
            fallbacks.extend(instructions::configured_names(&request));
        }
        let names = Names::new(OTHERS.iter().map(|(name, _)| *name))
            .with_fallbacks(fallbacks.iter().map(String::as_str));
        let tree = Tree::walk(directory, &names)?;
        let mut project = Self {
            root: root.to_owned(),
            directory: directory.to_owned(),
            directories: tree.directories().iter().map(|directory| directory.path.clone()).collect(),
            agents: policy.agents().to_vec(),
            entries: Vec::new(),
            chains: Vec::new(),
            documents: Vec::new(),
            places: HashMap::new(),
            unreadable: BTreeMap::new(),
            problems: tree.problems().to_vec(),
            ignored: Ignored::default(),
            submodules: submodules(root),
            is_sparse: root.join(".git/info/sparse-checkout").exists(),
        };
        // Targets of links are compared in canonical form. The root may itself be reached through a link, as the
        // temporary directory on macOS is.
        let canonical = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        for path in tree.instruction_files().filter(|path| !policy.ignores(path)) {
            // The files of a skill are read when it is used. No agent is started in its folder.
            if !is_in_skill(&path, root) {
                project.entries.extend(project.entry(path, &canonical, &fallbacks));
            }
        }
        // Only directories with instruction files are resolved, and the checked one. Every other directory reads what
        // its nearest such ancestor reads.
        let known = project.entries.iter().filter(|entry| entry.known.is_some());
        let directories: BTreeSet<PathBuf> =
            known.map(|entry| entry.directory.clone()).chain([directory.to_owned()]).collect();
        project.chains = chains::resolve(&directories, &project.agents, root, config);
        project.read_documents(policy);
        Ok(project)
    }

    /// Classifies an entry; `None` if its name means something else here.
    fn entry(&self, path: PathBuf, canonical_root: &Path, fallbacks: &[String]) -> Option<Entry> {
        let parent = path.parent()?;
        let known = self.known(&path, fallbacks);
        let directory = match known {
            Some(Known::Rule(folder)) => rule_base(&path, folder)?.to_owned(),
            Some(Known::Name(name) | Known::Variant(name)) => {
                path.ancestors().nth(Path::new(name).components().count())?.to_owned()
            }
            _ => parent.to_owned(),
        };
        // Pages about agents often have similar names in lower case.
        if let Some(Known::Variant(_)) = known
            && directory != self.root
            && path.file_name().is_some_and(|name| name.to_ascii_lowercase() == name)
        {
            return None;
        }
        let kind = kind(&path, canonical_root);
        Some(Entry { path, directory, kind, known })
    }

    fn known(&self, path: &Path, fallbacks: &[String]) -> Option<Known> {
        let names = || self.agents.iter().flat_map(|agent| agent.known_names());
        if let Some(name) = names().find(|name| path.ends_with(name)) {
            return Some(Known::Name(name));
        }
        // Exact names win over folders, folders over fallbacks, and another letter case is considered last: it is only
        // worth a finding if nothing else explains the file.
        let folders = self.agents.iter().flat_map(|agent| agent.choose.rule_folders);
        let is_in = |folder: &&RuleFolder| {
            folder.place != RuleFolderPlace::Home
                && path.file_name().is_some_and(|name| {
                    folder.suffixes.iter().any(|suffix| name.to_string_lossy().ends_with(suffix))
                })
                && rule_base(path, folder).is_some()
        };
        if let Some(folder) = folders.into_iter().find(is_in) {
            return Some(Known::Rule(folder));
        }
        if fallbacks.iter().any(|fallback| path.ends_with(fallback)) {
            return Some(Known::Fallback);
        }
        let file_name = path.file_name()?.to_str()?;
        let is_variant = |name: &&str| {
            file_name.eq_ignore_ascii_case(name) && !AMBIGUOUS.contains(name) && !name.starts_with('.')
        };
        names().find(is_variant).map(Known::Variant)
    }

    /// Reads the known files and everything they import.
    fn read_documents(&mut self, policy: &CheckPolicy) {
        let mut wanted: BTreeMap<PathBuf, (PathBuf, Option<&'static RuleFolder>)> = BTreeMap::new();
        for entry in &self.entries {
            let is_file = matches!(entry.kind, Kind::File | Kind::LinkToFile { outside: false });
            if let (true, Some(known)) = (is_file, entry.known) {
                let folder = if let Known::Rule(folder) = known { Some(folder) } else { None };
                wanted.insert(entry.path.clone(), (entry.directory.clone(), folder));
            }
        }
        // Imported files have arbitrary names, so the walk does not find them. The chains name those that some agent
        // really reads.
        for file in self.chains.iter().flat_map(|chain| &chain.files) {
            if file.path.starts_with(&self.root)
                && !policy.ignores(&file.path)
                && !wanted.contains_key(&file.path)
            {
                let directory = file.path.parent().unwrap_or(&file.path).to_owned();
                wanted.insert(file.path.clone(), (directory, None));
            }
        }
        for (path, (directory, folder)) in wanted {
            match document::read(&self.root, &path) {
                Found::File { content, .. } => {
                    self.places.insert(path.clone(), self.documents.len());
                    let bytes = content.bytes.clone();
                    self.documents.push(Document::new(&path, &directory, bytes, folder));
                }
                Found::Unreadable { reason } => {
                    self.unreadable.insert(path, reason.to_string());
                }
                _ => {}
            }
        }
        self.note_readers();
        // A link counts as an alias only if its target is a document as well, so all of them must be known first.
        self.note_aliases();
    }

    /// Marks documents that are other names of one file, through a link or a linked directory. The file itself is
    /// checked, or the first name if it is not a document.
    fn note_aliases(&mut self) {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let real = |document: &Document| document.path.canonicalize().ok();
        let mut first: HashMap<PathBuf, usize> = HashMap::new();
        for (place, document) in self.documents.iter().enumerate() {
            let Some(target) = real(document) else { continue };
            let is_itself = target.strip_prefix(&root).ok() == document.path.strip_prefix(&self.root).ok();
            if is_itself || !first.contains_key(&target) {
                first.insert(target, place);
            }
        }
        for (place, document) in self.documents.iter_mut().enumerate() {
            let target = real(document);
            document.is_alias = target.as_ref().is_some_and(|target| first.get(target) != Some(&place));
            document.target = target.filter(|target| *target != document.path);
        }
    }

    /// Records the readers and losses of each document.
    fn note_readers(&mut self) {
        for chain in &self.chains {
            let agent = chain.agent;
            for (path, reading) in chain.readings() {
                let Some(place) = self.places.get(path) else { continue };
                let document = &mut self.documents[*place];
                if reading == Reading::NotImported {
                    add(&mut document.not_imported, agent);
                    continue;
                }
                add(&mut document.readers, agent);
                if reading != Reading::Later {
                    add(&mut document.at_start, agent);
                }
                // Without a known limit of the agent, it is Foreword that stops reading.
                if let Reading::Cut { kept } = reading
                    && agent.has_limit()
                {
                    let lost = (document.bytes.len() as u64).saturating_sub(kept);
                    let directory = chain.directory.clone();
                    let limit = chain.limit;
                    document.losses.push(Loss { agent, directory, kept, lost, limit });
                }
            }
        }
        for (place, shadow) in shadowed::find(self) {
            self.documents[place].shadows.push(shadow);
        }
        // Readers were added in the order of directories. Messages list agents in the order of the profiles, which does
        // not depend on the tree.
        let order = |agent: &&'static Profile| self.agents.iter().position(|known| known == agent);
        let named: HashSet<&Path> =
            self.entries.iter().filter(|entry| entry.known.is_some()).map(|entry| &*entry.path).collect();
        for document in &mut self.documents {
            document.readers.sort_by_key(order);
            document.at_start.sort_by_key(order);
            document.is_import = !named.contains(&*document.path);
        }
    }

    /// Returns true if the directory that contains a file or folder of this name is hidden.
    pub(crate) fn is_in_hidden(&self, path: &Path, name: &str) -> bool {
        let directory = path.ancestors().nth(Path::new(name).components().count()).unwrap_or(path);
        let below = directory.strip_prefix(&self.root).unwrap_or(directory);
        below.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
    }

    /// Returns true if a path is in a submodule.
    pub(crate) fn is_in_submodule(&self, path: &Path) -> bool {
        self.submodules.iter().any(|submodule| path.starts_with(submodule))
    }

    pub(crate) fn document(&self, path: &Path) -> Option<&Document> {
        self.places.get(path).map(|place| &self.documents[*place])
    }

    /// Returns a path for messages, relative to the root.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => "the root".to_owned(),
            Ok(below) => crate::finding::quoted(&below.to_string_lossy()),
            Err(_) => crate::finding::quoted(&path.to_string_lossy()),
        }
    }
}

/// Returns true if a file belongs to a folder with a SKILL.md.
fn is_in_skill(path: &Path, root: &Path) -> bool {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root) && *folder != root);
    folders.into_iter().any(|folder| folder.join("SKILL.md").is_file())
}

/// Most bytes of `.gitmodules` that are read.
const MAX_MODULES_BYTES: u64 = 1024 * 1024;

/// Returns the directories of the submodules listed in `.gitmodules`.
fn submodules(root: &Path) -> Vec<PathBuf> {
    let text = read_whole(&root.join(".gitmodules"), MAX_MODULES_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let settings = text.lines().filter_map(|line| line.trim().split_once('='));
    let paths = settings.filter(|(key, _)| key.trim() == "path");
    paths.map(|(_, path)| root.join(path.trim().trim_matches('"'))).collect()
}

fn add(agents: &mut Vec<&'static Profile>, agent: &'static Profile) {
    if !agents.contains(&agent) {
        agents.push(agent);
    }
}

/// Returns the directory that a folder of rules belongs to.
fn rule_base<'a>(path: &'a Path, folder: &RuleFolder) -> Option<&'a Path> {
    let folder_path = path.ancestors().skip(1).find(|above| above.ends_with(folder.directory))?;
    folder_path.ancestors().nth(Path::new(folder.directory).components().count())
}

fn kind(path: &Path, canonical_root: &Path) -> Kind {
    let word = |metadata: &std::fs::Metadata| {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        if kind.is_dir() {
            "directory"
        } else if kind.is_fifo() {
            "pipe"
        } else if kind.is_socket() {
            "socket"
        } else {
            "device"
        }
    };
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => Kind::File,
        Ok(metadata) if !metadata.is_symlink() => Kind::Other(word(&metadata)),
        // The entry has been removed since the walk. Reading it fails later and reports the reason.
        Err(_) => Kind::File,
        Ok(_) => match path.metadata() {
            Ok(target) if target.is_file() => {
                let outside = path.canonicalize().is_ok_and(|target| !target.starts_with(canonical_root));
                Kind::LinkToFile { outside }
            }
            Ok(target) => Kind::Other(word(&target)),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Kind::Circle
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Kind::LinkToNothing,
            // The target is inaccessible for this user but may be readable for others.
            Err(_) => Kind::LinkToFile { outside: true },
        },
    }
}
