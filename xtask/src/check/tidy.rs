//! The tree's own rules: dependencies between crates, length and opening of files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::check::{references, threats};
use crate::failure::check_failed;
use crate::metadata::{self, Dependency, Kind, Metadata, Package};
use crate::print_status;

/// The layers of crates, lowest first. A crate may use only crates of layers listed before its own.
const LAYERS: &[&[&str]] = &[
    &["tokens", "diff", "console"],
    &["instructions"],
    &["protocol", "git"],
    &["compare", "guards"],
    &["bridge", "mcp-server"],
    &["check"],
    &["transcripts"],
    &["hooks", "memory"],
    &["prompt"],
    &["rpc"],
    &["store"],
    &["provider"],
    &["sandbox"],
    &["tools"],
    &["mcp"],
    &["skills"],
    &["agent"],
    &["gateway"],
    &["client"],
    &["cli"],
    &["chance", "measure", "scripted-model", "test-postgres", "test-sandbox", "workload"],
    &["gateway-process", "test-gateway"],
    &["stress"],
    &["example-agent"],
    &["gate"],
];

/// Test support: a dev-dependency anywhere, and nothing else.
const TEST_SUPPORT: &[&str] = &[
    "chance",
    "gateway-process",
    "measure",
    "scripted-model",
    "stress",
    "test-gateway",
    "test-postgres",
    "test-sandbox",
    "workload",
];
/// Crates whose tests build without a web server, an HTTP client or a database: neither they nor their tests reach a
/// dependency in [`HEAVY`], directly or through our other crates.
const LEAN: &[&str] = &["tokens", "diff", "instructions", "protocol", "compare", "hooks", "prompt"];
const HEAVY: &[&str] = &["axum", "hyper", "reqwest", "rusqlite", "sqlx", "tokio-tungstenite"];
/// This program and the only crate of ours that it may use, because it must build in seconds.
const XTASK: (&str, &str) = ("xtask", "protocol");

/// A dependency that only some crates may use, so that it can be replaced in one place.
struct Wrapped {
    dependency: &'static str,
    crates: &'static [&'static str],
    tests: Tests,
}

/// Scope of a rule with regard to dev-dependencies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tests {
    /// The rule applies to dev-dependencies too.
    Bound,
    /// Tests may use the dependency anywhere.
    Free,
}

const WRAPPED: &[Wrapped] = &[
    // `transcripts` reads the database of another program, whose tables are not ours; `store` has no API for that and
    // could not be used without an async runtime. Tests outside `store` hold the lock of a database file.
    Wrapped { dependency: "rusqlite", crates: &["store", "transcripts"], tests: Tests::Free },
    Wrapped { dependency: "sqlx", crates: &["store"], tests: Tests::Bound },
    Wrapped { dependency: "axum", crates: &["gateway", "scripted-model"], tests: Tests::Free },
    Wrapped { dependency: "reqwest", crates: &["provider", "mcp"], tests: Tests::Free },
    Wrapped { dependency: "rmcp", crates: &["gateway", "mcp", "mcp-server"], tests: Tests::Bound },
    Wrapped { dependency: "landlock", crates: &["sandbox"], tests: Tests::Free },
    Wrapped { dependency: "seccompiler", crates: &["sandbox"], tests: Tests::Free },
    Wrapped { dependency: "imara-diff", crates: &["diff"], tests: Tests::Bound },
    Wrapped { dependency: "tiktoken-rs", crates: &["tokens"], tests: Tests::Free },
    Wrapped {
        dependency: "anyhow",
        crates: &[
            "gateway-process",
            "measure",
            "scripted-model",
            "stress",
            "test-gateway",
            "test-postgres",
            "test-sandbox",
            "workload",
            "xtask",
            "example-agent",
        ],
        tests: Tests::Free,
    },
];

/// Crates that must not depend on an async runtime.
const SYNCHRONOUS: &[&str] = &[
    "tokens",
    "diff",
    "instructions",
    "bridge",
    "compare",
    "check",
    "memory",
    "prompt",
    "protocol",
    "sandbox",
    "skills",
    "transcripts",
    "xtask",
];
const ASYNC_RUNTIME: &str = "tokio";

/// Directories with our Rust files.
const SOURCES: &[&str] = &["crates", "desktop/src", "desktop/tests", "examples", "fuzz", "xtask"];
/// A longer file has more than one idea and should be split.
const MAX_LINES: usize = 600;

/// Prints every violated rule and fails if there is one.
pub(crate) fn check(root: &Path) -> Result<()> {
    let problems = problems(root)?;
    if problems.is_empty() {
        print_status("tidy: crates and files follow the rules");
        return Ok(());
    }
    for problem in &problems {
        print_status(format!("tidy: {problem}"));
    }
    Err(check_failed(format!("{} rules of the tree are violated", problems.len())))
}

fn problems(root: &Path) -> Result<Vec<String>> {
    let metadata = metadata::read()?;
    let mut problems = dependencies(&metadata);
    problems.extend(openings(root, &metadata)?);
    problems.extend(threats::problems(root)?);
    problems.extend(references::problems(root)?);
    for directory in SOURCES {
        lengths(root, &root.join(directory), &mut problems)?;
    }
    Ok(problems)
}

/// Checks every dependency between crates.
fn dependencies(metadata: &Metadata) -> Vec<String> {
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let name = short_name(&package.name);
        if layer(name).is_none() && name != XTASK.0 {
            problems.push(format!(
                "crate `{}` has no layer\nhint: add it to LAYERS in xtask/src/check/tidy.rs",
                package.name
            ));
        }
        for dependency in &package.dependencies {
            problems.extend(broken_order(package, dependency));
            problems.extend(broken_wrapping(package, dependency));
        }
    }
    problems.extend(LEAN.iter().filter_map(|lean| heavy_tests(metadata, lean)));
    problems
}

/// Returns a problem if a lean crate or its tests reach a heavy dependency through our crates.
fn heavy_tests(metadata: &Metadata, lean: &str) -> Option<String> {
    let mut reached = vec![lean];
    let mut next = 0;
    while let Some(&user) = reached.get(next) {
        let package = metadata.packages.iter().find(|package| short_name(&package.name) == user);
        for dependency in package.iter().flat_map(|package| &package.dependencies) {
            let used = short_name(&dependency.name);
            // Cargo builds the dev-dependencies of the tested crate only, not those of the crates below it.
            if dependency.kind == Some(Kind::Dev) && user != lean {
                continue;
            }
            if HEAVY.contains(&used) {
                return Some(format!("the tests of `{lean}` reach `{used}`, through `{user}`"));
            }
            if dependency.path.is_some() && !reached.contains(&used) {
                reached.push(used);
            }
        }
        next += 1;
    }
    None
}

/// Returns a package's name without the product's prefix, which it carries for publishing.
fn short_name(package: &str) -> &str {
    match package {
        "foreword" => "cli",
        _ => package.strip_prefix("foreword-").unwrap_or(package),
    }
}

/// Returns the index of a crate's layer.
fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&name))
}

fn broken_order(package: &Package, dependency: &Dependency) -> Option<String> {
    let user = short_name(&package.name);
    let used = short_name(&dependency.name);
    // Tests may use higher layers: cargo permits cycles through dev-dependencies, and a test of the store may need a
    // gateway.
    if dependency.path.is_none() || dependency.kind == Some(Kind::Dev) {
        return None;
    }
    if TEST_SUPPORT.contains(&used) && !TEST_SUPPORT.contains(&user) {
        return Some(format!("`{user}` uses `{used}`, which is for dev-dependencies only"));
    }
    if user == XTASK.0 {
        return (used != XTASK.1).then(|| format!("`{user}` uses `{used}`; it may use only `{}`", XTASK.1));
    }
    match (layer(user), layer(used)) {
        (Some(below), Some(above)) if above < below => None,
        // A crate without a layer is reported once, for itself and not for each of its dependencies.
        (None, _) => None,
        _ => Some(format!(
            "`{user}` uses `{used}`, which is not in a lower layer\n\
             hint: move the code, or invert the dependency with a trait owned by `{user}`"
        )),
    }
}

fn broken_wrapping(package: &Package, dependency: &Dependency) -> Option<String> {
    let user = short_name(&package.name);
    let used = short_name(&dependency.name);
    let for_tests = dependency.kind == Some(Kind::Dev);
    if used == ASYNC_RUNTIME && SYNCHRONOUS.contains(&user) {
        return Some(format!("`{user}` uses `{used}`, but is plain synchronous Rust"));
    }
    let rule = WRAPPED.iter().find(|rule| rule.dependency == used)?;
    let allowed = rule.crates.contains(&user) || (for_tests && rule.tests == Tests::Free);
    (!allowed).then(|| format!("`{user}` uses `{used}`, which belongs to {}", rule.crates.join(", ")))
}

/// Checks that every library and program starts with a `//!` comment.
fn openings(root: &Path, metadata: &Metadata) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for target in metadata.packages.iter().flat_map(|package| &package.targets) {
        if !target.kind.iter().any(|kind| kind == "lib" || kind == "bin") {
            continue;
        }
        if !read(&target.src_path)?.starts_with("//!") {
            problems.push(format!("{} does not begin with `//!`", below(root, &target.src_path)));
        }
    }
    Ok(problems)
}

/// Checks the length of every Rust file below a directory.
fn lengths(root: &Path, directory: &Path, problems: &mut Vec<String>) -> Result<()> {
    for path in entries(directory)? {
        if path.is_dir() {
            // Build output contains generated sources of any length.
            if path.file_name().is_none_or(|name| name != "target") {
                lengths(root, &path, problems)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            problems.extend(too_long(&below(root, &path), &read(&path)?));
        }
    }
    Ok(())
}

fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES)
        .then(|| format!("{path} has {lines} lines; the limit is {MAX_LINES}, split it by subject"))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("could not list {}", directory.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).with_context(context)? {
        paths.push(entry.with_context(context)?.path());
    }
    // The order of a directory depends on the file system, and problems should be listed the same way everywhere.
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(problems(crate::root()).unwrap(), Vec::<String>::new());
    }

    /// The problems of one package with one dependency, written `user > used`, `user > path/used`, `user > dev:used`.
    fn problems_of(arrow: &str) -> Vec<String> {
        let (user, used) = arrow.split_once(" > ").unwrap();
        let (kind, used) = match used.strip_prefix("dev:") {
            Some(used) => ("\"dev\"", used),
            None => ("null", used),
        };
        let (path, used) = match used.strip_prefix("path/") {
            Some(used) => (format!("\"/{used}\""), used),
            None => ("null".to_owned(), used),
        };
        let text = format!(
            r#"{{"target_directory":"/t","packages":[{{"name":"{user}","targets":[],
                "dependencies":[{{"name":"{used}","kind":{kind},"path":{path}}}]}}]}}"#
        );
        dependencies(&serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn allowed_dependencies_pass() {
        for arrow in [
            "gateway > path/store",
            "foreword-gateway > path/foreword-store",
            "foreword > path/foreword-gateway",
            "cli > path/gateway",
            "test-gateway > path/client",
            "xtask > path/protocol",
            "protocol > dev:path/measure",
            "gateway > dev:path/client",
            "store > rusqlite",
            "agent > dev:rusqlite",
            "gateway > axum",
            "client > tokio",
            "client > dev:anyhow",
        ] {
            assert_eq!(problems_of(arrow), Vec::<String>::new(), "{arrow}");
        }
    }

    #[test]
    fn forbidden_dependencies_are_reported() {
        for (arrow, expected) in [
            ("rpc > path/store", "is not in a lower layer"),
            ("hooks > path/memory", "is not in a lower layer"),
            ("client > path/measure", "dev-dependencies only"),
            ("xtask > path/store", "only `protocol`"),
            ("gateway > sqlx", "belongs to store"),
            ("gateway > rusqlite", "belongs to store"),
            ("gateway > dev:sqlx", "belongs to store"),
            ("cli > axum", "belongs to gateway, scripted-model"),
            ("store > anyhow", "belongs to gateway-process, measure"),
            ("protocol > tokio", "synchronous"),
            ("protocol > dev:tokio", "synchronous"),
            ("helpers > serde", "has no layer"),
            ("instructions > dev:axum", "the tests of `instructions` reach `axum`"),
        ] {
            let problems = problems_of(arrow);
            assert!(problems.len() == 1 && problems[0].contains(expected), "{arrow}: {problems:?}");
        }
    }

    #[test]
    fn heavy_dependencies_are_found_through_other_crates() {
        let metadata = |kind: &str| -> Metadata {
            let text = format!(
                r#"{{"target_directory":"/t","packages":[
                {{"name":"prompt","targets":[],"dependencies":[{{"name":"test-gateway","kind":"dev","path":"/t"}}]}},
                {{"name":"test-gateway","targets":[],"dependencies":[{{"name":"sqlx","kind":{kind},"path":null}}]}}]}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let found = heavy_tests(&metadata("null"), "prompt");
        assert_eq!(found.as_deref(), Some("the tests of `prompt` reach `sqlx`, through `test-gateway`"));
        assert_eq!(heavy_tests(&metadata("\"dev\""), "prompt"), None);
    }

    #[test]
    fn long_files_are_reported() {
        assert_eq!(too_long("a.rs", &"\n".repeat(MAX_LINES)), None);
        assert!(too_long("a.rs", &"\n".repeat(MAX_LINES + 1)).is_some());
    }
}
