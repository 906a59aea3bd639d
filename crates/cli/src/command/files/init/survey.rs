//! Reads the manifests and CI files at a repository's root. Nothing is guessed: a command is listed if a file names it, or if
//! the file is the manifest or settings file of the tool that runs it.

use std::path::Path;

use serde_json::Value as Json;
use toml::Table;

use super::finding::{Finding, Subject};
use super::workflow;

/// Size limit. Larger manifests are generated.
const MAX_BYTES: u64 = 1024 * 1024;

const WORKFLOWS: &str = ".github/workflows";

/// Findings, and files that could not be parsed.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) findings: Vec<Finding>,
    pub(super) problems: Vec<String>,
}

/// A manifest and its parser.
type Reader = fn(&Repository<'_>, &str, &str) -> Result<Vec<Finding>, String>;

const READERS: &[(&str, Reader)] = &[
    ("Cargo.toml", cargo),
    ("package.json", package_json),
    ("pyproject.toml", pyproject),
    ("go.mod", go_mod),
    ("Makefile", makefile),
];

/// Settings files of tools at the root, and the commands that read them.
const TOOL_FILES: &[(&str, &str)] = &[
    ("clippy.toml", "cargo clippy"),
    ("rustfmt.toml", "cargo fmt --check"),
    (".rustfmt.toml", "cargo fmt --check"),
    (".golangci.yml", "golangci-lint run"),
    (".golangci.yaml", "golangci-lint run"),
    ("ruff.toml", "ruff check"),
    ("mypy.ini", "mypy"),
    ("pytest.ini", "pytest"),
    ("tox.ini", "tox"),
    (".pre-commit-config.yaml", "pre-commit run --all-files"),
];

/// Tables below `[tool]` in pyproject.toml, and the commands that read them.
const PYTHON_TOOLS: &[(&str, &str)] = &[
    ("pytest", "pytest"),
    ("tox", "tox"),
    ("ruff", "ruff check"),
    ("mypy", "mypy"),
    ("black", "black --check ."),
    ("pyright", "pyright"),
];

/// Lock files and the package managers that write them.
const PACKAGE_MANAGERS: &[(&str, &str)] =
    &[("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];

pub(super) fn survey(root: &Path) -> Survey {
    let repository = Repository { root };
    let mut survey = Survey::default();
    let mut add = |file: &str, found: Result<Vec<Finding>, String>| match found {
        Ok(findings) => survey.findings.extend(findings),
        Err(problem) => survey.problems.push(format!("{file}: {problem}")),
    };
    for (file, reader) in READERS {
        match repository.text(file) {
            Ok(Some(text)) => add(file, reader(&repository, file, &text)),
            Ok(None) => {}
            Err(problem) => add(file, Err(problem)),
        }
    }
    for (file, command) in TOOL_FILES.iter().filter(|(file, _)| repository.has(file)) {
        add(
            file,
            Ok(Subject::of(command)
                .map(|subject| Finding::new(subject, *command, file))
                .into_iter()
                .collect()),
        );
    }
    for file in repository.workflows() {
        match repository.text(&file) {
            Ok(text) => add(&file, Ok(commands(workflow::commands(&text.unwrap_or_default()), &file))),
            Err(problem) => add(&file, Err(problem)),
        }
    }
    survey
}

struct Repository<'a> {
    root: &'a Path,
}

impl Repository<'_> {
    fn has(&self, file: &str) -> bool {
        self.root.join(file).is_file()
    }

    /// Reads a file. `None` if it does not exist.
    fn text(&self, file: &str) -> Result<Option<String>, String> {
        let path = self.root.join(file);
        let metadata = match std::fs::metadata(&path) {
            Ok(metadata) => metadata,
            // A file that must not be read is worth a warning. Every other error means that there is no such file.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(error.to_string());
            }
            Err(_) => return Ok(None),
        };
        if !metadata.is_file() {
            return Ok(None);
        }
        if metadata.len() > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
        std::fs::read_to_string(&path).map(Some).map_err(|error| error.to_string())
    }

    fn workflows(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.join(WORKFLOWS)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut files: Vec<String> = names
            .filter(|name| name.ends_with(".yml") || name.ends_with(".yaml"))
            // The names become part of the proposal, so they must not contain control characters.
            .filter(|name| !name.contains(char::is_control))
            .map(|name| format!("{WORKFLOWS}/{name}"))
            .collect();
        files.sort();
        files
    }
}

/// Returns the commands of a file that belong to a listed subject.
fn commands(commands: impl IntoIterator<Item = String>, file: &str) -> Vec<Finding> {
    let listed = commands.into_iter().filter_map(|command| {
        // A backtick or control character would end the code span and turn the rest into prose.
        let is_plain = !command.contains(|character: char| character == '`' || character.is_control());
        let subject = Subject::of(&command).filter(|_| is_plain)?;
        Some(Finding::new(subject, command, file))
    });
    listed.collect()
}

fn cargo(_: &Repository<'_>, file: &str, text: &str) -> Result<Vec<Finding>, String> {
    let manifest: Table = text.parse().map_err(toml_problem)?;
    let workspace = manifest.get("workspace");
    let package = manifest.get("package");
    let edition = package.and_then(|package| package.get("edition")?.as_str());
    let shared = workspace.and_then(|workspace| workspace.get("package")?.get("edition")?.as_str());
    let language = match edition.or(shared).filter(|edition| is_plain_word(edition)) {
        Some(edition) => format!("Rust, edition {edition}"),
        None => "Rust".to_owned(),
    };
    let all = if workspace.is_some() { " --workspace" } else { "" };
    let mut findings = vec![
        Finding::new(Subject::Language, language, file),
        Finding::new(Subject::Build, format!("cargo build{all}"), file),
        Finding::new(Subject::Test, format!("cargo test{all}"), file),
    ];
    let lints = [manifest.get("lints"), workspace.and_then(|workspace| workspace.get("lints"))];
    if lints.into_iter().flatten().any(|lints| lints.get("clippy").is_some()) {
        findings.push(Finding::new(Subject::Lint, "cargo clippy", file));
    }
    Ok(findings)
}

fn package_json(repository: &Repository<'_>, file: &str, text: &str) -> Result<Vec<Finding>, String> {
    let manifest: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let language = if repository.has("tsconfig.json") {
        Finding::new(Subject::Language, "TypeScript", "tsconfig.json")
    } else {
        Finding::new(Subject::Language, "JavaScript", file)
    };
    let manager =
        PACKAGE_MANAGERS.iter().find(|(lock, _)| repository.has(lock)).map_or("npm", |(_, name)| name);
    let scripts = manifest.get("scripts").and_then(Json::as_object);
    let names = scripts.into_iter().flatten().filter_map(|(name, script)| {
        // The placeholder script that `npm init` writes is not a test.
        let is_placeholder = script.as_str().is_none_or(|script| script.contains("no test specified"));
        (!is_placeholder && is_plain_word(name)).then_some(name)
    });
    let run = names
        .filter_map(|name| Some(Finding::new(Subject::of(name)?, format!("{manager} run {name}"), file)));
    Ok(std::iter::once(language).chain(run).collect())
}

fn pyproject(_: &Repository<'_>, file: &str, text: &str) -> Result<Vec<Finding>, String> {
    let manifest: Table = text.parse().map_err(toml_problem)?;
    let version = manifest.get("project").and_then(|project| project.get("requires-python")?.as_str());
    let language = match version.filter(|version| !version.contains(char::is_control)) {
        Some(version) => format!("Python {version}"),
        None => "Python".to_owned(),
    };
    let mut findings = vec![Finding::new(Subject::Language, language, file)];
    if manifest.contains_key("build-system") {
        findings.push(Finding::new(Subject::Build, "python -m build", file));
    }
    let tools = manifest.get("tool").and_then(toml::Value::as_table);
    let used = PYTHON_TOOLS.iter().filter(|(tool, _)| tools.is_some_and(|tools| tools.contains_key(*tool)));
    findings.extend(commands(used.map(|(_, command)| (*command).to_owned()), file));
    Ok(findings)
}

fn go_mod(_: &Repository<'_>, file: &str, text: &str) -> Result<Vec<Finding>, String> {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("go ")).map(str::trim);
    let language = match version.filter(|version| is_plain_word(version)) {
        Some(version) => format!("Go {version}"),
        None => "Go".to_owned(),
    };
    Ok(vec![
        Finding::new(Subject::Language, language, file),
        Finding::new(Subject::Build, "go build ./...", file),
        Finding::new(Subject::Test, "go test ./...", file),
    ])
}

/// Returns the targets of a Makefile without patterns or variables.
fn makefile(_: &Repository<'_>, file: &str, text: &str) -> Result<Vec<Finding>, String> {
    let targets = text.lines().filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        // `name := value` sets a variable, and indented lines are recipes.
        let is_rule =
            !rest.starts_with('=') && !rest.starts_with(":=") && !line.starts_with([' ', '\t', '#', '.']);
        is_rule.then(|| names.split_whitespace().filter(|name| is_plain_word(name)))
    });
    let found = targets.flatten().filter_map(|name| Some((Subject::of(name)?, format!("make {name}"))));
    Ok(found.map(|(subject, command)| Finding::new(subject, command, file)).collect())
}

fn is_plain_word(text: &str) -> bool {
    // The words become commands that a user may run, so anything that a shell could interpret is left out.
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.:/".contains(character);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// Formats a parse error on one line.
fn toml_problem(error: toml::de::Error) -> String {
    error.message().lines().next().unwrap_or("it is not TOML").to_owned()
}
