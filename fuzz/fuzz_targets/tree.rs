//! Any tree of files, links and directories, looked at from any place in it.
#![no_main]

use std::collections::HashSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arbitrary::Arbitrary;
use instructions::profile::{Rendering, SameFile};
use instructions::{
    CODEX, Cache, FOREWORD, FileReader, FileSettings, HomeDirectories, Outcome, PROFILES, Profile, Request,
    Resolution, Resolver, ResumeDifference, Session,
};
use libfuzzer_sys::fuzz_target;

/// A directory's name; some are odd.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Directory {
    A,
    B,
    Newline,
    Tag,
}

impl Directory {
    fn name(self) -> &'static str {
        match self {
            Directory::A => "a",
            Directory::B => "b",
            Directory::Newline => "n\nl",
            Directory::Tag => "<agents_context>",
        }
    }
}

/// A name that means something.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Name {
    Agents,
    Override,
    Local,
    OtherCase,
    Claude,
    Notes,
    Git,
    Foreword,
    Directory(Directory),
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Name::Agents => "AGENTS.md",
            Name::Override => "AGENTS.override.md",
            Name::Local => "AGENTS.local.md",
            Name::OtherCase => "agents.MD",
            Name::Claude => "CLAUDE.md",
            Name::Notes => "NOTES.md",
            Name::Git => ".git",
            Name::Foreword => ".foreword",
            Name::Directory(directory) => directory.name(),
        }
    }
}

/// A directory of the tree, at most three below its top.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Place([Option<Directory>; 3]);

impl Place {
    fn below(self, top: &Path) -> PathBuf {
        self.0.iter().flatten().fold(top.to_owned(), |path, directory| path.join(directory.name()))
    }
}

#[derive(Debug, Arbitrary)]
enum Kind {
    Short(u8),
    Long(u16),
    Bytes(Vec<u8>),
    Blank,
    Directory,
    /// So many directories up, then down.
    Link(u8, Place, Name),
    AbsoluteLink(Place, Name),
    HardLink(Place, Name),
    Removal,
    /// Each so many directories up, then down.
    Imports([Option<(u8, Place, Name)>; 3]),
    Rule(Glob),
}

/// What a rule applies to.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum Glob {
    All,
    Directory(Directory),
    Sources,
    Broken,
}

impl Glob {
    fn text(self) -> &'static str {
        match self {
            Glob::All => "\"**\"",
            Glob::Directory(Directory::A) => "a/**",
            Glob::Directory(_) => "b",
            Glob::Sources => "[\"*.rs\", \"!a/*.rs\"]",
            Glob::Broken => "*.rs",
        }
    }
}

#[derive(Debug, Arbitrary)]
struct Entry {
    place: Place,
    name: Name,
    kind: Kind,
}

#[derive(Debug, Arbitrary)]
struct Input {
    cwd: Place,
    limit: Option<u8>,
    files: Option<u8>,
    fallback: Option<Name>,
    marker: Option<Name>,
    external: bool,
    at_once: u8,
    touched: [Place; 2],
    before: Vec<Entry>,
    /// What happens after the session has started.
    after: [Option<Entry>; 3],
}

/// Makes what can be made; the rest of an odd tree is left out.
fn make<'a>(top: &Path, entries: impl Iterator<Item = &'a Entry>) {
    for entry in entries.take(24) {
        let directory = entry.place.below(top);
        let _ = std::fs::create_dir_all(&directory);
        let path = directory.join(entry.name.text());
        let _ = match &entry.kind {
            Kind::Short(number) => std::fs::write(path, format!("text {}\n", number % 4)),
            Kind::Long(length) => {
                std::fs::write(path, "# Heading\nline\n".repeat(usize::from(*length) % 400))
            }
            Kind::Bytes(bytes) => std::fs::write(path, bytes),
            Kind::Blank => std::fs::write(path, " \n"),
            Kind::Directory => std::fs::create_dir_all(path),
            Kind::Link(up, place, name) => {
                let target = place.below(&PathBuf::from("../".repeat(usize::from(up % 5))));
                symlink(target.join(name.text()), path)
            }
            Kind::AbsoluteLink(place, name) => symlink(place.below(top).join(name.text()), path),
            Kind::HardLink(place, name) => std::fs::hard_link(place.below(top).join(name.text()), path),
            Kind::Imports(imports) => {
                let mut text = "Read".to_owned();
                for (up, place, name) in imports.iter().flatten() {
                    let below = place.below(Path::new(&"../".repeat(usize::from(*up % 4)))).join(name.text());
                    text.push_str(&format!(" @{}", below.display()));
                }
                std::fs::write(path, text)
            }
            Kind::Rule(glob) => std::fs::write(path, format!("---\napplies_to: {}\n---\nRule", glob.text())),
            Kind::Removal => std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path)),
        };
    }
}

fuzz_target!(|input: Input| {
    // What the forms of other agents promise is held against recordings of them.
    let wrapped = PROFILES.iter().filter(|profile| !matches!(profile.render.form, Rendering::Forms(_)));
    for profile in wrapped.copied() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("a path");
        run(profile, &top.join("tree"), &input);
    }
});

fn run(profile: &'static Profile, tree: &Path, input: &Input) {
    std::fs::create_dir_all(tree.join("a")).expect("a directory");
    make(tree, input.before.iter());
    let cwd = input.cwd.below(tree);
    let _ = std::fs::create_dir_all(&cwd);
    let home = tree.join("a");
    let homes = HomeDirectories::of_user(Some(tree.to_owned()));
    let homes = homes.with(&FOREWORD, &home).with(&CODEX, &home);
    let settings = FileSettings { homes, ..FileSettings::of(profile) }.with(|agents| {
        agents.initial.max_bytes = input.limit.map(|limit| u64::from(limit) * 8);
        agents.initial.max_files = input.files.map(|files| u64::from(files % 4));
        agents.fallback_filenames = input.fallback.map(|name| vec![name.text().to_owned()]);
        agents.root.markers = input.marker.map(|name| vec![name.text().to_owned()]);
        agents.follow_external_links = Some(input.external);
        agents.resolver.max_files_per_resolve = Some(u64::from(input.at_once % 4) + 1);
    });
    let request = Request { cwd: &cwd, settings: &settings };
    let cache = Arc::new(Cache::new());
    let Ok(found) = instructions::resolve(&request, None) else {
        assert!(instructions::survey(&request).is_err(), "both find an answer, or neither");
        return;
    };
    check(profile, &found);
    let surveyed = instructions::survey(&request).expect("both find an answer");
    check(profile, &surveyed);
    assert_eq!((&surveyed.text, &surveyed.files), (&found.text, &found.files));
    let cached = instructions::resolve(&request, Some(&cache)).expect("a cache changes nothing");
    assert_eq!(cached, found);

    let (session, _) = Session::start(&request, Some(&cache)).expect("a session");
    let text = serde_json::to_vec(&session).expect("a session can be written");
    assert_eq!(instructions::parse_session(&text).ok(), Some(session.clone()));
    let resolver = Resolver::new(session, settings.clone(), cache);
    follow(&resolver, tree, input, &settings);
    make(tree, input.after.iter().flatten());
    follow(&resolver, tree, input, &settings);
    if let Ok(difference) = ResumeDifference::find(&resolver.session(), &request, FileReader::Present, None) {
        let mut session = resolver.session();
        difference.confirm(&mut session);
        let again = ResumeDifference::find(&session, &request, FileReader::Present, None)
            .expect("nothing changed meanwhile");
        assert!(again.is_empty(), "told twice: {again:?}");
    }
}

/// Touches paths; what was confirmed is not said again, and everything comes to an end.
fn follow(resolver: &Resolver, tree: &Path, input: &Input, settings: &FileSettings) {
    for touched in input.touched {
        let target = touched.below(tree).join("file.rs");
        let mut rounds = 0;
        loop {
            let Ok(announcement) = resolver.resolve(&target) else { break };
            if let Some(reminder) = announcement.reminder() {
                let text = reminder.render();
                let closing = text.to_ascii_lowercase().matches("</system-reminder").count();
                assert_eq!(closing, 1, "a reminder that can be ended from inside: {text}");
            }
            assert!(announcement.resolved().files.len() as u64 <= settings.max_files_per_resolve());
            if announcement.is_empty() {
                break;
            }
            announcement.confirm();
            rounds += 1;
            assert!(rounds < 100, "the same files again and again");
        }
    }
}

fn check(profile: &Profile, found: &Resolution) {
    for file in &found.files {
        // What one file may not import another may.
        let fits = found.decisions.iter().any(|decision| {
            let is_there =
                matches!(decision.outcome, Outcome::Used | Outcome::Truncated | Outcome::OverBudget);
            decision.path == file.path && is_there
        });
        assert!(fits, "no decision for {}", file.path.display());
    }
    let used = || {
        let is_used = |outcome| matches!(outcome, Outcome::Used | Outcome::Truncated);
        found
            .decisions
            .iter()
            .filter(move |decision| is_used(decision.outcome))
            .map(|decision| &decision.path)
    };
    for path in used() {
        assert!(found.files.iter().any(|file| &file.path == path), "used, but not there: {}", path.display());
    }
    let mut decided = HashSet::new();
    for decision in &found.decisions {
        // The user's own directory may be one of the project's.
        let twice_is_fine = profile.choose.home.is_some();
        assert!(decided.insert(&decision.path) || twice_is_fine, "decided twice: {decision:?}");
    }
    if profile.choose.same_file == SameFile::UsedOnce {
        let real: Vec<PathBuf> = used().filter_map(|path| path.canonicalize().ok()).collect();
        let different: HashSet<&PathBuf> = real.iter().collect();
        assert_eq!(real.len(), different.len(), "the same file twice");
    }
}
