//! Paths in texts that do not exist.

use std::collections::HashSet;
use std::path::Path;

use instructions::PROFILES;
use instructions::path::normalise;

use crate::document::Document;
use crate::finding::{Finding, quoted};
use crate::others::OTHERS;
use crate::policy::CheckPolicy;
use crate::project::Project;
use crate::rule::RuleId;
use crate::search::Search;
use crate::shell::{denies, is_example};

/// Extensions of files that people write and agents look for.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "bat", "bazel", "c", "cc", "cfg", "cjs", "clj", "cmake", "conf", "cpp", "cs", "css",
    "csv", "cts", "dart", "elm", "erb", "erl", "ex", "exs", "fs", "go", "gradle", "graphql", "h", "hpp",
    "hs", "htm", "html", "ini", "ipynb", "java", "jl", "js", "json", "json5", "jsonc", "jsx", "kt", "kts",
    "less", "lua", "m", "md", "mdc", "mdx", "mjs", "ml", "mm", "mts", "nix", "php", "pl", "plist", "proto",
    "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql", "svelte",
    "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig", "zsh",
];
/// Directories with generated content.
const MADE: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".git",
    "tmp",
    "temp",
    "var",
    "etc",
    "usr",
    "opt",
    "home",
    ".venv",
    "venv",
    "env",
    "__pycache__",
    "coverage",
    ".next",
    ".cache",
    "logs",
    "bin",
    "obj",
    "generated",
    "gen",
    "vendor",
    "artifacts",
    "output",
    "outputs",
    ".tox",
    ".nox",
    "site-packages",
];
/// Parts of paths that are placeholders.
const PLACEHOLDERS: &[&str] = &[
    "path",
    "to",
    "foo",
    "bar",
    "baz",
    "your",
    "my",
    "some",
    "xxx",
    "file",
    "filename",
    "name",
    "example",
    "module",
    "component",
    "feature",
    "dir",
    "folder",
    "something",
    "whatever",
    "...",
    "…",
    "new",
    "package",
    "project",
    "other",
    "myapp",
    "app-name",
    "repo",
    "user",
    "owner",
    "org",
];
/// Names in capital letters that are not placeholders.
const NAMES: &[&str] = &[
    "README",
    "LICENSE",
    "CHANGELOG",
    "CONTRIBUTING",
    "AGENTS",
    "CLAUDE",
    "GEMINI",
    "SKILL",
    "ARCHITECTURE",
    "SECURITY",
    "TODO",
    "INSTALL",
    "DEVELOPMENT",
    "TESTING",
    "STYLE",
    "CODE_OF_CONDUCT",
    "SUPPORT",
    "RELEASE",
    "RELEASING",
    "DESIGN",
    "GOVERNANCE",
    "MAINTAINERS",
    "ROADMAP",
    "GUIDE",
    "BUILD",
    "WORKSPACE",
    "MODULE",
    "CONTEXT",
    "STATUS",
    "USAGE",
    "API",
];

pub(super) fn run(project: &Project, document: &Document, policy: &CheckPolicy, search: &mut Search) {
    if !policy.is_on(RuleId::MissingPath) || document.readers.is_empty() {
        return;
    }
    let markdown = &document.markdown;
    let spans = markdown.spans.iter().map(|span| (span.line, span.text.clone()));
    let links = markdown.links.iter().filter_map(|link| Some((link.line, link_path(&link.text)?)));
    let mut known = HashSet::new();
    for (line, text) in spans.chain(links) {
        let Some(path) = path_in(&text) else { continue };
        // A path is reported only once per file, at its first mention.
        if !known.insert(path.clone()) {
            continue;
        }
        let sentence = markdown.sentence(line, &text);
        if denies(&sentence) || is_example(&sentence) || is_example(markdown.heading(line)) {
            continue;
        }
        let path = path.as_str();
        if exists(project, document, path) || is_made(project, document, path) || is_instructions(path) {
            continue;
        }
        // If even the first part does not exist, the text may be about another tree.
        let begin = path.split('/').find(|part| *part != "..").unwrap_or(path);
        if path.ends_with('/') && !exists(project, document, begin) {
            continue;
        }
        let message = format!("{} does not exist", quoted(path));
        let finding = Finding::new(RuleId::MissingPath, &document.path, message).at_line(line);
        let ending = normalise(Path::new(path.trim_end_matches('/')), Path::new(""));
        // The text may mean a path further down, as in `components/button.tsx` for `web/src/components/button.tsx`. The
        // finding is reported only if no path in the tree ends like this.
        search.for_ending(ending, finding);
    }
}

/// Returns true if an agent looks for a path. Texts often list such paths without having them.
fn is_instructions(path: &str) -> bool {
    let names = PROFILES.iter().flat_map(|profile| profile.known_names());
    let folders =
        PROFILES.iter().flat_map(|profile| profile.choose.rule_folders).map(|folder| folder.directory);
    let others = OTHERS.iter().map(|(name, _)| *name);
    let path = Path::new(path);
    names.chain(folders).chain(others).any(|name| path.ends_with(name))
}

/// Returns the path in a piece of code, or `None` if it is something else.
fn path_in(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.split_once('#').map_or(text, |(path, _)| path);
    let text = strip_line(text).trim_end_matches(['.', ',', ';', ':']);
    let text = text.strip_prefix("./").unwrap_or(text);
    // Anything else, such as globs, templates and variables, makes it a pattern rather than one path.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if text.len() > 255
        || !text.chars().all(is_plain)
        || text.starts_with(['/', '-', '+'])
        || text.contains("//")
    {
        return None;
    }
    let is_directory = text.ends_with('/');
    let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
    // A single name is too ambiguous.
    if parts.len() < 2 {
        return None;
    }
    let first = parts.first()?;
    let last = parts.last()?;
    // `github.com/a/b.md` looks like a path, too. Names of hidden directories begin with their dot.
    let is_host = first.contains('.') && !first.starts_with('.');
    if is_host || parts.iter().any(|part| is_placeholder(part)) {
        return None;
    }
    let extension =
        last.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
    let is_file = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    (is_file || is_directory && extension.is_none()).then(|| text.to_owned())
}

/// Removes a line number that editors append to a path.
fn strip_line(text: &str) -> &str {
    let digits =
        |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
    let mut text = text;
    while let Some((path, line)) = text.rsplit_once(':')
        && digits(line)
    {
        text = path;
    }
    text
}

fn is_placeholder(part: &str) -> bool {
    let stem = part.split('.').find(|stem| !stem.is_empty()).unwrap_or(part);
    let small = stem.to_ascii_lowercase();
    let letters: Vec<char> = stem.chars().filter(|letter| letter.is_ascii_alphabetic()).collect();
    let is_capital = !letters.is_empty() && letters.iter().all(char::is_ascii_uppercase);
    let begins = ["your-", "your_", "my-", "my_", "example-", "foo", "some-", "some_", "new-", "new_"];
    PLACEHOLDERS.contains(&small.as_str())
        || ["YYYY", "XXX", "NNN"].iter().any(|letters| stem.contains(letters))
        || begins.iter().any(|begin| small.starts_with(begin))
        || is_capital
            && !NAMES.contains(&stem)
            && !NAMES.iter().any(|name| stem.starts_with(&format!("{name}_")))
}

/// Returns the target of a link to a local file.
fn link_path(target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let is_elsewhere = target.contains(':') || target.starts_with('/') || target.is_empty();
    (!is_elsewhere).then(|| target.replace("%20", " "))
}

/// Returns true if a path exists, relative to the file or to any directory up to the root.
fn exists(project: &Project, document: &Document, path: &str) -> bool {
    directories(project, document)
        .any(|directory| normalise(Path::new(path), directory).symlink_metadata().is_ok())
}

/// Returns the directory of a document and its ancestors up to the root.
pub(super) fn directories<'a>(
    project: &'a Project,
    document: &'a Document,
) -> impl Iterator<Item = &'a Path> {
    let start = document.path.parent().unwrap_or(&document.path);
    start.ancestors().take_while(|directory| directory.starts_with(&project.root))
}

/// Returns true if a path is generated or ignored by version control, so that it need not exist.
fn is_made(project: &Project, document: &Document, path: &str) -> bool {
    let is_ignored = |base: &Path| {
        let target = normalise(Path::new(path), base);
        project.ignored.contains(&project.root, &target, path.ends_with('/'))
    };
    path.split('/').any(|part| MADE.contains(&part)) || directories(project, document).any(is_ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_recognized() {
        for (text, path) in [
            ("src/main.rs", "src/main.rs"),
            ("./src/main.rs:12", "src/main.rs"),
            ("src/main.rs:12:3", "src/main.rs"),
            ("docs/a.md#part", "docs/a.md"),
            ("crates/core/", "crates/core/"),
            (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
            ("../docs/README.md", "../docs/README.md"),
        ] {
            assert_eq!(path_in(text).as_deref(), Some(path), "{text}");
        }
    }

    #[test]
    fn other_words_are_not_paths() {
        for text in [
            "and/or",
            "application/json",
            "main.rs",
            "src/*.rs",
            "src/{a,b}.rs",
            "path/to/file.rs",
            "/api/users.json",
            "github.com/a/b.md",
            "https://a/b.md",
            "docs/<name>.md",
            "docs/NAME.md",
            "docs/YYYY-MM-DD.md",
            "feature/x",
            "n/a",
            "@scope/pkg.js",
            "~/x/y.md",
            "your-app/main.py",
            "a b/c.md",
            "foo/bar.rs",
            "$HOME/x.sh",
            "1/2",
            "origin/main",
            "--a/b.md",
        ] {
            assert_eq!(path_in(text), None, "{text}");
        }
    }

    #[test]
    fn external_links_are_skipped() {
        assert_eq!(link_path("docs/a%20b.md#x").as_deref(), Some("docs/a b.md"));
        for target in ["https://a/b.md", "#x", "/abs.md", "mailto:a@b", ""] {
            assert_eq!(link_path(target), None, "{target}");
        }
    }
}
