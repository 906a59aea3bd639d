//! Paths as texts write them: recognition, placeholders and names that need not exist.

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
/// Parts of names of generated files, and of files that everyone has for themselves.
const MADE_NAMES: &[&str] = &[".generated.", ".gen.", ".pb.", "_pb2", ".local.", ".min.", ".d.ts", ".log"];
/// Hidden directories that a team shares. Others hold settings of one person or one machine.
const SHARED_HIDDEN: &[&str] = &[
    ".buildkite",
    ".changeset",
    ".ci",
    ".circleci",
    ".devcontainer",
    ".github",
    ".gitlab",
    ".husky",
    ".storybook",
];
/// Hidden directories of agents, in which a team shares some files.
const AGENTS_HIDDEN: &[&str] = &[".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".qwen"];
/// Parts of paths that are placeholders.
const PLACEHOLDERS: &[&str] = &[
    "path",
    "to",
    "your",
    "my",
    "some",
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
    "repo",
    "user",
    "owner",
    "org",
    "title",
    "slug",
    "topic",
    "entity",
    "url",
    "link",
];
/// Words that make a part a placeholder wherever they are in it, as in `foo-bar` and `my_module`.
const PLACEHOLDER_WORDS: &[&str] = &[
    "foo",
    "bar",
    "baz",
    "qux",
    "quux",
    "xxx",
    "yyy",
    "zzz",
    "your",
    "my",
    "some",
    "placeholder",
    "whatever",
];
/// Words that make a part a placeholder at its end, as in `skill-name`.
const PLACEHOLDER_ENDS: &[&str] = &["name", "slug", "here"];
/// Words that make a part a placeholder at its beginning, as in `new-page` and `example_test`.
const PLACEHOLDER_BEGINNINGS: &[&str] = &["new", "example", "sample", "another", "name"];
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
/// Longest path that is examined.
const MAX_BYTES: usize = 255;

/// Returns the path in a piece of code, or `None` if it is something else.
pub(super) fn in_code(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.split_once('#').map_or(text, |(path, _)| path);
    let text = strip_line(text).trim_end_matches(['.', ',', ';', ':']);
    let text = text.strip_prefix("./").unwrap_or(text);
    // Anything else, such as globs, templates and variables, makes it a pattern rather than one path.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if text.len() > MAX_BYTES
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
    if is_host || is_personal(&parts) || parts.iter().any(|part| is_placeholder(part)) {
        return None;
    }
    let is_file = extension(last).is_some_and(|extension| EXTENSIONS.contains(&extension));
    (is_file || is_directory && extension(last).is_none()).then(|| text.to_owned())
}

/// Returns the path of a link to a local file, or `None` if the link leads elsewhere.
pub(super) fn in_link(target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let target = strip_line(target);
    // Links from the root mean the root of a site as often as that of the repository.
    if target.is_empty() || target.len() > MAX_BYTES || target.starts_with(['/', '@', '~']) {
        return None;
    }
    if target.chars().any(|letter| ":<>{}[]()*$|\\`\"'…".contains(letter) || letter.is_control()) {
        return None;
    }
    let path = percent_decoded(target)?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.last()?;
    let is_relative = path.starts_with("./") || path.starts_with("../") || path.ends_with('/');
    // A lone word is a name that the text forgot to define, not a file.
    let is_path = is_relative || extension(last).is_some();
    let is_host =
        parts.len() > 1 && parts[0].contains('.') && !parts[0].starts_with('.') || last.starts_with("www.");
    let is_unknown = is_host || is_personal(&parts) || parts.iter().any(|part| is_placeholder(part));
    (is_path && !is_unknown && *last != ".." && *last != ".").then_some(path)
}

/// Decodes `%20` and the like; `None` if the result is not text.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let is_plain = !extension.is_empty() && extension.chars().all(|letter| letter.is_ascii_alphanumeric());
    (!stem.is_empty() && is_plain).then_some(extension)
}

/// Returns true if a path is one that each person or machine may have or not have.
fn is_personal(parts: &[&str]) -> bool {
    let last = parts.last().copied().unwrap_or_default();
    let hidden = parts.iter().find(|part| part.starts_with('.') && **part != ".." && **part != ".");
    let is_hidden = match hidden {
        None => false,
        Some(hidden) if SHARED_HIDDEN.contains(hidden) => false,
        // The settings of agents are often made by each user.
        Some(hidden) if AGENTS_HIDDEN.contains(hidden) => !last.ends_with(".md") && !last.ends_with(".mdc"),
        Some(hidden) => *hidden != last || parts.len() == 1,
    };
    is_hidden || last.starts_with(".env") || MADE_NAMES.iter().any(|name| last.contains(name))
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
    let words = words(stem);
    let has_word = words.iter().any(|word| PLACEHOLDER_WORDS.contains(&word.as_str()));
    let is_compound = words.len() > 1;
    let ends = words.last().is_some_and(|word| PLACEHOLDER_ENDS.contains(&word.as_str()));
    let begins = words.first().is_some_and(|word| PLACEHOLDER_BEGINNINGS.contains(&word.as_str()));
    PLACEHOLDERS.contains(&small.as_str())
        || ["YYYY", "XXX", "NNN", "0000", "X.Y"].iter().any(|letters| part.contains(letters))
        || has_word
        || is_compound && (ends || begins)
        || is_capital
            && !NAMES.contains(&stem)
            && !NAMES.iter().any(|name| stem.starts_with(&format!("{name}_")))
}

/// Splits a name at hyphens, underscores and capitals, in lower case.
fn words(stem: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in stem.chars() {
        let is_break = letter == '-' || letter == '_';
        if is_break || letter.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if let (false, Some(word)) = (is_break, words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns true if a path is in a directory with generated content.
pub(super) fn is_made(path: &str) -> bool {
    path.split('/').any(|part| MADE.contains(&part))
}

/// Returns the other files that a path can mean: TypeScript names its modules by the files compiled from them, and sites
/// link to pages without their extension.
pub(super) fn alternatives(path: &str) -> Vec<String> {
    const COMPILED: &[(&str, &[&str])] =
        &[(".js", &[".ts", ".tsx"]), (".jsx", &[".tsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"])];
    const PAGES: &[&str] = &[".md", ".mdx", ".rst", "/index.md", "/index.mdx", "/README.md"];
    let compiled = COMPILED.iter().filter_map(|(made, sources)| Some((path.strip_suffix(made)?, sources)));
    let sources =
        compiled.flat_map(|(stem, sources)| sources.iter().map(move |source| format!("{stem}{source}")));
    let name = path.trim_end_matches('/');
    let page = name.strip_suffix(".html").unwrap_or(name);
    let is_page = page.len() < path.len() || extension(name.rsplit('/').next().unwrap_or(name)).is_none();
    let pages = PAGES.iter().filter(|_| is_page).map(|ending| format!("{page}{ending}"));
    sources.chain(pages).collect()
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
            (".claude/skills/release/SKILL.md", ".claude/skills/release/SKILL.md"),
            ("../docs/README.md", "../docs/README.md"),
        ] {
            assert_eq!(in_code(text).as_deref(), Some(path), "{text}");
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
            "skill-name/SKILL.md",
            "src/MyComponent.tsx",
            "src/components/ComponentName.tsx",
            "src/foo_test.go",
            ".continue/settings.json",
            ".claude/settings.local.json",
            ".vscode/launch.json",
            "config/settings.local.json",
            "proto/user_pb2.py",
        ] {
            assert_eq!(in_code(text), None, "{text}");
        }
    }

    #[test]
    fn links_to_local_files_are_recognized() {
        for (target, path) in [
            ("docs/a%20b.md#x", "docs/a b.md"),
            ("gone.md", "gone.md"),
            ("./guide", "./guide"),
            ("../picture.png", "../picture.png"),
            ("packages/core/", "packages/core/"),
        ] {
            assert_eq!(in_link(target).as_deref(), Some(path), "{target}");
        }
        for target in [
            "https://a/b.md",
            "#x",
            "/abs.md",
            "mailto:a@b",
            "",
            "url",
            "example.com/x.html",
            "path/to/x.md",
            "{x}.md",
        ] {
            assert_eq!(in_link(target), None, "{target}");
        }
    }

    #[test]
    fn compiled_files_and_pages_have_sources() {
        assert_eq!(alternatives("./a/b.js"), ["./a/b.ts", "./a/b.tsx"]);
        assert!(alternatives("./guide").contains(&"./guide.mdx".to_owned()));
        assert!(alternatives("a.rs").is_empty());
    }
}
